#ifndef CALSA_SHIM_H
#define CALSA_SHIM_H

#if !__has_include(<alsa/asoundlib.h>)
#error RenderStack needs the headers of ALSA: please install libasound2-dev (its name in Debian), or build without the trait ALSA: traits: ["JACK"] in your Package.swift, --traits JACK in the clone.
#else

#include <alsa/asoundlib.h>

// Functions that Swift cannot import: those with a variable number of arguments, and their handlers.

// CRender's: it keeps messages for the thread that calls the library.
extern void crender_note_message(
    const char *file, int line, const char *function, int error, const char *format, va_list arguments);

// Has what the library says to the calling thread kept and not written to the terminal. For this thread alone, so that
// a program that has a handler of its own keeps it. Returns what was there before, for calsa_listen_no_more.
static inline void *calsa_listen(void) { return (void *)snd_lib_error_set_local(crender_note_message); }
static inline int calsa_was_listening(const void *before) { return before == (const void *)crender_note_message; }
static inline void calsa_listen_no_more(void *before) {
    snd_lib_error_set_local((snd_local_error_handler_t)before);
}

#endif
#endif
