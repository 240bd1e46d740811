// A cycle that allocates in one place by itself and by foreign code of two names, one inside of the other.
#include "../../rtwatch.h"

#include <stdlib.h>
#include <string.h>

static void *volatile kept;

__attribute__((noinline)) static void make_memory(void) { kept = malloc(100); }

int main(void) {
    rtwatch_cycle_begin("main", 0);
    make_memory();
    // The name is copied: this one is gone when the report is written.
    char reverb[8];
    strcpy(reverb, "reverb");
    const char *none = rtwatch_foreign ? rtwatch_foreign(reverb) : 0;
    make_memory();
    const char *before = rtwatch_foreign ? rtwatch_foreign("its host") : 0;
    make_memory();
    int nests = !rtwatch_foreign || (!none && before == reverb);
    if (rtwatch_foreign) rtwatch_foreign(before);
    make_memory();
    if (rtwatch_foreign) rtwatch_foreign(none);
    strcpy(reverb, "gone");
    make_memory();
    rtwatch_cycle_end();
    return nests ? 0 : 1;
}
