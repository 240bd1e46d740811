// Many violations from many threads at once, for the command's tests: threads, cycles of each, violations in a cycle,
// and "notes" (each violation comes with a page fault) or "ways" (each comes on a way of its own). At its end each thread
// calls calloc once. With FLOOD_WAITS in the environment it makes the file "begun" after ten cycles, goes on when there is
// a file "stopped", and makes "over" at its end.
#define _GNU_SOURCE
#include "../../rtwatch.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 4096, PAGE = 4096 };
static int cycles, violations, ways, waits;
static char *pages;   // 16 MB, mapped at many addresses
static size_t page_count;

__attribute__((noinline)) static void by_way(unsigned way, int steps) {
    if (!steps) {
        void *memory = malloc(16);
        __asm__ volatile("" : "+r"(memory));
        free(memory);
    } else if (way & 1) {
        by_way(way >> 1, steps - 1);
        __asm__ volatile("nop");
    } else {
        by_way(way >> 1, steps - 1);
        __asm__ volatile("nop; nop");
    }
}

__attribute__((noinline)) static void at_the_end(void) {
    void *memory = calloc(1, 16);   // line: calloc
    __asm__ volatile("" : "+r"(memory));
    free(memory);
}

static void *audio(void *argument) {
    size_t page = 0;
    unsigned way = 0;
    for (int cycle = 0; cycle < cycles; cycle++) {
        rtwatch_cycle_begin("flood", 1000000);
        for (int i = 0; i < violations; i++) {
            if (pages) pages[page++ % page_count * PAGE] = 1;
            if (ways) by_way(way++, 15);
            else free(malloc(16) ?: argument);
        }
        if (cycle == cycles - 1) at_the_end();
        rtwatch_cycle_end();
        if (waits && cycle == 10)
            for (close(creat("begun", 0600)); access("stopped", F_OK);) usleep(1000);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return NULL;
}

static void map_pages(void) {
    int file = memfd_create("pages", 0);
    size_t size = (size_t)PAGES * PAGE, times = 16;
    if (file < 0 || ftruncate(file, (off_t)size)) exit(1);
    char *room = mmap(NULL, size * times, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < times; i++)
        if (mmap(room + i * size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) exit(1);
    pages = room;
    page_count = times * PAGES;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    cycles = argc > 2 ? atoi(argv[2]) : 100;
    violations = argc > 3 ? atoi(argv[3]) : 100;
    waits = getenv("FLOOD_WAITS") != NULL;
    ways = argc > 4 && !strcmp(argv[4], "ways");
    if (argc > 4 && !strcmp(argv[4], "notes")) map_pages();
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, audio, NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    free(threads);
    if (waits) close(creat("over", 0600));
    return 0;
}
