// Ways around the linker's table, one a word: handle, version, deep, space; and clocks, random.
#define _GNU_SOURCE
#include "../../rtwatch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *(*obtain)(size_t);
static void (*release)(void *);
static volatile long sink;

__attribute__((noinline)) static void use(void) {
    void *memory = obtain(100);
    sink++;
    release(memory);
    sink++;
}

int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : "";
    void *libc = dlopen("libc.so.6", RTLD_NOW), *library = NULL;
    obtain = malloc, release = free;
    if (!strcmp(word, "handle")) {
        obtain = (void *(*)(size_t))dlsym(libc, "malloc");
        release = (void (*)(void *))dlsym(libc, "free");
    } else if (!strcmp(word, "version")) {
        obtain = (void *(*)(size_t))dlvsym(libc, "malloc", "GLIBC_2.2.5");
        release = (void (*)(void *))dlvsym(libc, "free", "GLIBC_2.2.5");
    } else if (!strcmp(word, "deep")) {
        library = dlopen("./libforeign.so", RTLD_NOW | RTLD_DEEPBIND);
    } else if (!strcmp(word, "space")) {
        library = dlmopen(LM_ID_NEWLM, "./libforeign.so", RTLD_NOW);
    }
    if (!obtain || !release || (!library && (!strcmp(word, "deep") || !strcmp(word, "space")))) return 1;
    for (int i = 0; i < 5; i++) {
        struct timespec time;
        rtwatch_cycle_begin("hidden", 0);
        if (!strcmp(word, "random")) {
            sink += rand();
            sink += random();
        } else if (!strcmp(word, "clocks")) {
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
            clock_gettime(CLOCK_MONOTONIC, &time);
        } else {
            use();
        }
        rtwatch_cycle_end();
    }
    return 0;
}
