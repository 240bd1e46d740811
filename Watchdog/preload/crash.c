// A program that dies of a fault leaves its stack in the channel. It then dies as it would have: the signal's default
// action is put back and the instruction runs again. A program with a handler of its own for that signal has it called,
// with the flags and the mask that it asked for: the command tells the crash only if the program died of that signal.

#include "preload.h"
#include "system.h"

#include <fcntl.h>
#include <signal.h>
#include <ucontext.h>

enum { LAST = SIGSEGV };
_Static_assert(SIGILL <= LAST && SIGABRT <= LAST && SIGBUS <= LAST && SIGFPE <= LAST, "they have their places");

static _Atomic uint32_t prepared;    // signals, a bit each
static struct rtw_action program[LAST + 1];   // what the program believes to be installed

bool rtw_crash_signal(int signal) { return signal > 0 && signal <= LAST && atomic_load(&prepared) >> signal & 1; }

void rtw_crash_believed(int signal, struct rtw_action *action) { *action = program[signal]; }

#if defined(__x86_64__)

extern void rtw_restore(void) __attribute__((visibility("hidden")));

// The mapping that `address` is in: of a thread that is no audio thread the stack's end is not known.
static struct rtw_window mapping_of(uint64_t address) {
    struct rtw_window window = {address, (address | 4095) + 1, 0};
    static char text[4096];
    long file = rtw_system4(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0), length;
    uint64_t low = 0, value = 0;
    int field = 0;
    if (file < 0) return window;
    while ((length = rtw_system3(SYS_read, file, text, sizeof text)) > 0)
        for (long i = 0; i < length; i++) {
            char c = text[i];
            int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
            if (c == '\n') {
                field = 0;
                value = 0;
            } else if (field < 2 && digit >= 0) {
                value = value * 16 + (uint64_t)digit;
            } else if (field == 0) {
                low = value;
                value = 0;
                field = 1;
            } else if (field == 1) {
                if (address >= low && address < value) window.high = value;
                field = 2;
            }
        }
    rtw_system1(SYS_close, file);
    return window;
}

static void write_crash(int signal, const siginfo_t *info, const greg_t *registers) {
    struct rtw_self *self = &rtw_self;
    struct rtwatch_channel *channel = rtw_channel;
    uint64_t number, pc = (uint64_t)registers[REG_RIP], sp = (uint64_t)registers[REG_RSP];
    struct rtwatch_record spare, *record = rtw_reserve(&spare, &number);
    bool audio = self->watched && self->registered;
    record->cycle = audio ? self->cycle : 0;
    record->duration = info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0;
    record->argument = (uint64_t)signal;
    record->thread = audio ? self->watched->index : RTWATCH_NO_THREAD;
    record->name = 0;
    record->kind = RTWATCH_CRASH;
    record->tier = RTWATCH_NOTE;
    record->foreign = audio ? atomic_load_explicit(&self->watched->foreign, memory_order_relaxed) : 0;
    record->handled = program[signal].handler > (void *)1;
    record->left_out = 0;
    struct rtw_window window = mapping_of(sp);
    bool exact = true;
    // A call to nowhere: the caller is all there is.
    struct rtwatch_module *module = channel->modules, *end = module + channel->module_count;
    while (module < end && (pc < module->start || pc >= module->end)) module++;
    if (module == end && sp % 8 == 0 && pc < 4096) {
        pc = *(const uint64_t *)sp;
        sp += 8;
        exact = false;
    }
    record->depth = rtw_walk(pc, sp, (uint64_t)registers[REG_RBP], exact, window, record->stack, &record->left_out, NULL);
    record->time = rtw_now();
    rtw_publish(record, &spare, number);
}

// What the handler does is the crash's doing, like that of a call that was reported.
__attribute__((noinline)) static void call_handler(struct rtw_self *self, const struct rtw_action *action, int signal, siginfo_t *info, void *pointer) {
    uint64_t *slot = (uint64_t *)__builtin_frame_address(0) + 1, *outer_slot = self->jump_slot, outer_return = self->jump_return;
    uint8_t outer_tier = self->jump_tier, outer = self->crashing;
    self->jump_slot = slot;
    self->jump_return = *slot;
    self->jump_tier = RTWATCH_BLOCKS;
    self->crashing = (uint8_t)signal;
    self->vforked = 1;
    ((void (*)(int, siginfo_t *, void *))action->handler)(signal, info, pointer);
    self->jump_slot = outer_slot;
    self->jump_return = outer_return;
    self->jump_tier = outer_tier;
    self->crashing = outer;
}

// Handlers run on stacks of any size, so a record is written on a stack of the library's own.
static void write_apart(int signal, const siginfo_t *info, const greg_t *registers) {
    static uint8_t stack[65536] __attribute__((aligned(64)));
    static _Atomic uint32_t writing;
    if (atomic_exchange(&writing, 1)) return;
    int number = signal;
    __asm__ volatile("mov %%rsp, %%rbx\n\tmov %3, %%rsp\n\tcall *%4\n\tmov %%rbx, %%rsp"
                     : "+D"(number), "+S"(info), "+d"(registers)
                     : "r"(stack + sizeof stack), "a"(write_crash)
                     : "rbx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
    atomic_store(&writing, 0);
}

static void crashed(int signal, siginfo_t *info, void *pointer) {
    // A program can live with faults that it handles: of so many it is looked where they are.
    enum { MOST_HANDLED = 32 };
    static _Atomic uint32_t written;
    struct rtw_self *self = &rtw_self;
    struct rtw_action theirs = program[signal], none = {0};
    bool watching = rtw_watching(), handled = theirs.handler > (void *)1;
    // Not a thread that has only borrowed the memory of this one.
    bool audio = watching && self->watched && self->watched->tid == rtw_system0(SYS_gettid);
    bool again = self->crashing == signal && info->si_code <= 0;   // its handler sends it once more
    if (watching && !again && (!handled || (audio && atomic_fetch_add(&written, 1) < MOST_HANDLED)))
        write_apart(signal, info, ((ucontext_t *)pointer)->uc_mcontext.gregs);
    if (handled) {
        if (theirs.flags & SA_RESETHAND) program[signal] = none;
        if (audio) call_handler(self, &theirs, signal, info, pointer);
        else ((void (*)(int, siginfo_t *, void *))theirs.handler)(signal, info, pointer);
        return;
    }
    rtw_system4(SYS_rt_sigaction, signal, &none, NULL, 8);
    // A signal that kill() or raise() sent does not come again by itself.
    if (info->si_code <= 0) rtw_system3(SYS_tgkill, rtw_system0(SYS_getpid), rtw_system0(SYS_gettid), signal);
}

void rtw_crash_adapt(int signal, struct rtw_action *action) {
    if (action->handler == (void *)crashed) return;   // by sigaction(), whose system call was trapped
    program[signal] = *action;
    if (action->handler == (void *)SIG_IGN) return;
    if (action->handler == (void *)SIG_DFL)
        *action = (struct rtw_action){.flags = SA_ONSTACK, .mask = ~RTW_BIT(SIGSYS)};
    action->handler = (void *)crashed;
    action->flags |= SA_SIGINFO;
    if (action->restorer) return;
    action->flags |= RTW_RESTORER;
    action->restorer = (void *)rtw_restore;
}

void rtw_crash_prepare(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct rtw_action action = {0};
        if (rtw_system4(SYS_rt_sigaction, signals[i], NULL, &action, 8) != 0) continue;
        if (rtw_options.syscalls) action.mask &= ~RTW_BIT(SIGSYS);
        rtw_crash_adapt(signals[i], &action);
        if (rtw_system4(SYS_rt_sigaction, signals[i], &action, NULL, 8) == 0) atomic_fetch_or(&prepared, 1u << signals[i]);
    }
}

#else
void rtw_crash_prepare(void) {}
void rtw_crash_adapt(int signal, struct rtw_action *action) { (void)signal, (void)action; }
#endif
