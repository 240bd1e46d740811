// Writes noise into the watchdog's own mapping, as a program with a wild pointer might, for the command's tests.
#include "../../rtwatch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, start = 0, end = 0;
    char line[512];
    for (int cycle = 0; cycle < 100; cycle++) {
        rtwatch_cycle_begin("scribble", 1000000);
        free(malloc(100));
        rtwatch_cycle_end();
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "/channel") && sscanf(line, "%lx-%lx", &start, &end) == 2) break;
    // The magic number stays: without it there is nothing to read.
    for (uint64_t at = start + 16; at + 8 <= end; at += 8) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (seed >> 61 == 0) *(volatile uint64_t *)at = seed >> 62 ? seed : seed >> 33 & 15;
    }
    _exit(0);
}
