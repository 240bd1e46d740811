// For the command's tests: `races fork` has threads that become audio threads, while children are forked that become
// audio processes; `races unload` asks for functions by name while a library comes and goes. Says what hangs.
#define _GNU_SOURCE
#include "../../rtwatch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static _Atomic int started;

static void *audio(void *unused) {
    for (int i = 0; i < 3; i++) {
        rtwatch_cycle_begin("storm", 1000000);
        free(malloc(10));
        rtwatch_cycle_end();
    }
    return unused;
}

static void *starter(void *unused) {
    while (!over) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, audio, NULL) == 0) pthread_join(thread, NULL);
        started++;
    }
    return unused;
}

static int hangs(pid_t child) {
    for (int i = 0; i < 20000; i++) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child) return !WIFEXITED(status) || WEXITSTATUS(status);
        usleep(1000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 1;
}

static int forks(int count) {
    pthread_t starters[4];
    int hung = 0;
    for (int i = 0; i < 4; i++) pthread_create(&starters[i], NULL, starter, NULL);
    // From here on each new audio thread is one more than the library can tell apart, and the report says so.
    for (int i = 0; rtwatch_loaded() && started < 2100 && i < 1500; i++) usleep(10000);
    time_t begun = time(NULL);
    for (int i = 0; i < count && !hung && time(NULL) - begun < 15; i++) {   // a busy machine tries less often
        pid_t child = fork();
        if (!child) {
            audio(NULL);
            _exit(0);
        }
        hung = hangs(child);
    }
    over = 1;
    for (int i = 0; i < 4; i++) pthread_join(starters[i], NULL);
    if (hung) puts("a child hangs");
    return hung;
}

static void *opener(void *unused) {
    while (!over) {
        void *library = dlopen("./libforeign.so", RTLD_NOW | RTLD_LOCAL);
        if (library) dlclose(library);
    }
    return unused;
}

static int unload(void) {
    pthread_t thread;
    struct timespec from, at;
    volatile int missing = 0;
    pthread_create(&thread, NULL, opener, NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        for (int i = 0; i < 100; i++) missing += !dlsym(RTLD_DEFAULT, "mq_timedreceive");
        missing += dlsym(RTLD_DEFAULT, "swift_allocObject") != NULL && 0;
        clock_gettime(CLOCK_MONOTONIC, &at);
    } while (at.tv_sec - from.tv_sec < 3);
    over = 1;
    pthread_join(thread, NULL);
    if (missing) puts("a function of libc was not found");
    return missing > 0;
}

int main(int count, char **words) {
    return count > 2 ? forks(atoi(words[2])) : unload();
}
