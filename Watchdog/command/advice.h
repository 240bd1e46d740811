// The reasons why an audio thread must not wait for a call, and the advice what to do instead.

#ifndef COMMAND_ADVICE_H
#define COMMAND_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

struct advice {
    const char *pattern;      // of the function's name, * and ? stand for any; several are separated by a space
    const char *family;       // in JSON: "memory", "lock", …
    const char *does;         // "allocates memory"
    const char *instead;      // a sentence
};

// For what the user's own code called (Swift's `print`, `Array.append`, a libc function); NULL when the table has
// nothing.
const struct advice *advice_for_function(const char *function);
// For an entry of the Swift runtime or of Dispatch; NULL when it is none.
const struct advice *advice_for_runtime(const char *function);
// For the call that was seen; never NULL.
const struct advice *advice_for_call(const char *call, int kind);

const char *system_call_name(uint64_t number);     // "write", or "system call 999"

#endif
