// Programs that must neither deadlock nor crash nor lose a count: many calls of every kind at once. Each runs alone.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "zoo.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *one_cycle(void *unused) {
    void *volatile own;   // zoo_pointer belongs to all threads
    rtwatch_cycle_begin("one of many", 0);
    own = malloc(10);
    free(own);
    rtwatch_cycle_end();
    return unused;
}
ALONE(thousand_threads, BLOCKS, "malloc") {
    static pthread_t threads[1000];
    rtwatch_permitted_begin();
    for (int i = 0; i < 1000; i++)
        if (pthread_create(&threads[i], NULL, one_cycle, NULL)) threads[i] = 0;
    for (int i = 0; i < 1000; i++)
        if (threads[i]) pthread_join(threads[i], NULL);
    rtwatch_permitted_end();
}
ALONE(thread_after_thread, BLOCKS, "malloc") {
    rtwatch_permitted_begin();
    for (int i = 0; i < 3000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, one_cycle, NULL) == 0) pthread_join(thread, NULL);
    }
    rtwatch_permitted_end();
}

// A thread's last words: they come when libc, and the watchdog, have already begun to take it down, in the rounds that
// destructors may ask for.
static pthread_key_t last_words;
static void say_last_words(void *rounds) {
    one_cycle(NULL);
    rtwatch_cycle_begin("left open", 0);
    zoo_pointer = malloc(10);
    if ((long)rounds > 1) pthread_setspecific(last_words, (void *)((long)rounds - 1));
}
static void *exit_in_cycle(void *unused) {
    pthread_setspecific(last_words, (void *)3);
    rtwatch_cycle_begin("exits", 0);
    zoo_pointer = malloc(10);
    if (!unused) pthread_exit(NULL);
    return unused;
}
ALONE(exit_storm, BLOCKS, "malloc") {
    rtwatch_permitted_begin();
    pthread_key_create(&last_words, say_last_words);
    for (int i = 0; i < 300; i++) {
        pthread_t threads[4];
        for (int n = 0; n < 4; n++)
            if (pthread_create(&threads[n], NULL, exit_in_cycle, n % 2 ? &last_words : NULL)) threads[n] = 0;
        for (int n = 0; n < 4; n++)
            if (threads[n]) pthread_join(threads[n], NULL);
    }
    rtwatch_permitted_end();
}

static volatile sig_atomic_t signals;
static void count_signal(int number) {
    (void)number;
    int before = errno;
    zoo_value = getppid();
    sem_post(&zoo_semaphore);
    errno = before;
    signals++;
}
static volatile int storming;
static void *send_signals(void *unused) {
    while (storming) {
        pthread_kill(zoo_thread, SIGUSR2);
        for (int i = 0; i < 2000; i++) KEEP;
    }
    return unused;
}
ALONE(signal_storm, BLOCKS, "malloc") {
    pthread_t sender;
    rtwatch_permitted_begin();
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
    storming = 1;
    pthread_create(&sender, NULL, send_signals, NULL);
    rtwatch_permitted_end();
    for (int i = 0; i < 20000; i++) {
        errno = 77;
        zoo_pointer = malloc(10);
        zoo_value = getppid();
        free(zoo_pointer);
        if (errno != 77) abort();
    }
    rtwatch_permitted_begin();
    storming = 0;
    pthread_join(sender, NULL);
    rtwatch_permitted_end();
}

static void handle_on_other_stack(int number) {
    (void)number;
    zoo_value = getppid();
    sem_post(&zoo_semaphore);
}
ALONE(other_stack, BLOCKS, "raise") {
    static char stack[65536];
    rtwatch_permitted_begin();
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = handle_on_other_stack, .sa_flags = SA_ONSTACK}, NULL);
    rtwatch_permitted_end();
    for (int i = 0; i < 100; i++) raise(SIGUSR2);
}

static void *fork_too(void *unused) {
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            one_cycle(NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return unused;
}
ALONE(fork_storm, BLOCKS, "fork") {
    pthread_t other;
    rtwatch_permitted_begin();
    pthread_create(&other, NULL, fork_too, NULL);
    rtwatch_permitted_end();
    fork_too(NULL);
    rtwatch_permitted_begin();
    pthread_join(other, NULL);
    rtwatch_permitted_end();
}

static void *open_libraries(void *unused) {
    for (int i = 0; i < 200; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW), *other = dlopen("libresolv.so.2", RTLD_NOW);
        if (library) dlclose(library);
        if (other) dlclose(other);
    }
    return unused;
}
ALONE(dlopen_storm, BLOCKS, "dlopen") {
    pthread_t other;
    rtwatch_permitted_begin();
    pthread_create(&other, NULL, open_libraries, NULL);
    rtwatch_permitted_end();
    open_libraries(NULL);
    rtwatch_permitted_begin();
    pthread_join(other, NULL);
    rtwatch_permitted_end();
}

#if defined(__x86_64__)
// A handler that the library is not told of.
static void handle_raw(int number) { zoo_value = number; }
ALONE(raw_sigsys, BLOCKS, "malloc") {
    struct { void *handler; unsigned long flags; void *restorer; unsigned long mask; } action = {0};
    action.handler = (void *)handle_raw;
    syscall(SYS_rt_sigaction, SIGSYS, &action, NULL, 8);
    for (int i = 0; i < 100; i++) {
        zoo_pointer = malloc(10);
        zoo_value = getppid();
        free(zoo_pointer);
    }
}
#endif
