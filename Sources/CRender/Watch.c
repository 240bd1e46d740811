#include "CRender.h"

// The watchdog's preload library has these; without it they are NULL.
__attribute__((weak)) extern void rtwatch_enter(const char *what, unsigned long long period);
__attribute__((weak)) extern void rtwatch_exit(void);
__attribute__((weak)) extern void rtwatch_permit_begin(void);
__attribute__((weak)) extern void rtwatch_permit_end(void);

__attribute__((weak)) extern const char *rtwatch_foreign(const char *name);

// As in ThreadState.c.
static _Thread_local int cycles_here __attribute__((tls_model("initial-exec")));
static _Thread_local int permitted_here __attribute__((tls_model("initial-exec")));
static _Thread_local int is_lock_noted __attribute__((tls_model("initial-exec")));

bool crender_is_in_cycle(void) { return cycles_here > 0; }

int crender_is_first_lock_of_cycle(void) {
    if (cycles_here == 0 || permitted_here > 0 || is_lock_noted) return 0;
    is_lock_noted = 1;
    return 1;
}

void crender_cycle_begins(uint64_t period) {
    if (cycles_here++ == 0) is_lock_noted = 0;
    if (rtwatch_enter) rtwatch_enter("RenderStack", period);
}

void crender_cycle_ends(void) {
    cycles_here--;
    if (rtwatch_exit) rtwatch_exit();
}

void crender_permitted_begins(void) {
    permitted_here++;
    if (rtwatch_permit_begin) rtwatch_permit_begin();
}

void crender_permitted_ends(void) {
    permitted_here--;
    if (rtwatch_permit_end) rtwatch_permit_end();
}

const char *crender_foreign_begins(const char *name) { return rtwatch_foreign ? rtwatch_foreign(name) : 0; }

void crender_foreign_ends(const char *before) {
    if (rtwatch_foreign) rtwatch_foreign(before);
}
