// The origin of a frame's code, and the names of functions.

#ifndef COMMAND_ORIGIN_H
#define COMMAND_ORIGIN_H

#include "symbols.h"

// Sets `function` and `origin` of a frame whose symbol is prepared.
void name_frame(struct frame *frame);

// A standard library, a folder of the system's own libraries: "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0".
bool is_system_library(const char *path);

#endif
