// Signals. A program may handle SIGSYS itself, or block it: it keeps its handler (which gets every SIGSYS that is not
// the watchdog's own), but the watchdog's stays installed and SIGSYS stays unblocked while a process is watched. For
// all other signals the functions here pass everything on.

#include "preload.h"
#include "system.h"

#include <errno.h>
#include <signal.h>

_Atomic uint32_t rtw_handlers;
int rtw_hang_signal;

struct kernel_action { void *handler; uint64_t flags; void *restorer; uint64_t mask; };
static struct kernel_action program_sigsys;   // the action that the program believes to be installed

#define REAL(name) ({ \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))rtw_find(#name, true); \
    real; \
})

static void say_kept(void) {
    rtw_say("the program handles SIGSYS itself: its handler gets every SIGSYS but the watchdog's own, in the "
            "watchdog's handler and with all signals blocked");
}

long rtw_program_sigsys(const void *action, void *old) {
    struct kernel_action before = program_sigsys;
    if (action) {
        program_sigsys = *(const struct kernel_action *)action;
        if (program_sigsys.handler > (void *)1) say_kept();
    }
    if (old) *(struct kernel_action *)old = before;
    return 0;
}

void rtw_foreign_sigsys(int signal, void *info, void *context) {
    struct kernel_action action = program_sigsys;
    if (action.handler == (void *)SIG_IGN && ((siginfo_t *)info)->si_code <= 0) return;
    if (action.handler > (void *)1) {
        uint8_t selector = rtw_self.selector;
        rtw_self.selector = SELECTOR_ALLOW;   // a trap while SIGSYS is blocked kills
        ((void (*)(int, void *, void *))action.handler)(signal, info, context);
        rtw_self.selector = selector;
        return;
    }
    struct kernel_action none = {0};
    rtw_system4(SYS_rt_sigaction, signal, &none, NULL, 8);
    rtw_system3(SYS_tgkill, rtw_system0(SYS_getpid), rtw_system0(SYS_gettid), signal);
}

static void to_kernel(const struct sigaction *from, struct kernel_action *to) {
    to->handler = (void *)from->sa_handler;
    to->flags = (uint64_t)(uint32_t)from->sa_flags;
    to->mask = *(const uint64_t *)&from->sa_mask;
}

static void from_kernel(const struct kernel_action *from, struct sigaction *to) {
    *to = (struct sigaction){0};
    to->sa_handler = (sighandler_t)from->handler;
    to->sa_flags = (int)from->flags;
    *(uint64_t *)&to->sa_mask = from->mask;
}

EXPORTED int sigaction(int signal, const struct sigaction *restrict action, struct sigaction *restrict old) {
    if (!rtw_watching()) return REAL(sigaction)(signal, action, old);
    if (signal == SIGSYS && rtw_options.syscalls) {
        struct kernel_action next = {0}, before;
        if (action) to_kernel(action, &next);
        rtw_program_sigsys(action ? &next : NULL, &before);
        if (old) from_kernel(&before, old);
        return 0;
    }
    if (signal == rtw_hang_signal && signal) {
        if (!action) {
            if (old) *old = (struct sigaction){0};
            return 0;
        }
        rtw_hang_signal = 0;
        rtw_say("the program took the signal that the watchdog asks hanging threads with: their stacks are those of "
                "the call they are in");
        struct kernel_action none = {0};
        rtw_system4(SYS_rt_sigaction, signal, &none, NULL, 8);
    }
    if (rtw_crash_signal(signal)) {
        if (action) {
            rtw_crash_give_up(signal);
            if ((void *)action->sa_handler > (void *)1) atomic_fetch_add(&rtw_handlers, 1);
        }
        int result = action ? REAL(sigaction)(signal, action, NULL) : 0;
        if (old && result == 0) *old = (struct sigaction){0};
        return result;
    }
    if (!action) return REAL(sigaction)(signal, action, old);
    struct sigaction passed = *action;
    sigdelset(&passed.sa_mask, SIGSYS);
    if ((void *)action->sa_handler > (void *)1) atomic_fetch_add(&rtw_handlers, 1);
    return REAL(sigaction)(signal, &passed, old);
}

static sighandler_t set_handler(int signal, sighandler_t handler, sighandler_t (*real)(int, sighandler_t)) {
    if (!rtw_watching()) return real(signal, handler);
    if (signal == SIGSYS && rtw_options.syscalls) {
        struct kernel_action next = {(void *)handler, SA_RESTART, NULL, 0}, before;
        rtw_program_sigsys(&next, &before);
        return (sighandler_t)before.handler;
    }
    if (signal && signal == rtw_hang_signal) rtw_hang_signal = 0;
    if ((void *)handler > (void *)1) atomic_fetch_add(&rtw_handlers, 1);
    if (rtw_crash_signal(signal)) {
        rtw_crash_give_up(signal);
        return real(signal, handler) == SIG_ERR ? SIG_ERR : SIG_DFL;
    }
    return real(signal, handler);
}

EXPORTED sighandler_t signal(int number, sighandler_t handler) { return set_handler(number, handler, REAL(signal)); }
EXPORTED sighandler_t bsd_signal(int number, sighandler_t handler) {
    return set_handler(number, handler, REAL(signal));
}
EXPORTED sighandler_t sysv_signal(int number, sighandler_t handler) {
    return set_handler(number, handler, REAL(sysv_signal));
}
EXPORTED sighandler_t __sysv_signal(int number, sighandler_t handler) {
    return set_handler(number, handler, REAL(sysv_signal));
}

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
