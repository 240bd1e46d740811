// Programs built with -gsplit-dwarf: their lines are in the program, and the functions and what is inlined into them are in
// files beside the objects (.dwo) or in one package (.dwp). Here these are read.

#ifndef COMMAND_SPLIT_H
#define COMMAND_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

// A function at an address, or one that is inlined into the next; innermost first.
struct split_function { const char *symbol, *call_file; int call_line; };   // the call that was inlined; NULL, 0 of the last

int split_functions(const char *path, uint64_t address, struct split_function *list, int room);

// The first file that was not found or cannot be read; NULL if all were there.
const char *missing_split_file(const char *path);

#endif
