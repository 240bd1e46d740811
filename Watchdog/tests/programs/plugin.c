// See loader.c.
#include "../../rtwatch.h"

#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void violate(void) { kept = malloc(1000); }

__attribute__((constructor)) static void opened(void) {
    rtwatch_cycle_begin("constructor", 1000000);
    violate();
    rtwatch_cycle_end();
}

__attribute__((destructor)) static void closed(void) {
    rtwatch_cycle_begin("destructor", 1000000);
    free(kept);
    kept = NULL;
    rtwatch_cycle_end();
}
