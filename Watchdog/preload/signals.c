// Signals. A program may handle SIGSYS itself: it keeps its handler (which gets every SIGSYS that is not the watchdog's
// own), but the watchdog's stays installed while a process is watched. So it is with the signals of crashes (crash.c).
// Of all other signals the functions here pass everything on, but SIGSYS in the masks of handlers (masks.c).

#include "preload.h"
#include "system.h"

#include <errno.h>
#include <signal.h>
#include <ucontext.h>

_Atomic uint32_t rtw_handlers, rtw_informed;
int rtw_hang_signal;

static struct rtw_action program_sigsys;   // the action that the program believes to be installed

#define REAL(name) ({ \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))rtw_find(#name, true); \
    real; \
})

void rtw_program_sigsys(const struct rtw_action *action) {
    program_sigsys = *action;
    if (action->handler > (void *)1)
        rtw_say("the program handles SIGSYS itself: its handler gets every SIGSYS but the watchdog's own, in the "
                "watchdog's handler");
}

void rtw_foreign_sigsys(int signal, void *info, void *context) {
    struct rtw_action action = program_sigsys;
    if (action.handler == (void *)SIG_IGN && ((siginfo_t *)info)->si_code <= 0) return;
    if (action.handler > (void *)1) {
        uint8_t selector = rtw_self.selector;
        rtw_self.selector = SELECTOR_ALLOW;
        // It may leave by longjmp(), and the mask stays then.
        uint64_t mask = *(uint64_t *)&((ucontext_t *)context)->uc_sigmask | action.mask, all = ~0ull;
        mask &= ~RTW_BIT(SIGSYS);
        rtw_system4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
        ((void (*)(int, void *, void *))action.handler)(signal, info, context);
        rtw_system4(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
        rtw_self.selector = selector;
        return;
    }
    struct rtw_action none = {0};
    rtw_system4(SYS_rt_sigaction, signal, &none, NULL, 8);
    rtw_system3(SYS_tgkill, rtw_system0(SYS_getpid), rtw_system0(SYS_gettid), signal);
}

void rtw_count_handler(int signal, uint64_t flags) {
    if (signal == rtw_hang_signal || rtw_crash_signal(signal)) return;
    atomic_fetch_add(&rtw_handlers, 1);
    // Those of libc's own leave the mask as it is.
    if (flags & SA_SIGINFO && signal != 32 && signal != 33) atomic_fetch_add(&rtw_informed, 1);
}

static bool is_sigsys(int signal) { return signal == SIGSYS && rtw_options.syscalls; }

// Has the kernel another action than the program believes?
static bool stands_in(int signal) {
    return is_sigsys(signal) || (signal > 0 && signal == rtw_hang_signal) || rtw_crash_signal(signal);
}

static struct rtw_action believed(int signal) {
    struct rtw_action action = {0};
    if (is_sigsys(signal)) action = program_sigsys;
    else if (rtw_crash_signal(signal)) rtw_crash_believed(signal, &action);
    return action;
}

// Makes of an action that the program installs the one that the kernel is to get. Not for SIGSYS.
static void adapt(int signal, struct rtw_action *action) {
    if (signal > 0 && signal == rtw_hang_signal) {
        rtw_hang_signal = 0;
        rtw_say("the program took the signal that the watchdog asks hanging threads with: their stacks are those of "
                "the call they are in");
    }
    if (rtw_options.syscalls) action->mask &= ~RTW_BIT(SIGSYS);
    if (action->handler > (void *)1) {
        rtw_count_handler(signal, action->flags);
        if (rtw_crash_signal(signal)) atomic_fetch_add(&rtw_handlers, 1);
    }
    if (rtw_crash_signal(signal)) rtw_crash_adapt(signal, action);
}

long rtw_install(long signal, const void *action, void *old, long size) {
    struct rtw_action next, before = {0};
    if (size != 8) return -EINVAL;
    if (action && !rtw_copy_in(&next, action, sizeof next / 8)) return -EFAULT;
    if (signal < 1 || signal > 64) return -EINVAL;
    bool other = stands_in((int)signal);
    if (other) before = believed((int)signal);
    // The kernel finds out whether `old` can be written.
    long result = rtw_system4(SYS_rt_sigaction, signal, NULL, old, 8);
    if (result == 0 && action && is_sigsys((int)signal)) {
        rtw_program_sigsys(&next);
    } else if (result == 0 && action) {
        adapt((int)signal, &next);
        result = rtw_system4(SYS_rt_sigaction, signal, &next, old, 8);
    }
    if (result == 0 && other && old) *(struct rtw_action *)old = before;
    return result;
}

static void to_kernel(const struct sigaction *from, struct rtw_action *to) {
    to->handler = (void *)from->sa_handler;
    to->flags = (uint64_t)(uint32_t)from->sa_flags;
    to->restorer = (void *)from->sa_restorer;
    to->mask = *(const uint64_t *)&from->sa_mask;
}

static void from_kernel(const struct rtw_action *from, struct sigaction *to) {
    *to = (struct sigaction){0};
    to->sa_handler = (sighandler_t)from->handler;
    to->sa_flags = (int)from->flags;
    *(uint64_t *)&to->sa_mask = from->mask;
}

EXPORTED int sigaction(int signal, const struct sigaction *restrict action, struct sigaction *restrict old) {
    if (!rtw_watching()) return REAL(sigaction)(signal, action, old);
    struct rtw_action next = {0}, before = {0};
    bool other = stands_in(signal);
    int result = 0;
    if (other) before = believed(signal);
    if (action) to_kernel(action, &next);
    if (action && is_sigsys(signal)) {
        rtw_program_sigsys(&next);
    } else if (action) {
        struct sigaction passed;
        adapt(signal, &next);
        from_kernel(&next, &passed);
        result = REAL(sigaction)(signal, &passed, other ? NULL : old);
    } else if (!other) {
        result = REAL(sigaction)(signal, NULL, old);
    }
    if (other && old && result == 0) from_kernel(&before, old);
    return result;
}

EXPORTED int __sigaction(int signal, const struct sigaction *restrict action, struct sigaction *restrict old) {
    return sigaction(signal, action, old);
}

static sighandler_t set_handler(int signal, sighandler_t handler, int flags, sighandler_t (*real)(int, sighandler_t)) {
    if (!rtw_watching() || !stands_in(signal)) {
        if ((void *)handler > (void *)1 && rtw_watching()) rtw_count_handler(signal, 0);
        return real(signal, handler);
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old = {0};
    return sigaction(signal, &action, &old) ? SIG_ERR : old.sa_handler;
}

EXPORTED sighandler_t signal(int number, sighandler_t handler) {
    return set_handler(number, handler, SA_RESTART, REAL(signal));
}
EXPORTED sighandler_t bsd_signal(int number, sighandler_t handler) { return signal(number, handler); }
EXPORTED sighandler_t ssignal(int number, sighandler_t handler) { return signal(number, handler); }
EXPORTED sighandler_t sysv_signal(int number, sighandler_t handler) {
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER, REAL(sysv_signal));
}
EXPORTED sighandler_t __sysv_signal(int number, sighandler_t handler) { return sysv_signal(number, handler); }

// Also blocks and opens the signal. SIGSYS stays open.
EXPORTED sighandler_t sigset(int number, sighandler_t handler) {
    if (!rtw_watching() || !stands_in(number))
        return set_handler(number, handler, 0, (sighandler_t (*)(int, sighandler_t))rtw_find("sigset", true));
    uint64_t one = RTW_BIT(number), before = 0;
    bool holds = handler == SIG_HOLD;
    sighandler_t was = (sighandler_t)believed(number).handler;
    if (!holds) was = set_handler(number, handler, 0, NULL);
    if (!is_sigsys(number)) rtw_system4(SYS_rt_sigprocmask, holds ? SIG_BLOCK : SIG_UNBLOCK, &one, &before, 8);
    return before & one && was != SIG_ERR ? SIG_HOLD : was;
}

EXPORTED int sigignore(int number) { return set_handler(number, SIG_IGN, 0, REAL(signal)) == SIG_ERR ? -1 : 0; }

static const sigset_t *opened(int how, const sigset_t *set, sigset_t *copy) {
    if (!set || how == SIG_UNBLOCK || !rtw_options.syscalls || !rtw_watching()) return set;
    *copy = *set;
    sigdelset(copy, SIGSYS);
    return copy;
}

EXPORTED int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    sigset_t copy;
    return REAL(sigprocmask)(how, opened(how, set, &copy), old);
}

EXPORTED int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    sigset_t copy;
    return REAL(pthread_sigmask)(how, opened(how, set, &copy), old);
}
