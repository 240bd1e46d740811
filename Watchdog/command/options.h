// The options of the command line.

#ifndef COMMAND_OPTIONS_H
#define COMMAND_OPTIONS_H

#include <stdbool.h>

#define RTWATCH_RELEASE "1.0"
#define DEFAULT_HANG 32   // periods

struct options {
    bool halt, trap, follow, live, notes, quiet, statistics, no_syscalls, no_perf;
    int fail_on;                  // 0 never, else the tier from which on findings are a failure
    long skip_cycles;
    long hang;                    // periods, 0 never
    double duration;              // seconds, 0 for as long as the program runs
    const char *threads[16];
    int thread_count;
    const char *json, *html;      // paths; "-" is standard output
    enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;
    char **program;               // argv of the program, NULL at its end
};

// Reads the arguments into `options`; adds suppressions as they come. Ends the command on --help, --version and
// mistakes.
void read_options(struct options *options, int count, char **arguments);

#endif
