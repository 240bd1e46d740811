// Opens and closes a library again and again, for the command's tests: times. The library's constructor and destructor
// are audio cycles, so that the watchdog meets its first one while the loader holds its lock. Another thread has cycles,
// too, one in each thirty times at least: a busy machine may keep that thread waiting, and this one waits for it.
#include "../../rtwatch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static volatile int going = 1;
static atomic_int cycles;

static void wait(void) { nanosleep(&(struct timespec){0, 200000}, NULL); }

static void *audio(void *unused) {
    while (going) {
        rtwatch_cycle_begin("beside", 1000000);
        free(malloc(16));
        rtwatch_cycle_end();
        cycles++;
        wait();
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    int times = argc > 1 ? atoi(argv[1]) : 10;
    for (int i = 0; i < times; i++) {
        void *library = dlopen("./plugin.so", RTLD_NOW);
        if (!library) return 1;
        if (i == 0) pthread_create(&thread, NULL, audio, NULL);
        while (cycles < (i + 1) / 30) wait();
        dlclose(library);
    }
    going = 0;
    pthread_join(thread, NULL);
    return 0;
}
