#define _GNU_SOURCE

#include "CRender.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM};
static struct sigaction old_actions[2];
static int event = -1;
static _Atomic int64_t last;

// Only what is allowed in a handler.
static void note(int number) {
    (void)number;
    int saved = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&last, now.tv_sec * INT64_C(1000000000) + now.tv_nsec);
    uint64_t one = 1;
    ssize_t written = write(event, &one, sizeof one);
    (void)written;
    errno = saved;
}

int crender_catch_interruptions(void) {
    if (event < 0) event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event < 0) return -1;
    crender_take_interruption();
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < 2; index++) {
        sigaction(numbers[index], NULL, &old_actions[index]);
        // Ignored from the start: the shell does so for a job in the background, which Ctrl-C is not meant for.
        if (old_actions[index].sa_handler != SIG_IGN) sigaction(numbers[index], &action, NULL);
    }
    return event;
}

bool crender_take_interruption(void) {
    uint64_t count;
    return event >= 0 && read(event, &count, sizeof count) == sizeof count;
}

int64_t crender_last_interruption(void) { return atomic_load(&last); }

void crender_release_interruptions(void) {
    for (int index = 0; index < 2; index++) sigaction(numbers[index], &old_actions[index], NULL);
}
