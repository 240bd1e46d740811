// Declarations that the files of the preload library share. A program may call nothing of this; the exported functions
// are those of symbols.h, rtwatch.h, jack.c, alsa.c and signals.c.

#ifndef PRELOAD_H
#define PRELOAD_H

#include "../protocol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

// The intercepted functions, numbered as the trampolines are.
enum rtw_symbol {
#define SYMBOL(name, tier, family, how, judge) SYMBOL_##name,
#include "symbols.h"
#undef SYMBOL
    SYMBOL_COUNT
};
enum rtw_how { HOW_CALL, HOW_USER, HOW_JUMP, HOW_WAIT, HOW_LOOK = HOW_JUMP,
              HOW_SYSCALL = HOW_JUMP };
enum rtw_judge { JUDGE_ALWAYS, JUDGE_POINTER, JUDGE_PTHREAD_ONCE, JUDGE_SWIFT_ONCE, JUDGE_DISPATCH_ONCE, JUDGE_BLOCK,
                 JUDGE_CLOCK, JUDGE_MASK_1, JUDGE_MASK_4, JUDGE_MASK_5, JUDGE_MASK_6 };
struct rtw_symbol_entry { char name[54]; uint8_t tier, family, how, judge; };
extern const struct rtw_symbol_entry rtw_symbols[SYMBOL_COUNT];
extern void *rtw_real[SYMBOL_COUNT];
extern void *const rtw_trampolines[SYMBOL_COUNT];
extern uint8_t rtw_tiers[SYMBOL_COUNT];   // as in the table; 0 where switched off
enum { OWNER_UNKNOWN, OWNER_KNOWN, OWNER_OTHER };   // other: not libc's, and not judged
extern uint8_t rtw_owner[SYMBOL_COUNT];
extern uint8_t rtw_waits;                 // wait-functions are to be looked at on every thread

// The registers of a call as the trampoline saved them, and what rtw_leave() needs. (The trampoline knows the layout.)
struct rtw_frame {
    uint64_t start;               // time of the call; 0 when nothing is to be recorded at its end
    uint64_t *outer_slot;
    uint64_t record;              // as rtw_publish() says it, 0 if it was lost
    uint8_t outer_tier, outer_selector, inside, waiting;
    uint32_t number;              // a copy of `symbol`, whose place the trampoline uses for the function's address
    uint64_t cycle;
    uint64_t symbol, r10, r9, r8, rcx, rdx, rsi, rdi, rax;   // symbol: r11
    uint64_t rbp, ret;
};
_Static_assert(offsetof(struct rtw_frame, symbol) == 40 + 8 * 0 + 0, "the trampoline saves r11 here");

enum { RTW_PACES = 6 };       // places where a thread of thread=NAME waits
enum { WAIT_PACE = 1, WAIT_MEASURED = 2 };
enum { RTW_CALLED = 16 };     // different calls that a thread keeps for rtwatch_found()
enum { MODE_CYCLE = 1 };      // in a judged cycle
enum { SELECTOR_ALLOW = 0, SELECTOR_BLOCK = 1 };
enum { RTW_OPENED = 4 };      // masks of system calls that are under way: see masks.c

struct rtw_action { void *handler; uint64_t flags; void *restorer; uint64_t mask; };   // as the kernel has it
enum { RTW_RESTORER = 0x04000000 };
#define RTW_BIT(signal) (1ull << ((signal) - 1))

// One thread's own state, in the initial-exec model. `mode` stands first: the trampolines test it.
struct rtw_self {
    uint8_t mode;
    volatile uint8_t selector;    // the kernel reads it at each system call
    uint8_t inside;               // tier of the intercepted call that is running, 0 none
    uint8_t jump_tier;            // the tier of calls jumped to; valid while their return address is in place
    uint8_t dispatch;             // Syscall User Dispatch is on
    uint8_t registered, vforked, found_by, named, busy;   // busy: in the library's own dealings
    uint8_t crashing;             // the crash's signal that a handler of the program's runs for
    uint32_t depth, permits;
    const char *foreign;          // the name of the foreign code that it is in
    uint64_t *inside_slot;        // the place of the running call's return address
    uint64_t inside_return;
    uint64_t *jump_slot;
    uint64_t jump_return;
    uint64_t stack_high;          // end of this thread's stack
    uint64_t stack_low;
    struct rtw_watched *watched;
    uint64_t cycle, start, period;
    uint32_t violations;          // of this cycle
    uint64_t counts[4];           // of this thread
    struct rtw_called { int32_t what; uint32_t tier; uint64_t count; } called[RTW_CALLED];   // symbol or ~system call
    uint32_t called_count, latest;                          // latest: its place in called[]
    uint64_t pace_site, wait_start; uint32_t pace_waits;    // thread=NAME
    struct rtw_pace { uint64_t site, time, count; } paces[RTW_PACES];
    uint64_t faults, major_faults, switches;                // in cycles without perf events
    bool counting;
    uint64_t alsa_writes;
    struct rtw_opened { uint64_t mask, structure[3]; } opened[RTW_OPENED];
    uint32_t opened_count;
};
extern __thread struct rtw_self rtw_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The monitor thread's view of an audio thread.
struct rtw_watched {
    _Atomic int32_t tid;
    uint32_t index;               // in channel->threads
    _Atomic uint64_t start;       // of the running cycle, 0 between cycles
    _Atomic uint64_t cycle, period, hung;   // hung: number + 1 of the last cycle that was reported as hanging
    _Atomic uint64_t permitted_since, permitted;   // no hang meanwhile: 0 or a time; nanoseconds in this cycle
    _Atomic uint64_t call_pc, call_cfa, call_rbp;   // the call or system call that it is in, 0 none
    _Atomic uint32_t call_symbol;
    _Atomic uint32_t foreign;     // the foreign code that it is in: index into channel->foreign, 0 none
    _Atomic uint32_t exited, asked;
    uint64_t worked_start, worked, processor_time;   // monitor.c alone: see time_worked()
    uint64_t stack_high;
    _Atomic(struct rtw_perf *) opened;   // page faults and switches; by the monitor, so that no cycle waits for it
    struct rtw_perf *perf;        // the counters from the thread's next cycle on; null until then, or where it was refused
    uint64_t perf_since;          // the thread's own counters have what came before
    uint8_t perf_asked;
};
#define RTW_WATCHED RTWATCH_THREADS
extern struct rtw_watched rtw_watched[RTW_WATCHED];

struct rtw_options {
    uint8_t halt, stop, tier, syscalls, perf, jack, alsa, swift, follow;
    uint64_t skip, hang;
    char threads[8][16];
    int thread_count;
    char off[512];
};
extern struct rtw_options rtw_options;
extern struct rtwatch_channel *rtw_channel;   // never null: a page of zeros stands in while nothing is watched
extern uint32_t *rtw_alive;                   // 1 in the process that is watched, wiped to 0 in a forked child

// channel.c
void rtw_start(void);
void rtw_say(const char *sentence);           // to the user, through the channel; once each
bool rtw_watching(void);
void rtw_fill_channel(void);

// modules.c
void rtw_find_modules(void);
bool rtw_pause_finding(void);
void rtw_resume_finding(void);
extern bool rtw_forked;   // in a forked child, until it opens a library: then the loader takes its lock too
extern uint64_t rtw_text_start, rtw_text_end; // this library's own code
bool rtw_sanitizer(void);                     // refused, and said
void rtw_forget_code(void);                   // a library was unloaded
extern uint32_t rtw_permanent_modules;        // the number of the channel's modules at the start
void rtw_walks_others_stacks(void);           // the calling thread does: what it walks may have been unmapped since

// trampolines.S: calls function(a, b), which may change vector registers, where arguments of another call may be in them
#if defined(__x86_64__)
uint64_t rtw_apart(void *function, void *a, void *b);
#else
static inline uint64_t rtw_apart(void *function, void *a, void *b) {
    return ((uint64_t(*)(void *, void *))function)(a, b);
}
#endif
extern uint8_t rtw_has_xsave;

// resolve.c
void *rtw_resolve(uint32_t symbol);
void *rtw_find(const char *name, bool behind_us);
void rtw_resolve_all(void);
void *rtw_libc(void);                         // a handle for dlsym
bool rtw_program_defines(const char *name);

// clock.c
uint64_t rtw_now(void);
void rtw_calibrate(void);
uint64_t rtw_from_tsc(uint64_t tsc);

// cycle.c
void rtw_begin(const char *what, uint64_t period, uint32_t found_by);
void rtw_end(void);
void rtw_take_back(void);                     // the cycle that has just begun: it was none yet
void rtw_leave_thread(void);
void rtw_forget_threads(void);
void rtw_notice_exits(void);
extern _Atomic uint32_t rtw_thread_number;    // audio threads so far

// record.c
struct rtw_event { uint8_t kind, tier; uint16_t symbol; uint64_t argument, pc, cfa, rbp, time; bool exact; };
uint64_t rtw_record(struct rtw_self *self, struct rtw_event *event);
bool rtw_folded(struct rtw_self *self, uint8_t tier, uint64_t pc, uint64_t *slot, uint64_t rbp);
struct rtwatch_record *rtw_reserve(struct rtwatch_record *spare, uint64_t *number);
uint64_t rtw_publish(struct rtwatch_record *record, struct rtwatch_record *spare, uint64_t number);
void rtw_halt(uint8_t tier);
bool rtw_vforked_child(struct rtw_self *self);
void rtw_count_name(uint16_t symbol);

// judge.c
uint8_t rtw_judge(uint32_t symbol, const struct rtw_frame *frame);

// stack.c: a window of readable stack; `bias` is added to an address to read it (for copies)
struct rtw_window { uint64_t low, high; intptr_t bias; };
uint32_t rtw_walk(uint64_t pc, uint64_t cfa, uint64_t rbp, bool exact, struct rtw_window window,
                  uint64_t frames[RTWATCH_STACK_DEPTH], uint32_t *left_out, uint64_t *signal_at);
struct rtw_window rtw_stack_window(const struct rtw_self *self, uint64_t at);
extern _Atomic uint64_t rtw_restorer;         // the address of libc's signal restorer, once known

// unwind.c: one step by the call frame information; cfa_offset, rbp_offset, ra_offset
struct rtw_rule { uint8_t base; uint8_t flags; int32_t cfa; int16_t rbp, ra; };
enum { BASE_NONE, BASE_RSP, BASE_RBP, BASE_NOT_GUESSED };   // the last: as none, and no guess helps
enum { RULE_RBP_SAVED = 1, RULE_END = 2, RULE_SIGNAL = 4, RULE_PLAIN = 8 };   // plain: frame pointer, as all have it
struct rtw_rule rtw_rule_at(uint64_t pc);
void rtw_keep_rule(uint64_t pc, struct rtw_rule rule);
struct dl_find_object;
bool rtw_object_at(uint64_t pc, struct dl_find_object *object);
bool rtw_code_stays(uint64_t pc);             // for certain; on an audio thread all that is on its stack does

// guess.c
struct rtw_rule rtw_guess_rule(uint64_t pc, uint64_t cfa, uint64_t rbp, const struct rtw_window *window);
enum { RTW_KNOWN = 8192 };
struct rtw_known { _Atomic uint64_t pc, rule; };
extern struct rtw_known rtw_known[RTW_KNOWN];
static inline uint64_t rtw_known_index(uint64_t pc) { return (pc ^ pc >> 13) & (RTW_KNOWN - 1); }
static inline bool rtw_is_plain(uint64_t pc) {
    const struct rtw_known *known = &rtw_known[rtw_known_index(pc)];
    return atomic_load_explicit(&known->pc, memory_order_acquire) == pc &&
           atomic_load_explicit(&known->rule, memory_order_relaxed) & RULE_PLAIN;
}

// dispatch.c
void rtw_dispatch_on(struct rtw_self *self);
void rtw_dispatch_off(struct rtw_self *self);
void rtw_dispatch_prepare(void);
void rtw_dispatch_check(void);
uint64_t rtw_stub_origin(uint64_t pc);        // the place of a system call that now stands in a stub, else 0

// signals.c
void rtw_foreign_sigsys(int signal, void *info, void *context);
void rtw_program_sigsys(const struct rtw_action *action);
long rtw_install(long signal, const void *action, void *old, long size);   // rt_sigaction, as the program sees it
void rtw_count_handler(int signal, uint64_t flags);
extern _Atomic uint32_t rtw_handlers;         // the number of handlers that the program has installed
extern _Atomic uint32_t rtw_informed;         // of those that may change the mask to which they return

// masks.c
bool rtw_copy_in(void *to, const void *from, size_t words);   // false: it cannot be read
void rtw_open_thread(void);
void rtw_open_handlers(bool counts);
bool rtw_open_frame(uint8_t judge, struct rtw_frame *frame);
void rtw_open_call(struct rtw_self *self, long number, long long *registers);

// perf.c
void rtw_perf_open(struct rtw_watched *watched);
void rtw_perf_drain(struct rtw_watched *watched);
void rtw_perf_close(struct rtw_watched *watched);
void rtw_counters_begin(struct rtw_self *self);
void rtw_counters_end(struct rtw_self *self);

// monitor.c
void rtw_monitor_start(void);
void rtw_monitor_stop(void);
void rtw_monitor_forget(void);
extern int rtw_hang_signal;

// waits.c
uint8_t rtw_wait_begins(struct rtw_self *self, uint32_t symbol, struct rtw_frame *frame);
void rtw_wait_ended(uint32_t symbol, struct rtw_frame *frame, int64_t result);
bool rtw_alsa_ready(uint32_t symbol, const struct rtw_frame *frame);
uint64_t rtw_alsa_period(void);
extern uint64_t rtw_alsa_start, rtw_alsa_end;   // libasound
bool rtw_alsa_waits(uint32_t symbol, const struct rtw_frame *frame);

// fork.c
void rtw_process_prepare(void);

// crash.c
void rtw_crash_prepare(void);
bool rtw_crash_signal(int signal);            // ours is the handler in front of the program's, or where it has none
void rtw_crash_believed(int signal, struct rtw_action *action);
void rtw_crash_adapt(int signal, struct rtw_action *action);

// lock.c
bool rtw_lock(_Atomic uint32_t *lock);
bool rtw_try_lock(_Atomic uint32_t *lock);
void rtw_unlock(_Atomic uint32_t *lock);
// In a forked child: what another thread of the parent was in the middle of never ends here.
void rtw_forget_saying(void);
void rtw_forget_finding(void);
void rtw_forget_perf(void);
void rtw_forget_dispatch(void);

// Own copies: the library calls nothing of libc on an audio thread.
static inline size_t rtw_length(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
static inline bool rtw_equal(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}
static inline void rtw_copy(char *to, const char *from, size_t size) {
    size_t i = 0;
    for (; i + 1 < size && from[i]; i++) to[i] = from[i];
    to[i] = 0;
}

#endif
