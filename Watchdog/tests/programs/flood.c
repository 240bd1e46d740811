// Many violations from many threads at once, for the command's tests: threads, cycles of each, violations in a cycle.
#include "../../rtwatch.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static int cycles, violations;

static void *audio(void *argument)
{
    for (int cycle = 0; cycle < cycles; cycle++) {
        rtwatch_cycle_begin("flood", 1000000);
        for (int i = 0; i < violations; i++) free(malloc(16) ?: argument);
        rtwatch_cycle_end();
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    cycles = argc > 2 ? atoi(argv[2]) : 100;
    violations = argc > 3 ? atoi(argv[3]) : 100;
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, audio, NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}
