// From addresses of a watched process to functions, files and lines, inlined frames included.

#ifndef COMMAND_SYMBOLS_H
#define COMMAND_SYMBOLS_H

#include "channel.h"

enum origin {
    ORIGIN_USER,       // the program, and libraries that came with it
    ORIGIN_SYSTEM,     // a library of the system: blamed only where nothing of the user's own is on the stack
    ORIGIN_RUNTIME,    // libc, the Swift runtime and standard library, compiler-made helpers: never blamed
};

struct frame {
    const char *function;      // as shown: "Voice.render(_:)", NULL when unknown
    const char *symbol;        // as in the file: "$s4Demo5VoiceC6renderyySfF"
    const char *file;          // NULL when unknown
    int line;
    const char *module;        // path of the mapped file, NULL when the address is in none
    uint64_t offset;           // in the file's own addresses
    enum origin origin;
    bool inlined;              // into the next frame outwards
};

struct frames { struct frame *list; int count; };

// The frames at one return address, innermost first, at least one.
// Symbols only: call `name_frames` before reading `function` and `origin`.
const struct frames *frames_at(struct process *process, uint64_t address);

// Demangles and judges all frames that came up since the last call.
void name_frames(void);

// What the names in the reports rest on: "libswiftCore", "swift-demangle", or NULL when Swift names stay mangled.
const char *swift_names_by(void);

#endif
