// An audio thread on which SIGSYS would be blocked, in all the ways in which a program can block signals: see main() for
// their names. Each way runs a handler in a cycle, or goes on in one, with a mask that holds all signals, and makes system
// calls there. The program ends with 0, and says how often its handler ran.
#define _GNU_SOURCE
#include "../../rtwatch.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char **environ;
static const char *way;
static FILE *nowhere;
static pthread_t audio_thread;
static volatile sig_atomic_t handled, waits, over, ended;
static sigset_t all, but_one;   // all signals; all but SIGUSR1
static sigjmp_buf place;
static ucontext_t here, there;

static int is(const char *name) { return !strcmp(way, name); }

// Returns what the kernel does.
static long direct(long number, const void *a, const void *b, const void *c, const void *d, const void *e, const void *f) {
    register const void *r10 __asm__("r10") = d;
    register const void *r8 __asm__("r8") = e;
    register const void *r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return number;
}

// Calls that are jumped to, calls that are called, calls that no intercepted function makes.
__attribute__((noinline)) static void violate(void) {
    free(malloc(10));
    fprintf(nowhere, "%d", getppid());
    direct(SYS_getppid, NULL, NULL, NULL, NULL, NULL, NULL);
}

static void handler(int number) {
    (void)number;
    int before = errno;
    violate();
    handled++;
    errno = before;
}
static void informed(int number, siginfo_t *info, void *context) {
    (void)info;
    handler(number);
    if (is("context")) sigfillset(&((ucontext_t *)context)->uc_sigmask);
}
static void jumping(int number) {
    handler(number);
    siglongjmp(place, 1);
}

struct kernel_action { void *handler; unsigned long flags; void *restorer; unsigned long mask; };
static void install_directly(int assembly) {
    struct kernel_action action;
    direct(SYS_rt_sigaction, (void *)SIGUSR1, NULL, &action, (void *)8, NULL, NULL);   // libc's restorer
    action.mask = ~0ul;
    if (assembly) direct(SYS_rt_sigaction, (void *)SIGUSR1, &action, NULL, (void *)8, NULL, NULL);
    else syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8);
}

static void install(void) {
    struct sigaction action = {.sa_sigaction = informed, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

static void mask(void) { direct(SYS_rt_sigprocmask, (void *)SIG_SETMASK, &all, NULL, (void *)8, NULL, NULL); }

// Sends one signal, once the audio thread waits for it: that blocks it until then, so it can come neither too early nor twice.
static void *send_signal(void *unused) {
    while (!waits && !over) usleep(1000);
    if (waits) pthread_kill(audio_thread, SIGUSR1);
    return unused;
}
static int waits_as(const char *name) {
    if (!is(name)) return 0;
    sigset_t one;
    sigemptyset(&one), sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, NULL);
    return waits = 1;
}

static void other_context(void) { violate(); }

static void use_uring(int extended) {
    struct io_uring_params parameters = {0};
    struct io_uring_getevents_arg argument = {.sigmask = (uintptr_t)&but_one, .sigmask_sz = 8};
    int ring = (int)syscall(SYS_io_uring_setup, 2, &parameters);
    if (ring < 0) exit(77);
    long flags = IORING_ENTER_GETEVENTS | (extended ? IORING_ENTER_EXT_ARG : 0);
    direct(SYS_io_uring_enter, (void *)(long)ring, NULL, (void *)1, (void *)flags, extended ? (void *)&argument : (void *)&but_one,
           (void *)(long)(extended ? sizeof argument : 8));
}

// In a cycle: waits for the signal with a mask that holds all others.
static void wait_masked(void) {
    struct timespec long_time = {20, 0};
    struct epoll_event event;
    struct { const sigset_t *set; size_t size; } pair = {&but_one, 8};
    int set = epoll_create1(0);
    if (waits_as("sigsuspend")) sigsuspend(&but_one);
    if (waits_as("ppoll")) ppoll(NULL, 0, &long_time, &but_one);
    if (waits_as("pselect")) pselect(0, NULL, NULL, NULL, &long_time, &but_one);
    if (waits_as("epoll_pwait")) epoll_pwait(set, &event, 1, 20000, &but_one);
    if (waits_as("epoll_pwait2")) epoll_pwait2(set, &event, 1, &long_time, &but_one);
    if (waits_as("sigpause")) sigpause(SIGUSR1);
    if (waits_as("syscall sigsuspend")) syscall(SYS_rt_sigsuspend, &but_one, 8);
    if (waits_as("syscall pselect")) syscall(SYS_pselect6, 0, NULL, NULL, NULL, &long_time, &pair);
    if (waits_as("direct sigsuspend")) direct(SYS_rt_sigsuspend, &but_one, (void *)8, NULL, NULL, NULL, NULL);
    if (waits_as("direct ppoll")) direct(SYS_ppoll, NULL, NULL, &long_time, &but_one, (void *)8, NULL);
    if (waits_as("direct pselect")) direct(SYS_pselect6, NULL, NULL, NULL, NULL, &long_time, &pair);
    if (waits_as("direct epoll_pwait")) direct(SYS_epoll_pwait, (void *)(long)set, &event, (void *)1, (void *)20000, &but_one, (void *)8);
    if (waits_as("uring")) use_uring(0);
    if (waits_as("uring, extended")) use_uring(1);
    if (is("bad")) {   // the kernel refuses what cannot be read, and goes on
        const sigset_t *bad = (const sigset_t *)8;
        if (sigsuspend(bad) != -1 || errno != EFAULT) exit(70);
        if (ppoll(NULL, 0, &long_time, bad) != -1 || errno != EFAULT) exit(71);
        if (pselect(0, NULL, NULL, NULL, &long_time, bad) != -1 || errno != EFAULT) exit(72);
        if (direct(SYS_rt_sigsuspend, bad, (void *)8, NULL, NULL, NULL, NULL) != -EFAULT) exit(73);
        if (direct(SYS_pselect6, NULL, NULL, NULL, NULL, &long_time, bad) != -EFAULT) exit(74);
        if (direct(SYS_rt_sigaction, (void *)SIGUSR1, bad, NULL, (void *)8, NULL, NULL) != -EFAULT) exit(75);
        if (direct(SYS_rt_sigaction, (void *)SIGUSR1, &all, NULL, (void *)7, NULL, NULL) != -EINVAL) exit(76);
        raise(SIGUSR1);
    }
    close(set);
}

// The masks that a thread sets itself, between cycles or in one.
static void block(void) {
    if (is("sigprocmask")) sigprocmask(SIG_SETMASK, &all, NULL);
    if (is("pthread_sigmask")) pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (is("syscall sigprocmask")) syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
    if (is("direct sigprocmask")) mask();
    if (is("sighold")) sighold(SIGSYS);
    if (is("sigset")) sigset(SIGSYS, SIG_HOLD);
    if (is("sigblock")) sigblock(-1);
    if (is("sigsetmask")) sigsetmask(-1);
    if (is("swapcontext")) {
        static char stack[65536];
        getcontext(&there);
        there.uc_stack.ss_sp = stack, there.uc_stack.ss_size = sizeof stack, there.uc_link = &here, there.uc_sigmask = all;
        makecontext(&there, other_context, 0);
        swapcontext(&here, &there);
    }
    if (is("setcontext")) {
        volatile int been = 0;
        getcontext(&here);
        here.uc_sigmask = all;
        if (!been++) setcontext(&here);
    }
    if (is("siglongjmp") && !sigsetjmp(place, 1)) {
        place[0].__saved_mask = *(__sigset_t *)&all;
        siglongjmp(place, 1);
    }
}

static void own_sigsys(void) {
    struct sigaction action = {.sa_handler = jumping};
    sigfillset(&action.sa_mask);
    rtwatch_permitted_begin();
    sigaction(SIGSYS, &action, NULL);
    rtwatch_permitted_end();
    if (!sigsetjmp(place, 0)) raise(SIGSYS);
}

static void *audio(void *unused) {
    for (int cycle = 0; cycle < 6; cycle++) {
        if (cycle == 2) {
            if (is("after")) install();
            if (is("syscall sigaction")) install_directly(0);
            if (is("direct sigaction")) install_directly(1), usleep(500000);
        }
        if (cycle == 3) block();
        rtwatch_cycle_begin("masks", 0);
        violate();
        if (cycle == 4) {
            if (is("in a cycle")) install_directly(1);
            if (is("in a cycle, syscall")) install_directly(0);
            block();
            wait_masked();
            if (is("own SIGSYS")) own_sigsys();
            else if (handled < 1) raise(SIGUSR1);
        }
        violate();
        rtwatch_cycle_end();
    }
    over = 1;
    while (!ended) usleep(1000);   // it can be sent signals until then
    return unused;
}

int main(int count, char **words) {
    way = count > 1 ? words[1] : "before";
    sigfillset(&all), sigfillset(&but_one), sigdelset(&but_one, SIGUSR1);
    nowhere = fopen("/dev/null", "w");
    if (is("spawn")) {   // a program that begins with all signals blocked
        posix_spawnattr_t attributes;
        pid_t child;
        int status = 1;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attributes, &all);
        if (posix_spawn(&child, words[0], NULL, &attributes, (char *[]){words[0], "before", NULL}, environ)) return 99;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
    }
    pthread_t sender;
    pthread_attr_t attributes;
    if (!is("constructor")) install();
    pthread_create(&sender, NULL, send_signal, NULL);
    pthread_attr_init(&attributes);
    if (is("attribute")) pthread_attr_setsigmask_np(&attributes, &all);
    if (is("inherited")) mask();
    pthread_create(&audio_thread, &attributes, audio, NULL);
    while (!over) usleep(1000);
    pthread_join(sender, NULL);
    ended = 1;
    pthread_join(audio_thread, NULL);
    printf("handled %d\n", handled);
    return 0;
}
