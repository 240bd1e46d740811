// A trap while SIGSYS is blocked kills the process. So no mask holds it while a cycle runs, and the program keeps the
// rest of each mask:
//   - what a thread blocked between cycles is opened as each begins: rtw_open_thread()
//   - the masks of handlers, as they are installed (signals.c); those that were installed unseen, by the monitor
//   - the masks with which a thread waits, in calls and in system calls
//   - what a cycle sets itself (dispatch.c), and what a handler puts into its frame

#include "preload.h"
#include "system.h"

#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#define SIGSYS_BIT RTW_BIT(SIGSYS)

// Copies what the kernel could read too. (It reads the mask, and then refuses what is to be done with it.)
bool rtw_copy_in(void *to, const void *from, size_t words) {
    const uint64_t *at = from;
    for (size_t i = 0; i < words; i++, at++) {
        if (rtw_system4(SYS_rt_sigprocmask, -1, at, NULL, 8) == -EFAULT || !at) return false;
        ((uint64_t *)to)[i] = *at;
    }
    return true;
}

void rtw_open_thread(void) {
    uint64_t mask = SIGSYS_BIT;
    rtw_system4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, 8);
}

// Points to a copy without SIGSYS where a mask with it was.
static bool open_at(uint64_t *pointer, uint64_t *copy) {
    if (!rtw_copy_in(copy, (const void *)(uintptr_t)*pointer, 1) || !(*copy & SIGSYS_BIT)) return false;
    *copy &= ~SIGSYS_BIT;
    *pointer = (uint64_t)(uintptr_t)copy;
    return true;
}

// The function then has to be called, not jumped to, because the copy is in the frame: in a register's place that carries
// no argument of a C function.
bool rtw_open_frame(uint8_t judge, struct rtw_frame *frame) {
    uint64_t *const places[] = {&frame->rdi, &frame->rcx, &frame->r8, &frame->r9};
    return open_at(places[judge - JUDGE_MASK_1], &frame->r10);
}

// All handlers whose mask holds SIGSYS, whoever installed them and when. `counts`: for the first time.
void rtw_open_handlers(bool counts) {
    for (int signal = 1; signal <= 64; signal++) {
        struct rtw_action action = {0}, old = {0};
        if (signal == SIGSYS || rtw_system4(SYS_rt_sigaction, signal, NULL, &action, 8) != 0) continue;
        if (action.handler <= (void *)1) continue;
        if (counts) rtw_count_handler(signal, action.flags);
        if (!(action.mask & SIGSYS_BIT)) continue;
        action.mask &= ~SIGSYS_BIT;
        rtw_system4(SYS_rt_sigaction, signal, &action, &old, 8);
        // The program has just installed another one: it stays.
        if (old.handler != action.handler) rtw_system4(SYS_rt_sigaction, signal, &old, NULL, 8);
    }
}

#if defined(__x86_64__)

enum { PAIR = 1, URING = 2 };
enum { URING_ARGUMENT = 8, URING_REGISTERED = 64 };

// System calls that wait with a mask: of which register's pointer, and whether it leads there through a structure.
static const struct { int16_t number; uint8_t place, through; } waits[] = {
    {SYS_rt_sigsuspend, REG_RDI, 0}, {SYS_ppoll, REG_R10, 0}, {SYS_pselect6, REG_R9, PAIR},
    {SYS_epoll_pwait, REG_R8, 0}, {SYS_epoll_pwait2, REG_R8, 0}, {SYS_io_pgetevents, REG_R9, PAIR},
    {SYS_io_uring_enter, REG_R8, URING},
};

// A trapped system call, before it happens. A handler of the program's may come in between and wait too: so there are
// several places for copies.
void rtw_open_call(struct rtw_self *self, long number, greg_t *registers) {
    if (number == SYS_rt_sigreturn) {
        uint64_t mask, *in_frame = (uint64_t *)&((ucontext_t *)registers[REG_RSP])->uc_sigmask;
        if (rtw_copy_in(&mask, in_frame, 1) && mask & SIGSYS_BIT) *in_frame = mask & ~SIGSYS_BIT;
        return;
    }
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (waits[i].number != number) continue;
        struct rtw_opened *opened = &self->opened[self->opened_count++ % RTW_OPENED];
        uint64_t *pointer = (uint64_t *)&registers[waits[i].place];
        uint8_t through = waits[i].through;
        if (through == URING) {
            if (registers[REG_R10] & URING_REGISTERED) return;
            through = registers[REG_R10] & URING_ARGUMENT ? URING : 0;
        }
        if (!through) {
            open_at(pointer, &opened->mask);
        } else if (rtw_copy_in(opened->structure, (const void *)(uintptr_t)*pointer, through == URING ? 3 : 2) &&
                   open_at(&opened->structure[0], &opened->mask)) {
            *pointer = (uint64_t)(uintptr_t)opened->structure;
        }
        return;
    }
}

#endif
