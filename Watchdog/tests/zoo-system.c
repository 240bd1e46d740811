// Threads, processes, the loader, signals, bare system calls, and what takes a watchdog some care.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "zoo.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *nothing(void *argument) { return argument; }
static void wait_for(pid_t child) {
    int status;
    waitpid(child, &status, 0);
}

static pthread_t made(void) {
    rtwatch_permitted_begin();
    pthread_create(&zoo_child, NULL, nothing, NULL);
    rtwatch_permitted_end();
    return zoo_child;
}

CASE(pthread_create, BLOCKS, "pthread_create") {
    pthread_create(&zoo_child, NULL, nothing, NULL);
    pthread_join(zoo_child, NULL);
    KEEP;
}
CASE(pthread_join, BLOCKS, "pthread_join") {
    pthread_join(made(), NULL);
    KEEP;
}
CASE(setname, BLOCKS, "pthread_setname_np") {
    pthread_setname_np(pthread_self(), "zoo");
    KEEP;
}
CASE(setschedparam, BLOCKS, "pthread_setschedparam") {
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &(struct sched_param){0});
    KEEP;
}
CASE(fork, BLOCKS, "fork") {
    pid_t child = fork();
    if (child == 0) {
        free(malloc(10));
        _exit(0);
    }
    wait_for(child);
    KEEP;
}
CASE(vfork, BLOCKS, "vfork") {
    pid_t child = vfork();
    if (child == 0) _exit(0);
    wait_for(child);
    KEEP;
}
#if defined(SYS_fork)
CASE(raw_fork, BLOCKS, "syscall") {
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        free(malloc(10));
        syscall(SYS_exit_group, 0);
    }
    wait_for(child);
    KEEP;
}
#endif
CASE(system, BLOCKS, "system") {
    zoo_value = system("exit 0");
}
CASE(posix_spawn, BLOCKS, "posix_spawn") {
    pid_t child; zoo_value = posix_spawn(&child, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, NULL);
    if (!zoo_value) wait_for(child);
    KEEP;
}
CASE(popen, BLOCKS, "popen") {
    FILE *program = popen("exit 0", "r");
    pclose(program);
    KEEP;
}
CASE(dlopen, BLOCKS, "dlopen") {
    void *library = dlopen("libm.so.6", RTLD_NOW);
    dlclose(library);
    KEEP;
}
CASE(dlsym, BLOCKS, "dlsym") {
    zoo_pointer = dlsym(RTLD_DEFAULT, "fopen");
}
CASE(backtrace, BLOCKS, "backtrace") {
    void *frames[16]; zoo_value = backtrace(frames, 16);
}
CASE(getrandom, BLOCKS, "getrandom") {
    char bytes[8]; zoo_value = (int)getrandom(bytes, sizeof bytes, 0);
}
CASE(getenv, NOTE, "getenv") {
    zoo_pointer = getenv("HOME");
}
CASE(setenv, BLOCKS, "setenv") {
    setenv("ZOO", "1", 1);
    KEEP;
}
CASE(localtime, BLOCKS, "localtime") {
    time_t then = 0; zoo_pointer = localtime(&then);
}
CASE(getrusage, BLOCKS, "getrusage") {
    struct rusage usage; getrusage(RUSAGE_THREAD, &usage);
    KEEP;
}
CASE(sigaction, BLOCKS, "system call rt_sigaction") {
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    KEEP;
}
CASE(block_all_signals, BLOCKS, "system call rt_sigprocmask") {
    sigset_t all, before; sigfillset(&all), pthread_sigmask(SIG_SETMASK, &all, &before);
    zoo_value = (int)syscall(SYS_gettid);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    KEEP;
}
CASE(getpid, BLOCKS, "system call getpid") {
    zoo_value = getpid();
}
CASE(syscall, BLOCKS, "syscall") {
    zoo_value = (int)syscall(SYS_gettid);
}
CASE(raw_futex, BLOCKS, "syscall") {
    static int word; zoo_value = (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}
#if defined(__x86_64__)
CASE(assembly, BLOCKS, "system call getppid") {
    long result; __asm__ volatile("syscall" : "=a"(result) : "0"(SYS_getppid) : "rcx", "r11", "memory");
    zoo_value = (int)result;
}
static int word;
static long result;
CASE(assembly_futex_wake, MAY_BLOCK, "system call futex") {
    __asm__ volatile("syscall" : "=a"(result) : "0"(SYS_futex), "D"(&word), "S"(1), "d"(1) : "rcx", "r11", "memory");
}
#endif

// Signals.
static void handle_malloc(int number) {
    (void)number;
    zoo_pointer = malloc(20);
    KEEP;
}
CASE(signal_handler, BLOCKS, "raise") {
    rtwatch_permitted_begin(), signal(SIGUSR1, handle_malloc), rtwatch_permitted_end(), raise(SIGUSR1);
    KEEP;
}
static sigjmp_buf before_jump;
static void handle_jump(int number) {
    (void)number;
    siglongjmp(before_jump, 1);
}
CASE(after_longjmp, BLOCKS, "malloc") {
    if (sigsetjmp(before_jump, 1)) zoo_pointer = malloc(30);
    else rtwatch_permitted_begin(), signal(SIGUSR1, handle_jump), rtwatch_permitted_end(), raise(SIGUSR1);
    KEEP;
}
static void handle_sigsys(int number) { zoo_value = number; }
CASE(own_sigsys, BLOCKS, "raise") {
    rtwatch_permitted_begin(), signal(SIGSYS, handle_sigsys), rtwatch_permitted_end(), raise(SIGSYS);
    if (zoo_value != SIGSYS) abort();
    KEEP;
}

// Kernel events and time.
CASE(page_fault, NOTE, "page fault") {
    static volatile char pages[64 * 4096]; static int next; zoo_value += pages[4096 * (next++ % 64)]++;
    KEEP;
}
ALONE(hang_spinning, BLOCKS, "hang") {
    for (long end = zoo_ticks + 1300; zoo_ticks < end;) KEEP;
}
ALONE(hang_waiting, BLOCKS, "hang") {
    struct timespec long_time = {2, 500000000}; nanosleep(&long_time, NULL);
    KEEP;
}
ALONE(thread_exit, BLOCKS, "malloc") {
    zoo_pointer = malloc(10), pthread_exit(NULL);
}
ALONE(million, BLOCKS, "malloc") {
    for (int i = 0; i < 1000000; i++) zoo_pointer = malloc(10), free(zoo_pointer);
    KEEP;
}
CLEAN(clean_spin) {
    for (int i = 0; i < 1000; i++) KEEP;
}
CLEAN(clean_setjmp) {
    if (!sigsetjmp(before_jump, 0)) siglongjmp(before_jump, 1);
}
