// The work on the audio thread when something is found: judge, fold, walk the stack, write a fixed record.

#include "preload.h"
#include "system.h"

static struct rtwatch_record *take_place(uint64_t most, uint64_t *number) {
    struct rtwatch_channel *channel = rtw_channel;
    uint64_t at = __atomic_load_n(&channel->written, __ATOMIC_RELAXED);
    *number = 0;
    do
        if (at - __atomic_load_n(&channel->read, __ATOMIC_ACQUIRE) >= most) return NULL;
    while (!__atomic_compare_exchange_n(&channel->written, &at, at + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    *number = at;
    return &channel->records[at % RTWATCH_RECORDS];
}

static uint64_t key_of(const struct rtwatch_record *record) {
    uint64_t hash = (uint64_t)record->thread << 32 | (uint64_t)record->name << 16 | record->kind << 8 | record->tier;
    for (uint32_t i = 0; i < record->depth; i++) {
        hash = (hash ^ record->stack[i]) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 29;
    }
    hash ^= (uint64_t)record->foreign * 0xD6E8FEB86659FD93ull;
    // Of a system call, its number.
    if (record->kind == RTWATCH_SYSCALL) hash = (hash ^ record->argument) * 0x9E3779B97F4A7C15ull;
    return (hash ^ hash >> 29) | 1ull << 63;   // never 0
}

// Notes leave half of all room to what blocks and may block. (A crash comes once.)
static bool is_note(const struct rtwatch_record *record) {
    return record->tier == RTWATCH_NOTE && record->kind != RTWATCH_CRASH;
}

static struct rtwatch_repeat *repeat_of(const struct rtwatch_record *record) {
    struct rtwatch_channel *channel = rtw_channel;
    uint64_t key = key_of(record);
    for (uint64_t i = 0; i < 64; i++) {
        struct rtwatch_repeat *repeat = &channel->repeats[(key + i) % RTWATCH_REPEATS];
        uint64_t there = __atomic_load_n(&repeat->key, __ATOMIC_RELAXED);
        if (there == key) return repeat;
        if (there) continue;
        uint64_t taken = __atomic_load_n(&channel->repeat_count, __ATOMIC_RELAXED);
        if (is_note(record) && taken >= RTWATCH_REPEATS / 2) return NULL;
        if (__atomic_compare_exchange_n(&repeat->key, &there, key, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&channel->repeat_count, 1, __ATOMIC_RELAXED);
            const uint64_t *from = (const uint64_t *)record;
            for (size_t j = 0; j < sizeof *record / 8; j++) ((uint64_t *)&repeat->record)[j] = from[j];
            __atomic_store_n(&repeat->ready, 1, __ATOMIC_RELEASE);
            return repeat;
        }
        if (there == key) return repeat;
    }
    return NULL;
}

#define REPEATED (1ull << 63)

// The record is not in the ring yet: it is counted with those that are alike, else it looks for a place there after all.
static uint64_t keep_pressed(struct rtwatch_record *record) {
    struct rtwatch_repeat *repeat = repeat_of(record);
    if (repeat) {
        __atomic_store_n(&repeat->last_cycle, record->cycle, __ATOMIC_RELAXED);
        __atomic_store_n(&repeat->last_time, record->time, __ATOMIC_RELAXED);
        __atomic_fetch_add(&repeat->count, 1, __ATOMIC_RELEASE);
        return REPEATED | (uint64_t)(repeat - rtw_channel->repeats);
    }
    uint64_t number;
    struct rtwatch_record *place = take_place(is_note(record) ? RTWATCH_RECORDS / 2 : RTWATCH_RECORDS, &number);
    if (!place) {
        __atomic_fetch_add(&rtw_channel->lost[record->tier], 1, __ATOMIC_RELAXED);
        return 0;
    }
    const uint64_t *from = (const uint64_t *)record;
    for (size_t i = 1; i < sizeof *record / 8; i++) ((uint64_t *)place)[i] = from[i];   // all but `sequence`
    __atomic_store_n(&place->sequence, number + 1, __ATOMIC_RELEASE);
    return number + 1;
}

// A place in the ring, or, where the command does not keep up, `spare`: rtw_publish() says then what becomes of it.
struct rtwatch_record *rtw_reserve(struct rtwatch_record *spare, uint64_t *number) {
    struct rtwatch_record *place = take_place(RTWATCH_PRESSED, number);
    return place ? place : spare;
}

// Returns the number by which rtw_leave() finds the record again, 0 if it was lost.
uint64_t rtw_publish(struct rtwatch_record *record, struct rtwatch_record *spare, uint64_t number) {
    if (unlikely(record == spare)) return keep_pressed(record);
    __atomic_store_n(&record->sequence, number + 1, __ATOMIC_RELEASE);
    return number + 1;
}

// The call has returned.
static void note_duration(uint64_t kept, uint64_t took) {
    if (kept & REPEATED) {
        struct rtwatch_repeat *repeat = &rtw_channel->repeats[kept & (RTWATCH_REPEATS - 1)];
        __atomic_fetch_add(&repeat->total, took, __ATOMIC_RELAXED);
        if (took > __atomic_load_n(&repeat->longest, __ATOMIC_RELAXED))
            __atomic_store_n(&repeat->longest, took, __ATOMIC_RELAXED);
        __atomic_fetch_add(&repeat->measured, 1, __ATOMIC_RELEASE);
        return;
    }
    struct rtwatch_record *record = &rtw_channel->records[(kept - 1) % RTWATCH_RECORDS];
    if (__atomic_load_n(&record->sequence, __ATOMIC_RELAXED) == kept)
        __atomic_store_n(&record->duration, took, __ATOMIC_RELAXED);
}

void rtw_count_name(uint16_t name) {
    if (name) __atomic_fetch_add(&rtw_channel->names[name].count, 1, __ATOMIC_RELAXED);
}

void rtw_halt(uint8_t tier) {
    if (tier <= rtw_options.halt) {
        __atomic_store_n(&rtw_channel->state, 3, __ATOMIC_RELEASE);
        rtw_system1(SYS_exit_group, RTWATCH_HALTED);
    }
}

static void stop_here(uint8_t tier) {
    rtw_halt(tier);
    if (tier <= rtw_options.stop) {
#if defined(__x86_64__)
        __asm__ volatile("int3");
#else
        __builtin_trap();
#endif
    }
}

// For the thread's own questions. The list is short, and the latest call the likeliest; where it is full, the oldest
// place is taken.
static void keep_called(struct rtw_self *self, uint8_t tier, int32_t what) {
    struct rtw_called *called = &self->called[self->latest];
    uint32_t kept = self->called_count < RTW_CALLED ? self->called_count : RTW_CALLED;
    if (!kept || called->what != what || called->tier != tier) {
        uint32_t i = 0;
        while (i < kept && (self->called[i].what != what || self->called[i].tier != tier)) i++;
        if (i == kept) {
            i = self->called_count++ % RTW_CALLED;
            self->called[i] = (struct rtw_called){what, tier, 0};
        }
        self->latest = i;
        called = &self->called[i];
    }
    called->count++;
}

// Returns the same number as rtw_publish(). The time is taken last, so that a call's duration does not include this
// work.
uint64_t rtw_record(struct rtw_self *self, struct rtw_event *event) {
    struct rtwatch_channel *channel = rtw_channel;
    if (self->cycle < rtw_options.skip) {
        __atomic_fetch_add(&channel->skipped, 1, __ATOMIC_RELAXED);
        return 0;
    }
    uint8_t tier = event->tier;
    self->counts[tier]++;
    self->violations++;
    if (tier < RTWATCH_NOTE && event->kind <= RTWATCH_SYSCALL)
        keep_called(self, tier, event->kind == RTWATCH_SYSCALL ? (int32_t)~(uint32_t)event->argument : event->symbol);
    __atomic_fetch_add(&channel->counts[tier], 1, __ATOMIC_RELAXED);
    rtw_count_name(event->symbol);
    if (tier > rtw_options.tier && event->kind <= RTWATCH_SYSCALL) return 0;
    if (event->kind == RTWATCH_DEADLINE) {
        stop_here(tier);
        return 0;
    }
    uint64_t number;
    struct rtwatch_record spare, *record = rtw_reserve(&spare, &number);
    record->cycle = self->cycle;
    record->duration = 0;
    record->argument = event->argument;
    record->thread = self->watched->index;
    record->name = event->symbol;
    record->kind = event->kind;
    record->tier = tier;
    record->foreign = atomic_load_explicit(&self->watched->foreign, memory_order_relaxed);
    record->handled = record->left_out = 0;
    record->depth = 0;
    if (event->pc)
        record->depth = rtw_walk(event->pc, event->cfa, event->rbp, event->exact,
                                 rtw_stack_window(self, event->cfa - 8), record->stack, &record->left_out, NULL);
    record->time = event->time = rtw_now();
    uint64_t kept = rtw_publish(record, &spare, number);
    if (unlikely(record == &spare)) event->time = rtw_now();
    stop_here(tier);
    return kept;
}

// Is there a signal handler's frame between here and `outer`? Then what it does is its own doing.
static bool signal_between(struct rtw_self *self, uint64_t pc, uint64_t *slot, uint64_t rbp, const uint64_t *outer) {
    if (!atomic_load_explicit(&rtw_handlers, memory_order_relaxed)) return false;
    uint64_t frames[RTWATCH_STACK_DEPTH], at = 0;
    rtw_walk(pc, (uint64_t)(uintptr_t)(slot + 1), rtw_self.watched ? rbp : 0, false,
             rtw_stack_window(self, (uint64_t)(uintptr_t)slot), frames, NULL, &at);
    return at && at < (uint64_t)(uintptr_t)outer;
}

// Does this belong to an intercepted call that is still running, and was reported? (Not if it is worse than that.)
bool rtw_folded(struct rtw_self *self, uint8_t tier, uint64_t pc, uint64_t *slot, uint64_t rbp) {
    if (self->inside) {
        // Was it left by longjmp, an exception or a cancellation?
        if (slot >= self->inside_slot || *self->inside_slot != self->inside_return) {
            self->inside = 0;
            if (self->dispatch && (self->mode & MODE_CYCLE)) self->selector = SELECTOR_BLOCK;
        } else if (tier >= self->inside && !signal_between(self, pc, slot, rbp, self->inside_slot)) {
            return true;
        }
    }
    if (self->jump_tier) {
        if (slot >= self->jump_slot || *self->jump_slot != self->jump_return) self->jump_tier = 0;
        else if (tier >= self->jump_tier && !signal_between(self, pc, slot, rbp, self->jump_slot)) return true;
    }
    return false;
}

// A vforked child borrows the thread's memory, this state included; what it does is not the audio thread's doing. Nor is
// that of the threads that a crash handler makes without memory of their own.
bool rtw_vforked_child(struct rtw_self *self) {
    bool child = rtw_system0(SYS_gettid) != self->watched->tid;
    if (!child && !self->crashing) self->vforked = 0;
    return child;
}

static uint32_t hit(struct rtw_self *self, uint32_t symbol, struct rtw_frame *frame) {
    uint8_t how = rtw_symbols[symbol].how;
    frame->number = symbol;
    frame->inside = frame->waiting = 0;
    frame->record = 0;
    frame->start = 0;
    if (how == HOW_WAIT && rtw_waits && *rtw_alive)
        frame->waiting = rtw_wait_begins(self, symbol, frame);
    if (!(self->mode & MODE_CYCLE)) return frame->waiting;
    if (unlikely(!*rtw_alive)) {   // a forked child
        self->mode = 0;
        return 0;
    }
    if (unlikely(self->vforked) && rtw_vforked_child(self)) return 0;
    // libasound's own doing, and that of what it calls.
    if (self->found_by == FOUND_BY_ALSA && frame->ret >= rtw_alsa_start && frame->ret < rtw_alsa_end) {
        self->jump_slot = &frame->ret;
        self->jump_return = frame->ret;
        self->jump_tier = RTWATCH_BLOCKS;
        return frame->waiting;
    }
    uint8_t selector = self->selector;
    self->selector = SELECTOR_ALLOW;
    if (unlikely(rtw_owner[symbol] == OWNER_UNKNOWN))
        rtw_apart((void *)rtw_resolve, (void *)(uintptr_t)symbol, NULL);
    uint8_t tier = rtw_owner[symbol] == OWNER_OTHER ? 0 : rtw_judge(symbol, frame);
    uint64_t *slot = &frame->ret;
    if (!tier || rtw_folded(self, tier, frame->ret, slot, frame->rbp)) {
        self->selector = self->inside ? selector : self->dispatch ? SELECTOR_BLOCK : SELECTOR_ALLOW;
        return frame->waiting;
    }
    struct rtw_event event = {
        .kind = RTWATCH_CALL, .tier = tier, .symbol = (uint16_t)(symbol + 1), .argument = frame->rdi,
        .pc = frame->ret, .cfa = (uint64_t)(uintptr_t)(slot + 1), .rbp = frame->rbp,
    };
    frame->record = rtw_record(self, &event);
    struct rtw_watched *watched = self->watched;
    atomic_store_explicit(&watched->call_cfa, event.cfa, memory_order_relaxed);
    atomic_store_explicit(&watched->call_rbp, event.rbp, memory_order_relaxed);
    atomic_store_explicit(&watched->call_symbol, event.symbol, memory_order_relaxed);
    atomic_store_explicit(&watched->call_pc, event.pc, memory_order_release);
    if (how == HOW_JUMP) {
        self->jump_slot = slot;
        self->jump_return = frame->ret;
        self->jump_tier = tier;
        self->vforked = symbol == SYMBOL_vfork;
        self->selector = self->dispatch ? SELECTOR_BLOCK : SELECTOR_ALLOW;
        return 0;
    }
    frame->outer_tier = self->inside;
    frame->outer_slot = self->inside_slot;
    frame->outer_selector = self->dispatch && !self->inside ? SELECTOR_BLOCK : selector;
    frame->cycle = self->cycle;
    frame->inside = 1;
    frame->start = event.time;
    self->inside = tier;
    self->inside_slot = slot;
    self->inside_return = frame->ret;
    self->selector = how == HOW_USER && self->dispatch ? SELECTOR_BLOCK : SELECTOR_ALLOW;
    return 1;
}

// From a trampoline: 1 to have rtw_leave() called behind the function.
uint32_t rtw_hit(struct rtw_frame *frame) {
    struct rtw_self *self = &rtw_self;
    uint32_t symbol = (uint32_t)frame->symbol, call = hit(self, symbol, frame);
    uint8_t judge = rtw_symbols[symbol].judge;
    if (judge >= JUDGE_MASK_1 && self->mode & MODE_CYCLE && self->dispatch) return call | rtw_open_frame(judge, frame);
    return call;
}

// A handler that ran in this call may have returned to another mask.
static bool may_have_masked(uint32_t symbol) {
    uint8_t family = rtw_symbols[symbol].family;
    return atomic_load_explicit(&rtw_informed, memory_order_relaxed) &&
           (family == RTWATCH_WAITS || family == RTWATCH_PROCESSES || family == RTWATCH_THREADS_);
}

// The intercepted function has returned.
void rtw_leave(struct rtw_frame *frame) {
    struct rtw_self *self = &rtw_self;
    if (unlikely(!*rtw_alive)) {
        self->mode = 0;
        return;
    }
    if (frame->inside && (self->mode & MODE_CYCLE) && self->cycle == frame->cycle) {
        self->selector = SELECTOR_ALLOW;
        if (frame->record) {
            uint64_t now = rtw_now();
            note_duration(frame->record, now > frame->start ? now - frame->start : 1);
        }
        if (self->watched) atomic_store_explicit(&self->watched->call_pc, 0, memory_order_relaxed);
        if (self->dispatch && may_have_masked(frame->number)) rtw_open_thread();
        self->inside = frame->outer_tier;
        self->inside_slot = frame->outer_slot;
        self->inside_return = frame->outer_slot ? *frame->outer_slot : 0;
        self->selector = frame->outer_selector;
    }
    if (frame->waiting) rtw_wait_ended(frame->number, frame, (int64_t)frame->rax);
}
