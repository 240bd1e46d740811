#include "CRender.h"

// initial-exec: in a library loaded later the usual model would allocate the slot at a thread's first access.
static _Thread_local void *transaction __attribute__((tls_model("initial-exec")));

static _Thread_local uint64_t held_locks __attribute__((tls_model("initial-exec")));
static _Thread_local const void *preparing __attribute__((tls_model("initial-exec")));
static _Thread_local int installing __attribute__((tls_model("initial-exec")));
static _Thread_local int dry_runs_here __attribute__((tls_model("initial-exec")));
static intptr_t dry_runs;

void *crender_transaction_get(void) { return transaction; }
void crender_transaction_set(void *value) { transaction = value; }

uint64_t crender_held_locks_get(void) { return held_locks; }
void crender_held_locks_set(uint64_t value) { held_locks = value; }

const void *crender_preparing_get(void) { return preparing; }
void crender_preparing_set(const void *value) { preparing = value; }

const void *crender_dry_runs(void) { return &dry_runs; }
int crender_is_in_dry_run(void) { return dry_runs_here > 0; }
void crender_dry_run_begins(void) {
    dry_runs_here++;
    __atomic_fetch_add(&dry_runs, 1, __ATOMIC_SEQ_CST);
}
void crender_dry_run_ends(void) {
    dry_runs_here--;
    __atomic_fetch_sub(&dry_runs, 1, __ATOMIC_SEQ_CST);
}

int crender_installing_get(void) { return installing; }
void crender_installing_set(int value) { installing = value; }

__attribute__((no_sanitize("thread"))) uintptr_t crender_peek(const void *word) {
    return *(const volatile uintptr_t *)word;
}

uint64_t crender_thread_number(void) {
    static _Atomic uint64_t last;
    static _Thread_local uint64_t own __attribute__((tls_model("initial-exec")));
    if (own == 0) own = ++last;
    return own;
}
