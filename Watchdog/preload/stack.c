// Walking a stack: by the call frame information where there is some (unwind.c keeps the rules of each place), by frame
// pointers elsewhere; never outside the thread's own stack.
//
// Of a deep stack the middle is left out: the innermost frames tell what was called, the outermost whose doing it is.

#include "preload.h"

_Atomic uint64_t rtw_restorer;

struct rtw_window rtw_stack_window(const struct rtw_self *self, uint64_t at) {
    struct rtw_window window = {at, self->stack_high, 0};
    // Another stack (a signal's, a coroutine's): what is certain to be there is the rest of this page.
    if (at < self->stack_low || at >= self->stack_high) window.high = (at | 4095) + 1;
    return window;
}

static inline bool readable(const struct rtw_window *window, uint64_t address) {
    return address >= window->low && address + 8 <= window->high && (address & 7) == 0;
}

static inline uint64_t read_at(const struct rtw_window *window, uint64_t address) {
    return *(const uint64_t *)(address + (uint64_t)window->bias);
}

struct position { uint64_t pc, cfa, rbp; bool exact, signal; };   // signal: this step left a handler

// From `position` (a place in a function, and the CFA of the frame below it: its own stack pointer) to its caller.
static bool step(struct position *at, const struct rtw_window *window, uint64_t *signal_at) {
    at->signal = false;
    uint64_t origin = at->exact ? rtw_stub_origin(at->pc) : 0;
    if (origin) {
        at->pc = origin;
        at->exact = false;
        return true;
    }
    struct rtw_rule rule = rtw_rule_at(at->exact ? at->pc : at->pc - 1);
    if (unlikely(rule.base == BASE_NONE && rule.flags == 0))
        rule = rtw_guess_rule(at->exact ? at->pc : at->pc - 1, at->cfa, at->rbp, window);
#if defined(__x86_64__)
    if (rule.flags & RULE_SIGNAL || at->pc == atomic_load_explicit(&rtw_restorer, memory_order_relaxed)) {
        // The stack pointer is at a struct ucontext; gregs start 40 bytes in: r8…r15 rdi rsi rbp rbx rdx rax rcx rsp
        // rip.
        uint64_t registers = at->cfa + 40;
        if (!readable(window, registers + 8 * 16)) return false;
        if (signal_at && !*signal_at) *signal_at = at->cfa;
        at->rbp = read_at(window, registers + 8 * 10);
        at->pc = read_at(window, registers + 8 * 16);
        at->cfa = read_at(window, registers + 8 * 15);
        at->exact = at->signal = true;
        return at->pc != 0;
    }
#else
    (void)signal_at;
#endif
    if (rule.flags & RULE_END) return false;
    uint64_t cfa = rule.base == BASE_RSP ? at->cfa + (uint64_t)(int64_t)rule.cfa
                 : rule.base == BASE_RBP ? at->rbp + (uint64_t)(int64_t)rule.cfa : 0;
    if (cfa > at->cfa && readable(window, cfa + (uint64_t)(int64_t)rule.ra)) {
        uint64_t pc = read_at(window, cfa + (uint64_t)(int64_t)rule.ra);
        if (rule.flags & RULE_RBP_SAVED) {
            if (!readable(window, cfa + (uint64_t)(int64_t)rule.rbp)) return false;
            at->rbp = read_at(window, cfa + (uint64_t)(int64_t)rule.rbp);
        }
        at->pc = pc;
        at->cfa = cfa;
    } else if (at->rbp >= at->cfa && readable(window, at->rbp) && readable(window, at->rbp + 8)) {
        uint64_t frame = at->rbp;
        at->pc = read_at(window, frame + 8);
        at->rbp = read_at(window, frame);
        at->cfa = frame + 16;
    } else {
        return false;
    }
    at->exact = false;
    return at->pc > 4096;
}

// A ring of frames, from the oldest on.
static void straighten(uint64_t *ring, uint32_t count, uint32_t oldest) {
    uint64_t copy[RTWATCH_STACK_DEPTH];
    for (uint32_t i = 0; i < count; i++) copy[i] = ring[(oldest + i) % count];
    for (uint32_t i = 0; i < count; i++) ring[i] = copy[i];
}

// `pc` is the first frame, `cfa` the stack pointer behind it. Frames of this library are left out. `signal_at`: where
// the first signal frame is, if there is one. `left_out`: how many frames lay between the innermost and the outermost.
uint32_t rtw_walk(uint64_t pc, uint64_t cfa, uint64_t rbp, bool exact, struct rtw_window window,
                  uint64_t frames[RTWATCH_STACK_DEPTH], uint32_t *left_out, uint64_t *signal_at) {
    enum { STEPS = 512, OUTER = RTWATCH_STACK_DEPTH - RTWATCH_STACK_INNER };
    struct position at = {pc, cfa, rbp, exact, false};
    uint32_t depth = 0;
    for (int steps = 0; steps < STEPS; steps++) {
        bool shown = at.pc < rtw_text_start || at.pc >= rtw_text_end;
        if (shown) {
            uint32_t place = depth < RTWATCH_STACK_DEPTH ? depth
                           : RTWATCH_STACK_INNER + (depth - RTWATCH_STACK_INNER) % OUTER;
            frames[place] = at.pc + (at.exact ? 1 : 0);
            depth++;
        }
        // Most frames: the frame pointer alone says where the next is, so that the processor need not wait for the
        // rule.
        if (likely(!at.exact && rtw_is_plain(at.pc - 1) && at.rbp >= at.cfa && at.rbp + 16 <= window.high &&
                   (at.rbp & 7) == 0)) {
            uint64_t frame = at.rbp;
            at.pc = read_at(&window, frame + 8);
            at.rbp = read_at(&window, frame);
            at.cfa = frame + 16;
            continue;
        }
        if (!step(&at, &window, signal_at)) break;
        if (at.signal && shown) depth--;   // that was libc's way out of the handler
        if (signal_at && *signal_at) break;
    }
    if (likely(depth <= RTWATCH_STACK_DEPTH)) return depth;
    straighten(frames + RTWATCH_STACK_INNER, OUTER, (depth - RTWATCH_STACK_INNER) % OUTER);
    if (left_out) *left_out = depth - RTWATCH_STACK_DEPTH;
    return RTWATCH_STACK_DEPTH;
}
