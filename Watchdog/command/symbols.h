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
    bool left;                 // it ended in a call, and so is no longer on the stack
};

struct frames { struct frame *list; int count; };

// The frames at one return address, innermost first, at least one.
// Symbols only: call `name_frames` before reading `function` and `origin`.
const struct frames *frames_at(struct process *process, uint64_t address);

// Frames of functions that have left the stack, by the place where they jumped away, plus 1.
const struct frames *left_frames_at(struct process *process, uint64_t address);

// The function around an address of the file's own; and the file that an address of a process is in, NULL if none.
struct symbol { const char *name; uint64_t start, end; };
struct symbol symbol_in(const char *path, uint64_t address);
const char *module_path(const struct process *process, uint64_t address, uint64_t *bias);

// Demangles and judges all frames that came up since the last call.
void name_frames(void);

// The source of the names in the reports: "libswiftCore", "swift-demangle", or NULL when Swift names stay mangled.
const char *swift_names_by(void);

#endif
