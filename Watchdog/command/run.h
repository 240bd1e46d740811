// The watched program as a child: started with the library, signals passed on, ended when its time is over.

#ifndef COMMAND_RUN_H
#define COMMAND_RUN_H

#include "options.h"
#include "program.h"

#include <stdint.h>

struct run {
    struct program program;
    const char *library;
    void (*pipe_handler)(int);    // the action of SIGPIPE from before, for the program
    int pid;
    int status;                   // as of waitpid
    bool ended_by_us;             // --duration was over
    int ending_signal;            // the last one that was sent for it
    int passed_signal;            // a signal that was given to rtwatch and the program
    uint64_t began, ended;        // CLOCK_MONOTONIC
};

// Starts the program and waits for its end, draining the channel. Ends the command when it cannot be started.
void run_program(struct run *run, const struct options *options);

// The status that a shell would have: the program's own, or 128 + signal.
int status_of(const struct run *run);

#endif
