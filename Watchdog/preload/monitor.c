// A thread of the library's own, started with the first audio thread: it finds cycles that do not end, takes page
// faults and preemptions from the kernel's rings, sees new libraries and keeps the clock. It never waits for an audio
// thread.

#include "preload.h"
#include "system.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

// Nanoseconds: between two looks; what stands for a period where none is known (2 s as things are), and where the program
// says that there is no deadline (32 s: it renders offline); less than this is no hang, however short the period.
enum { PAUSE = 4000000, UNKNOWN = 62500000, NO_DEADLINE = 1000000000, SHORTEST = 100000000 };

static _Atomic int state;   // 0 none, 1 running, 2 to stop, 3 stopped

extern void rtw_restore(void) __attribute__((visibility("hidden")));

static void sleep_for(uint64_t nanoseconds) {
    struct timespec time = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    rtw_system4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

static void write_hang(struct rtw_watched *watched, uint64_t cycle, uint64_t took, uint16_t name, uint64_t pc,
                       uint64_t cfa, uint64_t rbp, bool exact) {
    struct rtwatch_channel *channel = rtw_channel;
    uint64_t number;
    if (cycle < rtw_options.skip) return;
    __atomic_fetch_add(&channel->counts[RTWATCH_BLOCKS], 1, __ATOMIC_RELAXED);
    struct rtwatch_record spare, *record = rtw_reserve(&spare, &number);
    record->cycle = cycle;
    record->duration = 0;
    record->argument = took;
    record->thread = watched->index;
    record->name = name;
    record->kind = RTWATCH_HANG;
    record->tier = RTWATCH_BLOCKS;
    record->foreign = atomic_load_explicit(&watched->foreign, memory_order_relaxed);
    record->left_out = record->depth = 0;
    struct rtw_window window = {cfa - 8, watched->stack_high, 0};
    if (pc && cfa - 8 < watched->stack_high)
        record->depth = rtw_walk(pc, cfa, rbp, exact, window, record->stack, &record->left_out, NULL);
    record->time = rtw_now();
    rtw_publish(record, &spare, number);
    rtw_halt(RTWATCH_BLOCKS);
}

#if defined(__x86_64__)

// On the thread that hangs.
static void asked(int signal, siginfo_t *info, void *pointer) {
    (void)signal;
    (void)info;
    struct rtw_self *self = &rtw_self;
    struct rtw_watched *watched = self->watched;
    const greg_t *registers = ((ucontext_t *)pointer)->uc_mcontext.gregs;
    if (!*rtw_alive || !watched) return;
    uint64_t asked_for = atomic_load(&watched->hung), start = atomic_load(&watched->start);
    if (!start || asked_for != atomic_load(&watched->cycle) + 1 || !atomic_exchange(&watched->asked, 0)) return;
    write_hang(watched, asked_for - 1, rtw_now() - start, 0, (uint64_t)registers[REG_RIP], (uint64_t)registers[REG_RSP],
               (uint64_t)registers[REG_RBP], true);
}

// Chooses a real-time signal that is not in use.
static void choose_signal(void) {
    for (int signal = SIGRTMAX - 3; signal > SIGRTMAX - 15; signal--) {
        struct rtw_action action = {0};
        if (rtw_system4(SYS_rt_sigaction, signal, NULL, &action, 8) != 0 || action.handler) continue;
        action = (struct rtw_action){(void *)asked, SA_SIGINFO | SA_RESTART | RTW_RESTORER, (void *)rtw_restore,
                                        ~RTW_BIT(SIGSYS)};
        if (rtw_system4(SYS_rt_sigaction, signal, &action, NULL, 8) == 0) {
            rtw_hang_signal = signal;
            return;
        }
    }
    rtw_say("the program handles all real-time signals: rtwatch sees no stack of a cycle that hangs outside of a call");
}

static void ask(struct rtw_watched *watched) {
    if (rtw_hang_signal) rtw_system3(SYS_tgkill, rtw_system0(SYS_getpid), watched->tid, rtw_hang_signal);
}

#else
static void choose_signal(void) {}
static void ask(struct rtw_watched *watched) { (void)watched; }
#endif

static uint64_t hexadecimal(const char **text) {
    uint64_t value = 0;
    while (**text == ' ') ++*text;
    if ((*text)[0] == '0' && (*text)[1] == 'x') *text += 2;
    for (;; ++*text) {
        char c = **text;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return value;
        value = value * 16 + (uint64_t)digit;
    }
}

// Is the thread blocked in the kernel? Then its stack pointer and place. (A signal would make its call end early.)
static bool blocked(int32_t tid, uint64_t *sp, uint64_t *pc) {
    char path[64] = "/proc/self/task/", text[256];
    size_t at = rtw_length(path), digits = 0;
    char number[12];
    for (uint32_t value = (uint32_t)tid; value || !digits; value /= 10) number[digits++] = (char)('0' + value % 10);
    while (digits) path[at++] = number[--digits];
    rtw_copy(path + at, "/syscall", sizeof path - at);
    long file = rtw_system4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return false;
    long length = rtw_system3(SYS_read, file, text, sizeof text - 1);
    rtw_system1(SYS_close, file);
    if (length <= 0 || text[0] == 'r') return false;
    text[length] = 0;
    const char *next = text;
    while (*next && *next != ' ') next++;
    int fields = text[0] == '-' ? 0 : 6;
    for (int i = 0; i < fields; i++) hexadecimal(&next);
    *sp = hexadecimal(&next);
    *pc = hexadecimal(&next);
    return *sp != 0;
}

// How long the thread has had a processor in the cycle that began at `start`, in nanoseconds, as far as it was looked at. A
// thread that other programs keep from a processor does not hang. Where the whole machine stood still, its time can count as
// the thread's: so one look adds half of the shortest hang at most.
static uint64_t time_worked(struct rtw_watched *watched, uint64_t start) {
    struct timespec time = {0};
    clockid_t clock = (clockid_t)(~(uint32_t)watched->tid << 3 | 6);   // the processor time of that thread: see clock_getcpuclockid(3)
    if (rtw_system2(SYS_clock_gettime, clock, &time) != 0) return ~0ull;
    uint64_t before = watched->processor_time;
    watched->processor_time = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
    if (watched->worked_start != start) {
        watched->worked_start = start;
        watched->worked = 0;
    } else {
        uint64_t more = watched->processor_time - before;
        watched->worked += more < SHORTEST / 2 ? more : SHORTEST / 2;
    }
    return watched->worked;
}

static void look_at(struct rtw_watched *watched, uint64_t now) {
    uint64_t start = atomic_load(&watched->start), cycle = atomic_load(&watched->cycle);
    uint64_t worked = start && rtw_options.hang ? time_worked(watched, start) : 0;
    uint64_t period = atomic_load(&watched->period), limit, begun;
    if (!period) period = rtw_channel->threads[watched->index].found_by == FOUND_BY_MARKS ? NO_DEADLINE : UNKNOWN;
    if (__builtin_mul_overflow(period, rtw_options.hang, &limit)) return;
    if (limit < SHORTEST) limit = SHORTEST;
    if (!start || !rtw_options.hang || atomic_load(&watched->permitted_since)) return;
    begun = start + atomic_load(&watched->permitted);
    if (now < begun || now - begun < limit) return;
    if (atomic_load(&watched->hung) == cycle + 1) {
        // Asked, but the thread has blocked the signal: say it without a stack.
        if (now - begun - limit > 200000000 && atomic_exchange(&watched->asked, 0))
            write_hang(watched, cycle, now - start, 0, 0, 0, 0, false);
        return;
    }
    uint64_t sp = 0, pc = 0, cfa = atomic_load(&watched->call_cfa), place = atomic_load(&watched->call_pc);
    bool waits = blocked(watched->tid, &sp, &pc);
    // Its first look at the cycle came a little after its begin.
    if (!waits && worked < limit - limit / 4) return;
    uint16_t name = (uint16_t)atomic_load(&watched->call_symbol);
    // A call that was called and not jumped to is known to run until it is taken back; else it must be above the stack
    // pointer, its return address in place.
    bool in_call = place && cfa && name && rtw_symbols[name - 1].how != HOW_JUMP;
    if (!in_call && waits && place && cfa >= sp && cfa - 8 < watched->stack_high)
        in_call = name ? *(const uint64_t *)(cfa - 8) == place : cfa == sp;
    if (atomic_load(&watched->start) != start) return;
    if (in_call) {
        atomic_store(&watched->hung, cycle + 1);
        write_hang(watched, cycle, now - start, name, place, cfa, atomic_load(&watched->call_rbp), false);
    } else if (waits) {
        atomic_store(&watched->hung, cycle + 1);
        write_hang(watched, cycle, now - start, 0, pc, sp, 0, true);
    } else {
        atomic_store(&watched->asked, 1);
        atomic_store(&watched->hung, cycle + 1);
        ask(watched);
    }
}

static void look(uint64_t round) {
    uint64_t now = rtw_now();
    rtw_channel->seen_alive = now;
    uint32_t count = atomic_load(&rtw_thread_number);
    for (uint32_t i = 0; i < count && i < RTW_WATCHED; i++) {
        struct rtw_watched *watched = &rtw_watched[i];
        if (!atomic_load(&watched->tid)) continue;
        if (!atomic_load(&watched->exited)) rtw_perf_open(watched);
        rtw_perf_drain(watched);
        if (atomic_load(&watched->exited)) {
            rtw_perf_close(watched);
            rtw_channel->threads[i].exited = 1;
            atomic_store(&watched->tid, 0);
            continue;
        }
        look_at(watched, now);
    }
    rtw_find_modules();   // It looks no further if the loader has loaded nothing since.
    if (round % 32 == 0) rtw_dispatch_check();
    if (round % (round < 64 ? 4 : 64) == 0) rtw_calibrate();
}

// Has the main thread left by pthread_exit(), and all others too? Then the process waits for this one alone.
static bool is_last(void) {
    char text[1024];
    long file = rtw_system4(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return false;
    long length = rtw_system3(SYS_read, file, text, sizeof text - 1);
    rtw_system1(SYS_close, file);
    long at = length;
    while (at > 0 && text[at - 1] != ')') at--;   // the name may hold anything
    if (at <= 0 || at + 1 >= length || text[at + 1] != 'Z') return false;
    // The number of threads is the 20th field, the state the 3rd.
    for (int field = 3; at < length && field < 20; at++) field += text[at + 1] == ' ';
    return at + 2 < length && text[at + 1] == '2' && text[at + 2] == ' ';
}

static void *monitor(void *unused) {
    (void)unused;
    rtw_system5(SYS_prctl, 15, "rtwatch", 0, 0, 0);
    rtw_walks_others_stacks();
    for (uint64_t round = 1; atomic_load(&state) == 1 && *rtw_alive; round++) {
        look(round);
        if (round % 32 == 0 && is_last()) break;
        sleep_for(PAUSE);
    }
    if (*rtw_alive) look(1);
    atomic_store(&state, 3);
    return NULL;
}

void rtw_monitor_start(void) {
    int none = 0;
    if (!atomic_compare_exchange_strong(&state, &none, 1)) return;
    choose_signal();
    rtw_crash_prepare();
    uint64_t all = ~0ull, before = 0;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    rtw_system4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    // Not at the audio thread's priority, which a new thread inherits.
    struct sched_param lowest = {0};
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &lowest);
    if (pthread_create(&thread, &attributes, monitor, NULL) != 0) {
        atomic_store(&state, 3);
        rtw_say("the watchdog got no thread of its own: it does not see hangs, page faults and preemptions");
    }
    rtw_system4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    pthread_attr_destroy(&attributes);
}

void rtw_monitor_stop(void) {
    int running = 1;
    if (!atomic_compare_exchange_strong(&state, &running, 2)) return;
    for (int i = 0; i < 500 && atomic_load(&state) != 3; i++) sleep_for(1000000);
}

void rtw_monitor_forget(void) { atomic_store(&state, 0); }
