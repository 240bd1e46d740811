// Syscall User Dispatch: each system call of an audio thread, while its selector says so, becomes a SIGSYS, whatever
// code makes it. The handler records it and lets it happen elsewhere: in a stub of this library, whose text the kernel
// lets pass. So the call runs outside the handler, with the thread's own signal mask and stack pointer: it can block,
// be interrupted and restarted, return twice (vfork) or on another stack (clone), or not at all (rt_sigreturn).

#include "preload.h"
#include "system.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#ifndef SYS_USER_DISPATCH
#define SYS_USER_DISPATCH 2
#endif

#if defined(__x86_64__)

enum { STUBS = 256 };
extern const uint8_t rtw_stubs[] __attribute__((visibility("hidden")));       // 16 bytes each
extern void rtw_restore(void) __attribute__((visibility("hidden")));
_Atomic uint64_t rtw_back[STUBS] __attribute__((visibility("hidden")));       // the address to which each stub returns

__asm__(".pushsection .text, \"ax\", @progbits\n"
        ".hidden rtw_back\n"
        "  .p2align 4\n"
        "rtw_stubs:\n"
        "  .set stub, 0\n"
        "  .rept 256\n"
        "  syscall\n"
        "  nop\n"                                 // the kernel looks at the address behind the syscall
        "  jmp *(rtw_back + 8 * stub)(%rip)\n"
        "  .p2align 4\n"
        "  .set stub, stub + 1\n"
        "  .endr\n"
        ".globl rtw_restore\n"
        ".hidden rtw_restore\n"
        "rtw_restore:\n"
        "  mov $15, %rax\n"
        "  syscall\n"
        "  nop\n"
        ".popsection\n");

// The stub that returns to `place`; each place where a program makes system calls has its own.
static const uint8_t *stub_for(uint64_t place) {
    uint64_t start = place * 0x9e3779b97f4a7c15ull >> 56;
    for (uint64_t i = 0; i < STUBS; i++) {
        uint64_t index = (start + i) % STUBS, there = atomic_load_explicit(&rtw_back[index], memory_order_relaxed);
        if (there == place) return rtw_stubs + 16 * index;
        if (there == 0 && (atomic_compare_exchange_strong(&rtw_back[index], &there, place) || there == place))
            return rtw_stubs + 16 * index;
    }
    return NULL;
}

// rt_sigprocmask, as it would be without the handler around it; SIGSYS stays open.
static long change_mask(greg_t *registers, ucontext_t *context) {
    uint64_t *mask = (uint64_t *)&context->uc_sigmask, before = *mask, set = 0;
    if (registers[REG_R10] != 8) return -EINVAL;
    if (registers[REG_RSI]) {
        // The kernel looks whether the words can be read and written; all signals are blocked here anyway.
        long error = rtw_system4(SYS_rt_sigprocmask, SIG_BLOCK, registers[REG_RSI], NULL, 8);
        if (error) return error;
        set = *(const uint64_t *)registers[REG_RSI];
        switch (registers[REG_RDI]) {
        case SIG_BLOCK: *mask |= set; break;
        case SIG_UNBLOCK: *mask &= ~set; break;
        case SIG_SETMASK: *mask = set; break;
        default: return -EINVAL;
        }
        *mask &= ~(1ull << (SIGSYS - 1) | 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1));
    }
    if (registers[REG_RDX]) {
        long error = rtw_system4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, registers[REG_RDX], 8);
        if (error) return error;
        *(uint64_t *)registers[REG_RDX] = before;
    }
    return 0;
}

static uint8_t tier_of(long number, const greg_t *registers) {
    if (number != SYS_futex) return RTWATCH_BLOCKS;
    switch (registers[REG_RSI] & 127) {
    case 1: case 3: case 4: case 5: case 7: case 10: return RTWATCH_MAY_BLOCK;   // the waking ones
    default: return RTWATCH_BLOCKS;
    }
}

static void report(struct rtw_self *self, long number, const greg_t *registers) {
    if (!(self->mode & MODE_CYCLE) || !*rtw_alive) return;
    if (number == SYS_rt_sigreturn || number == SYS_restart_syscall) return;
    // vfork takes its return address off the stack before it enters the kernel.
    if (number == SYS_vfork && self->vforked) return;
    if (self->vforked && rtw_vforked_child(self)) return;
    struct rtw_event event = {
        .kind = RTWATCH_SYSCALL, .tier = tier_of(number, registers), .argument = (uint64_t)number,
        .pc = (uint64_t)registers[REG_RIP], .cfa = (uint64_t)registers[REG_RSP], .rbp = (uint64_t)registers[REG_RBP],
    };
    if (rtw_folded(self, event.tier, event.pc, (uint64_t *)(event.cfa - 8), event.rbp)) return;
    rtw_record(self, &event);
    struct rtw_watched *watched = self->watched;
    atomic_store_explicit(&watched->call_cfa, event.cfa, memory_order_relaxed);
    atomic_store_explicit(&watched->call_rbp, event.rbp, memory_order_relaxed);
    atomic_store_explicit(&watched->call_symbol, 0, memory_order_relaxed);
    atomic_store_explicit(&watched->call_pc, event.pc, memory_order_release);
}

static void trapped(int signal, siginfo_t *info, void *pointer) {
    struct rtw_self *self = &rtw_self;
    ucontext_t *context = pointer;
    greg_t *registers = context->uc_mcontext.gregs;
    // While our selector allows, it is not ours either: the program uses Syscall User Dispatch itself.
    if (info->si_code != SYS_USER_DISPATCH || !self->dispatch || self->selector != SELECTOR_BLOCK) {
        rtw_foreign_sigsys(signal, info, context);
        return;
    }
    long number = info->si_syscall;
    report(self, number, registers);
    if (number == SYS_rt_sigprocmask) {
        registers[REG_RAX] = change_mask(registers, context);
        return;
    }
    if (number == SYS_rt_sigaction) {
        registers[REG_RAX] = rtw_install(registers[REG_RDI], (const void *)registers[REG_RSI],
                                         (void *)registers[REG_RDX], registers[REG_R10]);
        return;
    }
    rtw_open_call(self, number, registers);
    const uint8_t *stub = stub_for((uint64_t)registers[REG_RIP]);
    registers[REG_RAX] = number;
    if (stub) {
        registers[REG_RIP] = (greg_t)(uintptr_t)stub;
    } else {   // more places than stubs: the rest of this cycle goes untrapped
        rtw_say("more than 256 places make system calls in cycles: some cycles were seen in part only");
        self->selector = SELECTOR_ALLOW;
        registers[REG_RIP] -= 2;
    }
}

uint64_t rtw_stub_origin(uint64_t pc) {
    uint64_t first = (uint64_t)(uintptr_t)rtw_stubs;
    if (pc < first || pc >= first + 16 * STUBS) return 0;
    return atomic_load_explicit(&rtw_back[(pc - first) / 16], memory_order_relaxed);
}

static _Atomic int installed;   // 2 done, 3 not possible
static _Atomic uint32_t installing;

static bool ours(void) {
    struct rtw_action action = {0};
    rtw_system4(SYS_rt_sigaction, SIGSYS, NULL, &action, 8);
    return action.handler == (void *)trapped;
}

static bool install(void) {
    if (!atomic_load(&installed) && rtw_lock(&installing)) {
        struct rtw_action action = {(void *)trapped, SA_SIGINFO | RTW_RESTORER, (void *)rtw_restore, ~0ull}, old = {0};
        if (!atomic_load(&installed)) {
            bool done = rtw_system4(SYS_rt_sigaction, SIGSYS, &action, &old, 8) == 0;
            if (done && old.handler && old.handler != action.handler) rtw_program_sigsys(&old);
            rtw_open_handlers(true);
            atomic_store(&installed, done ? 2 : 3);
        }
        rtw_unlock(&installing);
    }
    return atomic_load(&installed) == 2;
}

void rtw_forget_dispatch(void) { atomic_store(&installing, 0); }

void rtw_dispatch_on(struct rtw_self *self) {
    if (!rtw_text_end || !install()) return;
    self->selector = SELECTOR_ALLOW;
    long error = rtw_system5(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, 1, rtw_text_start, rtw_text_end - rtw_text_start,
                             &self->selector);
    self->dispatch = error == 0;
    if (error) rtw_say("this kernel has no Syscall User Dispatch (5.11 and later do): system calls that no intercepted "
                       "function makes are not seen");
}

void rtw_dispatch_off(struct rtw_self *self) {
    if (!self->dispatch) return;
    self->selector = SELECTOR_ALLOW;
    self->dispatch = 0;
    rtw_system5(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0);
}

// From the monitor: has the program put a handler of its own in place, past sigaction()? Then it goes behind ours, as
// it would have by sigaction(), and the report says so.
void rtw_dispatch_check(void) {
    if (atomic_load(&installed) != 2) return;
    rtw_open_handlers(false);
    if (ours()) return;
    rtw_say("the program installed its own SIGSYS handler by a system call: until the watchdog noticed, traps "
            "went to it");
    struct rtw_action action = {(void *)trapped, SA_SIGINFO | RTW_RESTORER, (void *)rtw_restore, ~0ull}, old = {0};
    rtw_system4(SYS_rt_sigaction, SIGSYS, &action, &old, 8);
    rtw_program_sigsys(&old);
}

#else

void rtw_dispatch_on(struct rtw_self *self) { self->dispatch = 0; }
void rtw_dispatch_off(struct rtw_self *self) { self->dispatch = 0; }
void rtw_dispatch_check(void) {}
void rtw_forget_dispatch(void) {}
uint64_t rtw_stub_origin(uint64_t pc) { (void)pc; return 0; }

#endif
