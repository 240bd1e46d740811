// Measures the cost of a call: off the audio thread, on it, and as a trapped system call. Run it bare, under the
// watchdog (`make bench` does both), or built with -DRTSAN against RealtimeSanitizer's runtime.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../protocol.h"
#include "../rtwatch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef RTSAN
static int unlock_mutex(void *unused) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    (void)unused;
    return pthread_mutex_unlock(&mutex);
}
void __rtsan_realtime_enter(void);
void __rtsan_realtime_exit(void);
static void enter(void) { __rtsan_realtime_enter(); }
static void leave(void) { __rtsan_realtime_exit(); }
#else
static void enter(void) { rtwatch_cycle_begin("cost", 0); }
static void leave(void) { rtwatch_cycle_end(); }
#endif

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// Stands for the command: takes what is in the ring, so that each hit finds room and is written in full.
static struct rtwatch_channel *channel;
static void *drain(void *unused) {
    for (;;) {
        uint64_t written = __atomic_load_n(&channel->written, __ATOMIC_ACQUIRE);
        __atomic_store_n(&channel->read, written, __ATOMIC_RELEASE);
        usleep(100);
    }
    return unused;
}

static pthread_spinlock_t spin;
static volatile int sink;
static int (*volatile call)(pthread_spinlock_t *);

// `depth` frames deep, `count` calls; nanoseconds a call, the smallest of several runs, so that what else the machine
// does is left out.
__attribute__((noinline)) static double calls(int depth, long count) {
    double best = 1e18;
    if (depth > 0) {
        best = calls(depth - 1, count);
        sink++;
        return best;
    }
    for (int run = 0; run < 200; run++) {
        double start = now();
        for (long i = 0; i < count; i++) call(&spin);
        double took = (now() - start) / (double)count;
        if (took < best) best = took;
    }
    return best;
}

__attribute__((noinline)) static double in_cycle(int depth, long count) {
    if (depth > 0) {
        double best = in_cycle(depth - 1, count);
        sink++;
        return best;
    }
    double best = 1e18;
    for (int run = 0; run < 200; run++) {
        enter();
        double start = now();
        for (long i = 0; i < count; i++) call(&spin);
        double took = (now() - start) / (double)count;
        leave();
        if (took < best) best = took;
        usleep(300);
    }
    return best;
}

static double system_calls(long count) {
    double best = 1e18;
    for (int run = 0; run < 50; run++) {
        enter();
        double start = now();
        for (long i = 0; i < count; i++) getppid();
        double took = (now() - start) / (double)count;
        leave();
        if (took < best) best = took;
        usleep(300);
    }
    return best;
}

static double pairs(long count) {
    double best = 1e18;
    for (int run = 0; run < 50; run++) {
        double start = now();
        for (long i = 0; i < count; i++) {
            enter();
            leave();
        }
        double took = (now() - start) / (double)count;
        if (took < best) best = took;
    }
    return best;
}

static void *audio(void *unused) {
    call = pthread_spin_unlock;
#ifdef RTSAN
    call = (int (*)(pthread_spinlock_t *))unlock_mutex;   // RTSan does not look at spin locks' end
#endif
    int (*watched)(pthread_spinlock_t *) = call;
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    double through = calls(0, 20000);
    printf("a call off the audio thread             %7.1f ns\n", through);
    int (*direct)(pthread_spinlock_t *) = (int (*)(pthread_spinlock_t *))dlsym(libc, "pthread_spin_unlock");
#ifdef RTSAN
    direct = NULL;
#endif
    if (direct && direct != call) {
        call = direct;
        double bare = calls(0, 20000);
        printf("  the same without the watchdog         %7.1f ns; so it costs %.1f ns\n", bare, through - bare);
        call = watched;
    }
    printf("an empty cycle (enter, exit)            %7.1f ns\n", pairs(10000));
#ifdef RTSAN
    printf("a hit                                   %7.1f ns\n", in_cycle(2, 20));
    return unused;
#endif
    printf("a hit, stack of 5                       %7.1f ns\n", in_cycle(1, 500));
    printf("a hit, stack of 10                      %7.1f ns\n", in_cycle(6, 500));
    printf("a hit, stack of 20                      %7.1f ns\n", in_cycle(16, 500));
    printf("a system call in a cycle                %7.1f ns\n", system_calls(200));
    return unused;
}

int main(void) {
    const char *path = getenv(RTWATCH_ENV_CHANNEL);
    pthread_spin_init(&spin, 0);
    if (path && rtwatch_loaded()) {
        int file = open(path, O_RDWR);
        channel = mmap(NULL, sizeof *channel, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        pthread_t drainer;
        pthread_create(&drainer, NULL, drain, NULL);
    }
    printf("%s\n", rtwatch_loaded() ? "under the watchdog" : "without the watchdog");
    pthread_t thread;
    pthread_create(&thread, NULL, audio, NULL);
    pthread_join(thread, NULL);
    return 0;
}
