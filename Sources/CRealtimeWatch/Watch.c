#include "CRealtimeWatch.h"

#include <stddef.h>

// Weak: the program links and runs without the watchdog.
#include "../../Watchdog/rtwatch.h"

bool crealtimewatch_is_present(void) { return rtwatch_loaded() != 0; }

void crealtimewatch_enter(const char *name, uint64_t period) { rtwatch_cycle_begin(name, period); }

void crealtimewatch_exit(void) { rtwatch_cycle_end(); }

void crealtimewatch_permit_begin(void) { rtwatch_permitted_begin(); }

void crealtimewatch_permit_end(void) { rtwatch_permitted_end(); }

uint64_t crealtimewatch_violations(int tier) { return rtwatch_violations ? rtwatch_violations(tier) : 0; }

const char *crealtimewatch_found(int n, int *tier, uint64_t *count) {
    const char *function = NULL;
    unsigned long long times = 0;
    if (!rtwatch_found || !rtwatch_found(n, &function, tier, &times)) return NULL;
    *count = times;
    return function;
}

void crealtimewatch_forget(void) {
    if (rtwatch_forget) rtwatch_forget();
}
