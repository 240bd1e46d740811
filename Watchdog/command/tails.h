// Functions that have left the stack: one that ends in a call jumps there (a tail call), and what is called then seems to
// have been called by the function's caller. The call before the caller's return address names it.

#ifndef COMMAND_TAILS_H
#define COMMAND_TAILS_H

#include "channel.h"

#include <stdbool.h>

enum { MOST_TAILS = 4 };
struct tails {
    uint64_t at[MOST_TAILS];   // the place from which each jumped away, innermost first; addresses of the process, plus 1
    int count;
    bool only_caller;          // called through a pointer: a function may have left that nothing names
};

// Between the return address `outer` and what it leads to: the function that `inner` is in, or, with `inner` 0, one of
// `names` (the watched call, and functions of runtimes on the way to it).
struct tails tails_between(struct process *process, uint64_t inner, uint64_t outer, const char *const *names,
                           int name_count);

#endif
