#ifndef CALSA_SHIM_H
#define CALSA_SHIM_H

#include <alsa/asoundlib.h>

// What Swift cannot import: functions of a variable number of arguments.

static inline void calsa_ignore(
    const char *file, int line, const char *function, int error, const char *format, ...) {
    (void)file, (void)line, (void)function, (void)error, (void)format;
}

// Has the library keep to error numbers, and not write to the terminal.
static inline void calsa_be_quiet(void) { snd_lib_error_set_handler(calsa_ignore); }

#endif
