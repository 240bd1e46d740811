// The beginning and the end of a thread's cycles.

#include "preload.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

__thread struct rtw_self rtw_self __attribute__((tls_model("initial-exec"), visibility("hidden")));
struct rtw_watched rtw_watched[RTW_WATCHED];

static pthread_key_t at_exit;
static bool has_key;
_Atomic uint32_t rtw_thread_number;

static void stack_limits(struct rtw_self *self) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        self->stack_low = (uint64_t)(uintptr_t)low;
        self->stack_high = self->stack_low + size;
    }
    pthread_attr_destroy(&attributes);
}

// In a forked child: its parent's cycles, threads and dispatch are not its own.
void rtw_forget_threads(void) {
    struct rtw_self *self = &rtw_self;
    *self = (struct rtw_self){.stack_low = self->stack_low, .stack_high = self->stack_high};
    // Their rings are not mapped here.
    uint32_t count = atomic_exchange(&rtw_thread_number, 0);
    for (uint32_t i = 0; i < RTW_WATCHED && i <= count; i++) rtw_watched[i] = (struct rtw_watched){0};
    if (count >= RTW_WATCHED) rtw_watched[RTW_WATCHED - 1] = (struct rtw_watched){0};
}

static void thread_exits(void *unused) {
    (void)unused;
    rtw_leave_thread();
}

void rtw_leave_thread(void) {
    struct rtw_self *self = &rtw_self;
    if (!self->registered) return;
    self->depth = self->depth ? 1 : 0;
    rtw_end();
    self->mode = 0;
    rtw_dispatch_off(self);
    struct rtw_watched *watched = self->watched;
    self->watched = NULL;
    self->registered = 0;
    if (watched && *rtw_alive) atomic_store(&watched->exited, 1);
}

// At the start, before there are threads that would wait for one another here.
void rtw_notice_exits(void) { has_key = pthread_key_create(&at_exit, thread_exits) == 0; }

// A thread without a name of its own has the name of the one that made it: the program's.
static bool is_program_name(const char *name) {
    char program[24] = "";
    long file = rtw_system4(SYS_openat, AT_FDCWD, "/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
    long length = file < 0 ? 0 : rtw_system3(SYS_read, file, program, sizeof program - 1);
    if (file >= 0) rtw_system1(SYS_close, file);
    if (length > 0 && program[length - 1] == '\n') program[length - 1] = 0;
    return !name[0] || rtw_equal(name, program);
}

// Once on each audio thread, before its first cycle: here the library may allocate, lock and ask the kernel.
static void enlist(struct rtw_self *self, const char *what, uint32_t found_by) {
    self->registered = 1;
    stack_limits(self);
    rtw_calibrate();
    uint32_t index = atomic_fetch_add(&rtw_thread_number, 1);
    bool room = index < RTWATCH_THREADS - 1;
    rtw_fill_channel();
    if (!room) index = RTWATCH_THREADS - 1;
    struct rtw_watched *watched = &rtw_watched[index];
    struct rtwatch_thread *thread = &rtw_channel->threads[index];
    int32_t tid = (int32_t)rtw_system0(SYS_gettid);
    char name[24] = "";
    rtw_system5(SYS_prctl, 16, name, 0, 0, 0);
    thread->tid = tid;
    thread->found_by = found_by;
    rtw_copy(thread->name, !room ? "(more threads)" : what && is_program_name(name) ? what : name, 24);
    watched->index = index;
    watched->stack_high = self->stack_high;
    self->watched = watched;
    self->found_by = (uint8_t)found_by;
    if (rtw_channel->thread_count < index + 1) rtw_channel->thread_count = index + 1;
    if (!room) rtw_say("there are more audio threads than rtwatch can list: the last ones share one entry");
    rtw_find_modules();
    if (has_key) pthread_setspecific(at_exit, self);
    rtw_monitor_start();
    watched->perf_asked = !rtw_options.perf || !room;
    if (rtw_options.syscalls) rtw_dispatch_on(self);
    thread->features |= self->dispatch ? RTWATCH_HAS_SYSCALLS : 0;
    __atomic_fetch_or(&rtw_channel->features, thread->features, __ATOMIC_RELAXED);
    atomic_store(&watched->exited, 0);
    atomic_store(&watched->tid, tid);
}

void rtw_begin(const char *what, uint64_t period, uint32_t found_by) {
    struct rtw_self *self = &rtw_self;
    if (self->depth++ || unlikely(!*rtw_alive)) return;
    if (unlikely(!self->registered)) {
        if (!rtw_watching()) {
            self->depth--;
            return;
        }
        int before = errno;
        self->depth = 0;
        enlist(self, what, found_by);
        self->depth = 1;
        errno = before;
    }
    struct rtw_watched *watched = self->watched;
    struct rtwatch_thread *thread = &rtw_channel->threads[watched->index];
    self->cycle = __atomic_fetch_add(&thread->cycles, 1, __ATOMIC_RELAXED);
    self->period = period;
    thread->period = period;
    self->violations = 0;
    self->inside = self->jump_tier = self->crashing = 0;
    self->foreign = NULL;
    atomic_store_explicit(&watched->foreign, 0, memory_order_relaxed);
    rtw_counters_begin(self);
    atomic_store_explicit(&watched->cycle, self->cycle, memory_order_relaxed);
    atomic_store_explicit(&watched->period, period, memory_order_relaxed);
    atomic_store_explicit(&watched->call_pc, 0, memory_order_relaxed);
    self->start = rtw_now();
    atomic_store_explicit(&watched->permitted, 0, memory_order_relaxed);
    atomic_store_explicit(&watched->permitted_since, self->permits ? self->start : 0, memory_order_relaxed);
    atomic_store_explicit(&watched->start, self->start, memory_order_release);
    thread->running = self->start;
    if (self->permits) return;
    self->mode |= MODE_CYCLE;
    if (!self->dispatch) return;
    rtw_open_thread();
    self->selector = SELECTOR_BLOCK;
}

static void note_cycle(struct rtw_self *self, uint64_t took) {
    struct rtwatch_channel *channel = rtw_channel;
    struct rtwatch_thread *thread = &channel->threads[self->watched->index];
    uint64_t number = __atomic_fetch_add(&channel->cycles_written, 1, __ATOMIC_RELAXED);
    struct rtwatch_cycle *cycle = &channel->cycles[number % RTWATCH_CYCLES];
    __atomic_store_n(&cycle->duration, 0, __ATOMIC_RELEASE);
    cycle->start = self->start;
    cycle->period = self->period;
    cycle->number = self->cycle;
    cycle->thread = self->watched->index;
    cycle->violations = self->violations;
    __atomic_store_n(&cycle->duration, took ? took : 1, __ATOMIC_RELEASE);
    thread->total += took;
    if (took > thread->longest) thread->longest = took;
}

void rtw_end(void) {
    struct rtw_self *self = &rtw_self;
    if (!self->depth || --self->depth) return;
    self->mode &= (uint8_t)~MODE_CYCLE;
    self->selector = SELECTOR_ALLOW;
    if (unlikely(!*rtw_alive) || !self->watched) return;
    uint64_t now = rtw_now(), took = now > self->start ? now - self->start : 0;
    atomic_store_explicit(&self->watched->start, 0, memory_order_release);
    rtw_channel->threads[self->watched->index].running = 0;
    rtw_counters_end(self);
    if (self->period && took > self->period) {
        struct rtw_event late = {.kind = RTWATCH_DEADLINE, .tier = RTWATCH_NOTE, .argument = took};
        rtw_record(self, &late);
    }
    note_cycle(self, took);
}

void rtw_take_back(void) {
    struct rtw_self *self = &rtw_self;
    if (!self->depth || !self->watched || !*rtw_alive) return;
    struct rtwatch_thread *thread = &rtw_channel->threads[self->watched->index];
    self->depth = 0;
    self->mode &= (uint8_t)~MODE_CYCLE;
    self->selector = SELECTOR_ALLOW;
    atomic_store_explicit(&self->watched->start, 0, memory_order_release);
    thread->running = 0;
    __atomic_fetch_sub(&thread->cycles, 1, __ATOMIC_RELAXED);
}

// The functions of rtwatch.h.

// A thread that was found by its waits and turns out to mark its cycles itself is believed.
EXPORTED void rtwatch_enter(const char *what, unsigned long long period_ns) {
    struct rtw_self *self = &rtw_self;
    if (unlikely(self->found_by == FOUND_BY_ALSA || self->found_by == FOUND_BY_NAME) && self->watched && *rtw_alive) {
        if (self->depth) rtw_end();
        self->found_by = FOUND_BY_MARKS;
        self->named = 0;
        rtw_channel->threads[self->watched->index].found_by = FOUND_BY_MARKS;
    }
    rtw_begin(what, period_ns, FOUND_BY_MARKS);
}

EXPORTED void rtwatch_exit(void) { rtw_end(); }

EXPORTED void rtwatch_permit_begin(void) {
    struct rtw_self *self = &rtw_self;
    self->mode &= (uint8_t)~MODE_CYCLE;
    self->selector = SELECTOR_ALLOW;
    if (self->permits++ || !self->depth || !self->registered || !*rtw_alive) return;
    atomic_store_explicit(&self->watched->permitted_since, rtw_now(), memory_order_relaxed);
}

EXPORTED void rtwatch_permit_end(void) {
    struct rtw_self *self = &rtw_self;
    if (!self->permits || --self->permits || !self->depth || !self->registered || !*rtw_alive) return;
    struct rtw_watched *watched = self->watched;
    uint64_t since = atomic_load_explicit(&watched->permitted_since, memory_order_relaxed), now = rtw_now();
    if (since && now > since) atomic_fetch_add_explicit(&watched->permitted, now - since, memory_order_relaxed);
    atomic_store_explicit(&watched->permitted_since, 0, memory_order_release);
    self->mode |= MODE_CYCLE;
    if (!self->dispatch || self->inside) return;
    rtw_open_thread();
    self->selector = SELECTOR_BLOCK;
}

// The entry with a name, or a free one that gets it; 0 where there is no room.
static uint32_t foreign_index(const char *name) {
    for (uint32_t i = 1; i < RTWATCH_FOREIGN; i++) {
        struct rtwatch_foreign *foreign = &rtw_channel->foreign[i];
        uint32_t state = __atomic_load_n(&foreign->state, __ATOMIC_ACQUIRE);
        if (state == 0 && __atomic_compare_exchange_n(&foreign->state, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
            rtw_copy(foreign->name, name, sizeof foreign->name);
            __atomic_store_n(&foreign->state, 2, __ATOMIC_RELEASE);
            return i;
        }
        if (state != 2) continue;   // another thread is writing it: the same name may then stand twice
        size_t n = 0;
        while (n + 1 < sizeof foreign->name && name[n] && name[n] == foreign->name[n]) n++;
        if (!foreign->name[n] && (!name[n] || n + 1 == sizeof foreign->name)) return i;
    }
    return 0;
}

EXPORTED const char *rtwatch_foreign(const char *name) {
    struct rtw_self *self = &rtw_self;
    const char *before = self->foreign;
    self->foreign = name;
    if (self->depth && self->watched && *rtw_alive)
        atomic_store_explicit(&self->watched->foreign, name ? foreign_index(name) : 0, memory_order_relaxed);
    return before;
}

EXPORTED int rtwatch_is_present(void) { return rtw_watching(); }

EXPORTED unsigned long long rtwatch_violations(int tier) {
    const uint64_t *counts = rtw_self.counts;
    return tier == 0 ? counts[1] + counts[2] : tier >= 1 && tier <= 3 ? counts[tier] : 0;
}

// Stays as it is until the thread asks again.
static const char *name_of(int32_t what) {
    static __thread char text[32] __attribute__((tls_model("initial-exec")));
    if (what > 0) {
        const char *name = rtw_symbols[what - 1].name;
        bool inner = name[0] == '_' && name[1] == '_' && name[2] == 'l' && name[6] == '_';   // __libc_malloc
        return inner ? name + 7 : name;
    }
    rtw_copy(text, "system call ", sizeof text);
    char digits[12];
    int n = 0;
    uint32_t value = (uint32_t)~what;
    do digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    char *at = text + rtw_length(text);
    while (n) *at++ = digits[--n];
    *at = 0;
    return text;
}

EXPORTED const char *rtwatch_latest(void) {
    return rtw_self.called_count ? name_of(rtw_self.called[rtw_self.latest].what) : "";
}

EXPORTED int rtwatch_found(int n, const char **function, int *tier, unsigned long long *count) {
    const struct rtw_self *self = &rtw_self;
    uint32_t kept = self->called_count < RTW_CALLED ? self->called_count : RTW_CALLED;
    if (n < 0 || (uint32_t)n >= kept) return 0;
    const struct rtw_called *called = &self->called[n];
    if (function) *function = name_of(called->what);
    if (tier) *tier = (int)called->tier;
    if (count) *count = called->count;
    return 1;
}

EXPORTED void rtwatch_forget(void) { rtw_self.called_count = rtw_self.latest = 0; }
