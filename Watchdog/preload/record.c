// What happens on the audio thread when something is found: judge, fold, walk the stack, write a fixed record.

#include "preload.h"
#include "system.h"

struct rtwatch_record *rtw_reserve(uint8_t tier, uint64_t *number) {
    struct rtwatch_channel *channel = rtw_channel;
    uint64_t at = __atomic_load_n(&channel->written, __ATOMIC_RELAXED);
    do
        if (at - __atomic_load_n(&channel->read, __ATOMIC_ACQUIRE) >= RTWATCH_RECORDS) {
            __atomic_fetch_add(&channel->lost[tier], 1, __ATOMIC_RELAXED);
            return NULL;
        }
    while (!__atomic_compare_exchange_n(&channel->written, &at, at + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    *number = at;
    return &channel->records[at % RTWATCH_RECORDS];
}

void rtw_publish(struct rtwatch_record *record, uint64_t number) {
    __atomic_store_n(&record->sequence, number + 1, __ATOMIC_RELEASE);
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

// The number of the record + 1, or 0. The time is taken last, so that a call's duration is without what this costs.
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
    uint64_t number;
    struct rtwatch_record *record = rtw_reserve(tier, &number);
    if (!record) {
        stop_here(tier);
        return 0;
    }
    record->cycle = self->cycle;
    record->duration = 0;
    record->argument = event->argument;
    record->thread = self->watched->index;
    record->name = event->symbol;
    record->kind = event->kind;
    record->tier = tier;
    record->left_out = 0;
    record->depth = 0;
    if (event->pc)
        record->depth = rtw_walk(event->pc, event->cfa, event->rbp, event->exact,
                                 rtw_stack_window(self, event->cfa - 8), record->stack, &record->left_out, NULL);
    record->time = event->time = rtw_now();
    rtw_publish(record, number);
    stop_here(tier);
    return number + 1;
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

// A vforked child borrows the thread's memory, this state included; what it does is not the audio thread's doing.
bool rtw_vforked_child(struct rtw_self *self) {
    bool child = rtw_system0(SYS_gettid) != self->watched->tid;
    if (!child) self->vforked = 0;
    return child;
}

// From a trampoline: 1 to have rtw_leave() called behind the function.
uint32_t rtw_hit(struct rtw_frame *frame) {
    struct rtw_self *self = &rtw_self;
    uint32_t symbol = (uint32_t)frame->symbol;
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
    if (self->how == 4 && frame->ret >= rtw_alsa_start && frame->ret < rtw_alsa_end) {
        self->jump_slot = &frame->ret;
        self->jump_return = frame->ret;
        self->jump_tier = RTWATCH_BLOCKS;
        return frame->waiting;
    }
    uint8_t selector = self->selector;
    self->selector = SELECTOR_ALLOW;
    if (unlikely(rtw_owner[symbol] == OWNER_UNKNOWN)) rtw_resolve(symbol);
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
            uint64_t now = rtw_now(), took = now > frame->start ? now - frame->start : 1;
            struct rtwatch_record *record = &rtw_channel->records[(frame->record - 1) % RTWATCH_RECORDS];
            if (__atomic_load_n(&record->sequence, __ATOMIC_RELAXED) == frame->record)
                __atomic_store_n(&record->duration, took, __ATOMIC_RELAXED);
        }
        if (self->watched) atomic_store_explicit(&self->watched->call_pc, 0, memory_order_relaxed);
        self->inside = frame->outer_tier;
        self->inside_slot = frame->outer_slot;
        self->inside_return = frame->outer_slot ? *frame->outer_slot : 0;
        self->selector = frame->outer_selector;
    }
    if (frame->waiting) rtw_wait_ended(frame->number, frame, (int64_t)frame->rax);
}
