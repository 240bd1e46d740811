// A program that dies of a fault leaves its stack in the channel, if it has no handler of its own for that signal. It
// then dies as it would have: the signal's default action is put back and the instruction runs again.

#include "preload.h"
#include "system.h"

#include <fcntl.h>
#include <signal.h>
#include <ucontext.h>

static _Atomic uint64_t installed;   // signals, a bit each

bool rtw_crash_signal(int signal) { return signal > 0 && signal < 64 && atomic_load(&installed) >> signal & 1; }
void rtw_crash_give_up(int signal) { atomic_fetch_and(&installed, ~(1ull << signal)); }

#if defined(__x86_64__)

struct kernel_action { void *handler; uint64_t flags; void *restorer; uint64_t mask; };
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

static void crashed(int signal, siginfo_t *info, void *pointer) {
    struct kernel_action none = {0};
    static _Atomic int once;
    if (rtw_watching() && !atomic_exchange(&once, 1))
        write_crash(signal, info, ((ucontext_t *)pointer)->uc_mcontext.gregs);
    rtw_system4(SYS_rt_sigaction, signal, &none, NULL, 8);
    // A signal that kill() or raise() sent does not come again by itself.
    if (info->si_code <= 0) rtw_system3(SYS_tgkill, rtw_system0(SYS_getpid), rtw_system0(SYS_gettid), signal);
}

void rtw_crash_prepare(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct kernel_action action = {0};
        if (rtw_system4(SYS_rt_sigaction, signals[i], NULL, &action, 8) != 0 || action.handler) continue;
        action = (struct kernel_action){(void *)crashed, SA_SIGINFO | SA_ONSTACK | 0x04000000, (void *)rtw_restore,
                                        ~(1ull << (SIGSYS - 1))};
        atomic_fetch_or(&installed, 1ull << signals[i]);
        if (rtw_system4(SYS_rt_sigaction, signals[i], &action, NULL, 8) != 0) rtw_crash_give_up(signals[i]);
    }
}

#else
void rtw_crash_prepare(void) {}
#endif
