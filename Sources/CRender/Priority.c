#define _GNU_SOURCE

#include "CRender.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

static atomic_uint guard_count;

static bool is_realtime(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }

struct crender_policy crender_thread_policy(void) {
    struct crender_policy result = {-1, 0, false, false};
    struct sched_param parameters;
    // Here 0 is the calling thread: for the kernel every thread is a task of its own.
    int policy = sched_getscheduler(0);
    if (policy < 0 || sched_getparam(0, &parameters) != 0) return result;
    result.policy = policy & ~SCHED_RESET_ON_FORK;
    result.priority = parameters.sched_priority;
    result.resets_on_fork = (policy & SCHED_RESET_ON_FORK) != 0;
    result.is_realtime = is_realtime(result.policy);
    return result;
}

// Keeps SCHED_RESET_ON_FORK where it is set: without privilege it cannot be taken away.
static int lower_priority(void) {
    const struct sched_param parameters = {.sched_priority = 0};
    int policy = sched_getscheduler(0);
    if (policy < 0) return errno;
    return sched_setscheduler(0, SCHED_OTHER | (policy & SCHED_RESET_ON_FORK), &parameters) == 0 ? 0 : errno;
}

int crender_make_ordinary(void) { return lower_priority(); }

unsigned crender_guard_count(void) { return atomic_load_explicit(&guard_count, memory_order_relaxed); }

// Runs on the thread that computed for too long. Only system calls that are allowed in a handler.
static void guard_handler(int signal_number) {
    (void)signal_number;
    int saved = errno;
    int policy = sched_getscheduler(0);
    if (policy >= 0 && is_realtime(policy & ~SCHED_RESET_ON_FORK) && lower_priority() == 0) {
        atomic_fetch_add_explicit(&guard_count, 1, memory_order_relaxed);
    }
    errno = saved;
}

static int set_guard(uint32_t microseconds) {
    struct sigaction action;
    if (sigaction(SIGXCPU, NULL, &action) != 0) return errno;
    // By default the signal ends the process, so the handler comes before the limit.
    if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL) {
        action.sa_handler = guard_handler;
        action.sa_flags = SA_RESTART | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGXCPU, &action, NULL) != 0) return errno;
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0) return errno;
    rlim_t wanted = microseconds;
    // The hard limit ends the process: keep a distance from it.
    if (limit.rlim_max != RLIM_INFINITY && wanted > limit.rlim_max / 2) wanted = limit.rlim_max / 2;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > wanted) {
        limit.rlim_cur = wanted;
        if (setrlimit(RLIMIT_RTTIME, &limit) != 0) return errno;
    }
    // If this thread blocks the signal, another one gets it, which cannot help.
    sigset_t guard;
    sigemptyset(&guard);
    sigaddset(&guard, SIGXCPU);
    return pthread_sigmask(SIG_UNBLOCK, &guard, NULL);
}

int crender_make_realtime(int priority, uint32_t guard_microseconds) {
    if (priority < sched_get_priority_min(SCHED_FIFO) || priority > sched_get_priority_max(SCHED_FIFO)) return EINVAL;
    int old_policy = sched_getscheduler(0);
    struct sched_param old_parameters;
    if (old_policy < 0 || sched_getparam(0, &old_parameters) != 0) return errno;
    // First the priority, which is often refused: then the process is left without limit and handler.
    const struct sched_param parameters = {.sched_priority = priority};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) != 0) return errno;
    int error = guard_microseconds == 0 ? 0 : set_guard(guard_microseconds);
    if (error != 0) sched_setscheduler(0, old_policy | SCHED_RESET_ON_FORK, &old_parameters);
    return error;
}

int crender_accept_priority(uint32_t most_microseconds) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0) return errno;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most_microseconds) {
        limit.rlim_max = most_microseconds;
        if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_RTTIME, &limit) != 0) return errno;
    }
    return set_guard(most_microseconds / 2);
}

int64_t crender_thread_id(void) { return gettid(); }
