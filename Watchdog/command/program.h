// Finds the preload library, and says whether the program can be watched at all.

#ifndef COMMAND_PROGRAM_H
#define COMMAND_PROGRAM_H

#include <stdbool.h>

struct program {
    char *path;               // as found through PATH
    bool script;              // starts with #!: its interpreter is what runs
    const char *sanitizer;    // "libasan.so.8": a sanitizer's runtime that must come first in LD_PRELOAD
};

const char *find_library(void);                      // ends the command when it is missing
struct program find_program(const char *name);       // ends the command with a sentence when it cannot be watched

#endif
