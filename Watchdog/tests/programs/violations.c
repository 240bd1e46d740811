// An "audio thread" with faults of several kinds, for the command's tests. Arguments: cycles, microseconds a cycle has,
// and words: allocate, print, lock, wake, clock, late, stall, hang, raw, inline, deep, fault, unmarked, crash, forever, deaf,
// fork, clean, stuck, abort, handled, sealed, permitted, starved, status=N.
#define _GNU_SOURCE
#include "../../rtwatch.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int count, arguments_count;
static long period;
static char **words;
static volatile sig_atomic_t ended;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile int *volatile nowhere = (volatile int *)8;
static volatile float sink;
static volatile char fresh[40 << 16];   // pages that have not been touched
static volatile int rival_works;
static volatile int began, handles;   // the cycles that have begun; whether main has its handler

static int has(const char *word) {
    for (int i = 3; i < arguments_count; i++)
        if (!strcmp(words[i], word)) return 1;
    return 0;
}

__attribute__((noinline)) static void allocate_buffer(int size) {
    char *volatile buffer = malloc((size_t)size);      // line: allocate
    buffer[0] = 1;
    free(buffer);                                      // line: free
}

__attribute__((noinline)) static void log_level(int cycle) {
    printf("level %d\n", cycle);                       // line: print
    fflush(stdout);
}

// A system call without libc.
__attribute__((noinline)) static void inline_call(void) {
#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(SYS_getppid) : "rcx", "r11", "memory");   // line: inline
#else
    syscall(SYS_getppid);
#endif
}

static inline __attribute__((always_inline)) void take_lock(void) {
    pthread_mutex_lock(&mutex);                        // line: lock
    pthread_mutex_unlock(&mutex);
}

static long since(clockid_t clock, struct timespec from) {
    struct timespec at;
    clock_gettime(clock, &at);
    return (at.tv_sec - from.tv_sec) * 1000000000l + at.tv_nsec - from.tv_nsec;
}

__attribute__((noinline)) static void spin(long nanoseconds) {
    struct timespec from;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        for (int i = 0; i < 20000; i++) sink += 1;
    while (since(CLOCK_MONOTONIC, from) < nanoseconds);
}

// And until it has had a processor for half of that time: without one it does not hang.
__attribute__((noinline)) static void hang(long nanoseconds) {
    struct timespec from;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    spin(nanoseconds);
    while (since(CLOCK_THREAD_CPUTIME_ID, from) < nanoseconds / 2) spin(nanoseconds / 10);
}

// Named like the Swift runtime's, so that it is never the place.
__attribute__((noinline)) static void swift_descend(int depth) {
    if (depth) swift_descend(depth - 1);
    else free(malloc(16));
    sink += 1;
}

__attribute__((noinline)) static void render(int cycle) {
    for (int i = 0; i < 20000; i++) sink += (float)i;
    if (has("allocate")) allocate_buffer(64);
    if (has("print") && cycle % 10 == 0) log_level(cycle);
    if (has("lock")) take_lock();
    if (has("late") && cycle % 50 == 49) spin(period * 1500);
    if (has("stall") && cycle == 10) spin(60000000);
    if (has("deep")) swift_descend(70);                // line: deep
    if (has("fault") && cycle < 40) fresh[cycle << 16] = 1;   // line: fault
    if (has("raw")) syscall(SYS_getpid);
    if (has("permitted")) rtwatch_permitted_begin();
    if (has("hang") && cycle == 20) hang(3000000000l);
    if (has("permitted")) rtwatch_permitted_end();
    // The rival thread has this processor meanwhile.
    if (has("starved") && cycle == 20) for (rival_works = 1; rival_works;) sink += 1;
    if (has("inline")) inline_call();
    if (has("wake")) pthread_cond_signal(&condition);
    if (has("clock")) clock_gettime(CLOCK_MONOTONIC, &(struct timespec){0});
    if (has("stuck") && cycle == 20) spin(60000000000l);
    if (has("abort") && cycle == 30) abort();          // line: abort
    if (has("crash") && cycle == 30) *nowhere = 1;   // line: crash
}

// From here on this thread may open no perf events itself.
static void seal(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(99);
}

// Keeps the audio thread from its processor for a second, in one of its cycles.
static void *rival(void *argument) {
    while (!rival_works) usleep(1000);
    spin(1000000000l);
    rival_works = 0;
    return argument;
}

static void starve(void) {
    cpu_set_t here;
    pthread_t thread;
    sched_getaffinity(0, sizeof here, &here);
    for (int i = CPU_SETSIZE, seen = 0; i--;)
        if (CPU_ISSET(i, &here) && seen++) CPU_CLR(i, &here);
    if (sched_setaffinity(0, sizeof here, &here)) exit(97);
    if (pthread_create(&thread, NULL, rival, NULL) || pthread_detach(thread)) exit(97);
    if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0})) exit(97);
}

static void *audio(void *argument) {
    struct timespec pause = {0, period * 1000};
    (void)argument;
    if (has("starved")) starve();
    pthread_setname_np(pthread_self(), "audio");
    if (has("sealed")) seal();
    for (int cycle = 0; (cycle < count || has("forever")) && !ended; cycle++) {
        if (has("forever") && cycle == 50) puts("started"), fflush(stdout);
        // What main does in the first cycles is done before the last of them.
        if (has("handled") && cycle == 30) while (!handles) usleep(1000);
        began = cycle + 1;
        if (!has("unmarked")) rtwatch_cycle_begin("render", (unsigned long long)period * 1000);
        render(cycle);
        if (!has("unmarked")) rtwatch_cycle_end();
        nanosleep(&pause, NULL);
    }
    // A second Ctrl-C would be counted.
    if (ended) usleep(200000);
    return NULL;
}

static void fault(int signal) { _exit(signal - 2); }

static void end(int signal) { (void)signal; ended++; }

int main(int argc, char **argv) {
    pthread_t thread;
    int status = 0;
    count = argc > 1 ? atoi(argv[1]) : 100;
    period = argc > 2 ? atol(argv[2]) : 1000;
    arguments_count = argc;
    words = argv;
    for (int i = 3; i < argc; i++) sscanf(argv[i], "status=%d", &status);
    if (has("forever")) signal(SIGINT, has("deaf") ? SIG_IGN : end);
    if (has("deaf")) signal(SIGTERM, SIG_IGN);
    if (has("fork") && !fork()) {
        audio(NULL);
        _exit(0);
    }
    if (has("sealed")) {   // the watchdog starts here what it starts for itself
        rtwatch_cycle_begin("first", 0);
        rtwatch_cycle_end();
    }
    pthread_create(&thread, NULL, audio, NULL);
    if (has("handled")) {
        struct sigaction before = {0};
        while (began < 5) usleep(1000);
        sigaction(SIGSEGV, NULL, &before);
        if (before.sa_handler == SIG_DFL && signal(SIGSEGV, fault) == SIG_DFL) puts("no handler before"), fflush(stdout);
        handles = 1;
    }
    if (has("stuck")) {
        // By the time that the thread has had a processor, which others may keep from it.
        clockid_t clock;
        struct timespec time = {0};
        if (pthread_getcpuclockid(thread, &clock)) exit(97);
        while (began < 21 || time.tv_sec < 2) usleep(10000), clock_gettime(clock, &time);
        return 0;
    }
    pthread_join(thread, NULL);
    if (has("fork")) wait(NULL);
    if (ended) printf("ended by Ctrl-C, signals: %d\n", (int)ended);
    return status;
}
