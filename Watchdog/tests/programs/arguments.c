// Calls in cycles, each at a place where none was before: all that a function is given and gives back must come through,
// and errno, the rounding mode and the flags of the floating-point unit stay as they are. Says what does not.
#include "../../rtwatch.h"
#include "arguments.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static int wrong;

static void same(const char *what, int good) {
    if (good) return;
    fprintf(stderr, "wrong: %s\n", what);
    wrong++;
}

// In a cycle of its own, and then checked.
#define IN_CYCLE(...) do { rtwatch_cycle_begin("arguments", 0); __VA_ARGS__; rtwatch_cycle_end(); } while (0)

static void print(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    IN_CYCLE(fprintf(file, "%.1f %.1f|", 1.5, 3.0));
    IN_CYCLE(fprintf(file, "%g %g %g %g %g %g %g %g %g %g|", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0));
    IN_CYCLE(fprintf(file, "%d %g %s %Lg %ld|", 7, 0.25, "text", 1.125L, 99L));
    IN_CYCLE(fprintf(file, "%d %d %d %d %d %d %g|", 1, 2, 3, 4, 5, 6, 7.5));
    fclose(file);
    same(text, !strcmp(text, "1.5 3.0|1 2 3 4 5 6 7 8 9 10|7 0.25 text 1.125 99|1 2 3 4 5 6 7.5|"));
    free(text);
    IN_CYCLE(printf("%.1f %.1f\n", 1.5, 3.0));
}

static void call(void) {
    double number = 0;
    long double precise = 0;
    struct mixed mixed = {0, 0};
    struct two two = {0, 0};
    IN_CYCLE(number = nice(1, 2, (struct mixed){4, 8}, 16, 32, 64, 128, 256, 512));
    same("nice", number == 1023);
    IN_CYCLE(precise = alarm(0x1p-60L, 1));
    same("alarm", precise == 1 + 0x1p-60L);
    IN_CYCLE(number = sysinfo(4, 1.0, 2.0, 3.0, 4.0));
    same("sysinfo", number == 1234);
    IN_CYCLE(mixed = uname((struct mixed){0.5, 7}, (struct two){1, 2}));
    same("uname", mixed.number == 1.5 && mixed.count == 9);
    IN_CYCLE(two = getrlimit((struct two){1, 2}, 4.0 + 8.0i));
    same("getrlimit", two.x == 5 && two.y == 10);
    IN_CYCLE(number = swift_allocObject(5, 3));
    same("swift_allocObject", number == 2);
    IN_CYCLE(precise = swift_allocError(0x1p-60));
    same("swift_allocError", precise == 1 + 0x1p-60L);
    IN_CYCLE(two = swift_allocBox((struct two){1, 2}));
    same("swift_allocBox", two.x == 2 && two.y == 1);
    IN_CYCLE(mixed = swift_slowAlloc((struct mixed){1, 2}));
    same("swift_slowAlloc", mixed.number == 2 && mixed.count == 4);
}

static void leave_errno(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    void *memory = NULL;
    errno = 4711;
    IN_CYCLE(memory = malloc(100));
    same("errno behind malloc", errno == 4711);
    IN_CYCLE(free(memory));
    same("errno behind free", errno == 4711);
    IN_CYCLE(pthread_mutex_lock(&mutex));
    same("errno behind a lock", errno == 4711);
    IN_CYCLE(pthread_mutex_unlock(&mutex));
    same("errno behind an unlock", errno == 4711);
}

#ifdef __x86_64__
__attribute__((target("avx"))) static void wide_call(void) {
    wide sum = {0};
    IN_CYCLE(wide one = {1, 2, 3, 4}; wide other = {10, 20, 30, 40}; sum = setpriority(one, other));
    same("setpriority", sum[0] == 11 && sum[1] == 22 && sum[2] == 33 && sum[3] == 44);
}

static void leave_state(void) {
    unsigned state = _mm_getcsr(), odd = (state | 0x8040 | 0x4000) & ~0x3fu;
    _mm_setcsr(odd);
    void *memory = NULL;
    IN_CYCLE(memory = malloc(100));
    unsigned after = _mm_getcsr();
    _mm_setcsr(state);
    same("mxcsr", after == odd);
    free(memory);
}
#endif

static void *run(void *unused) {
    print();
    call();
    leave_errno();
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) wide_call();
    leave_state();
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, NULL);
    }
    return wrong ? 1 : 0;
}
