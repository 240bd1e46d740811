// Page faults and context switches of an audio thread, from the kernel's perf events: one ring per thread, which the
// monitor reads; the audio thread itself does nothing. Each sample brings a copy of the top of the stack, so that it is
// walked as all others are. If the kernel refuses, the thread's own counters are asked at both ends of each cycle.

#include "preload.h"
#include "system.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { LARGE_RING = 512 << 10, SMALL_RING = 64 << 10, LARGE_RINGS = 4, STACK_COPY = 2048 };
enum { SAMPLE_SIZE = 8192, PLACES = 64 };

// Frame pointer, stack pointer, program counter: in this order in a sample.
#if defined(__x86_64__)
#define FRAME_REGISTERS (1ull << 6 | 1ull << 7 | 1ull << 8)
#else
#define FRAME_REGISTERS (1ull << 29 | 1ull << 31 | 1ull << 32)
#endif

struct rtw_perf {
    bool used;
    int minor, major, switches;
    bool switch_stacks;
    uint64_t minor_id, major_id, switch_id;
    struct perf_event_mmap_page *ring;
    uint64_t ring_size;
    uint64_t pc, cfa, rbp, time;          // of the last switch that brought a stack
    uint64_t stack_at;
    uint32_t stack_size;
    uint8_t stack[STACK_COPY];
};
static struct rtw_perf places[PLACES];

void rtw_forget_perf(void) {
    for (int i = 0; i < PLACES; i++) places[i].used = false;
}

static int open_event(uint64_t config, int32_t tid, bool kernel, bool switches, bool stack) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = config, .sample_period = 1,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
        .exclude_kernel = !kernel, .exclude_hv = 1, .sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
        .context_switch = switches,
    };
    if (stack) {
        attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr.sample_regs_user = FRAME_REGISTERS;
        attr.sample_stack_user = STACK_COPY;
    }
    long file = rtw_system5(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return (int)file;
}

static uint64_t id_of(int event) {
    uint64_t id = 0;
    rtw_system3(SYS_ioctl, event, PERF_EVENT_IOC_ID, &id);
    return id;
}

static struct rtw_perf *take(void) {
    struct rtw_perf *found = NULL;
    for (int i = 0; i < PLACES && !found; i++)
        if (!places[i].used) found = &places[i];
    if (found) {
        *found = (struct rtw_perf){.used = true, .minor = -1, .major = -1, .switches = -1};
    }
    return found;
}

static void give_back(struct rtw_perf *perf) {
    if (perf->ring) rtw_system2(SYS_munmap, perf->ring, perf->ring_size + 4096);
    if (perf->minor >= 0) rtw_system1(SYS_close, perf->minor);
    if (perf->major >= 0) rtw_system1(SYS_close, perf->major);
    if (perf->switches >= 0) rtw_system1(SYS_close, perf->switches);
    __atomic_store_n(&perf->used, false, __ATOMIC_RELEASE);
}

static void refused(struct rtw_perf *perf) {
    if (perf) give_back(perf);
    rtw_say("perf events were refused (or there are too many audio threads): rtwatch takes page faults and preemptions "
            "from the thread's counters, without a place");
}

// On the monitor's thread.
void rtw_perf_open(struct rtw_watched *watched) {
    int32_t tid = atomic_load(&watched->tid);
    if (watched->perf_asked) return;
    watched->perf_asked = 1;
    struct rtw_perf *perf = take();
    if (!perf) return refused(NULL);
    perf->minor = open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, tid, false, false, true);
    if (perf->minor == -ESRCH) return give_back(perf);   // the thread has ended
    if (perf->minor < 0) return refused(perf);
    // A burst of page faults fills a ring in less than the monitor's pause; locked memory is limited, though.
    perf->ring_size = perf < places + LARGE_RINGS ? LARGE_RING : SMALL_RING;
    long ring = rtw_system6(SYS_mmap, NULL, perf->ring_size + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, perf->minor, 0);
    if (ring < 0 && ring > -4096 && perf->ring_size == LARGE_RING) {
        perf->ring_size = SMALL_RING;
        ring = rtw_system6(SYS_mmap, NULL, SMALL_RING + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, perf->minor, 0);
    }
    if (ring < 0 && ring > -4096) return refused(perf);
    perf->ring = (struct perf_event_mmap_page *)ring;
    perf->minor_id = id_of(perf->minor);
    perf->major = open_event(PERF_COUNT_SW_PAGE_FAULTS_MAJ, tid, false, false, true);
    if (perf->major >= 0) {
        perf->major_id = id_of(perf->major);
        rtw_system3(SYS_ioctl, perf->major, PERF_EVENT_IOC_SET_OUTPUT, perf->minor);
    }
    perf->switches = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, tid, true, true, true);
    perf->switch_stacks = perf->switches >= 0;
    bool forbidden = perf->switches == -EACCES || perf->switches == -EPERM;   // else the thread has ended, for example
    if (!perf->switch_stacks) perf->switches = open_event(PERF_COUNT_SW_DUMMY, tid, false, true, false);
    if (perf->switches >= 0) {
        perf->switch_id = id_of(perf->switches);
        rtw_system3(SYS_ioctl, perf->switches, PERF_EVENT_IOC_SET_OUTPUT, perf->minor);
    }
    if (forbidden)
        rtw_say("rtwatch sees preemptions without their place: the kernel shows the place only with CAP_PERFMON");
    uint32_t features = RTWATCH_HAS_PAGE_FAULTS | (perf->switches >= 0 ? RTWATCH_HAS_SWITCHES : 0);
    __atomic_fetch_or(&rtw_channel->threads[watched->index].features, features, __ATOMIC_RELAXED);
    __atomic_fetch_or(&rtw_channel->features, features, __ATOMIC_RELAXED);
    atomic_store_explicit(&watched->opened, perf, memory_order_release);
}

void rtw_perf_close(struct rtw_watched *watched) {
    if (watched->opened) give_back(watched->opened);
    watched->opened = watched->perf = NULL;
}

// In which cycle of the thread was this moment? false: in none. The kernel's clock and the scaled counter agree to a
// microsecond or so, and a cycle may be shorter than that.
enum { AGREEMENT = 1500 };
static bool cycle_at(const struct rtw_watched *watched, uint64_t time, uint64_t *number) {
    const struct rtwatch_channel *channel = rtw_channel;
    uint64_t start = atomic_load(&watched->start);
    if (start && time + AGREEMENT >= start) {
        *number = atomic_load(&watched->cycle);
        return true;
    }
    uint64_t written = __atomic_load_n(&channel->cycles_written, __ATOMIC_ACQUIRE);
    for (uint64_t i = written; i-- > 0 && written - i < RTWATCH_CYCLES / 2;) {
        const struct rtwatch_cycle *cycle = &channel->cycles[i % RTWATCH_CYCLES];
        if (cycle->thread != watched->index) continue;
        if (time > cycle->start + cycle->duration + AGREEMENT) return false;
        if (time + AGREEMENT < cycle->start) continue;
        *number = cycle->number;
        return true;
    }
    return false;
}

static void write_event(struct rtw_watched *watched, uint8_t kind, uint8_t tier, uint64_t time, uint64_t argument,
                        uint64_t pc, uint64_t sp, uint64_t rbp, const uint8_t *copy, uint64_t size) {
    uint64_t cycle, number;
    if (pc >= rtw_text_start && pc < rtw_text_end) return;   // the library's own doing
    if (!cycle_at(watched, time, &cycle) || cycle < rtw_options.skip) return;
    if (!watched->perf || time < watched->perf_since) return;
    __atomic_fetch_add(&rtw_channel->counts[tier], 1, __ATOMIC_RELAXED);
    struct rtwatch_record spare, *record = rtw_reserve(&spare, &number);
    record->time = time;
    record->cycle = cycle;
    record->duration = 0;
    record->argument = argument;
    record->thread = watched->index;
    record->name = 0;
    record->kind = kind;
    record->tier = tier;
    record->foreign = record->left_out = record->depth = 0;
    struct rtw_window window = {sp, sp + size, (intptr_t)copy - (intptr_t)sp};
    if (pc) record->depth = rtw_walk(pc, sp, rbp, true, window, record->stack, &record->left_out, NULL);
    rtw_publish(record, &spare, number);
    rtw_halt(tier);
}

// In the program's file or a library: loaded as it is first used. Elsewhere a fault that went to the disk is the
// program's own waiting.
static bool in_module(uint64_t address) {
    const struct rtwatch_channel *channel = rtw_channel;
    for (uint32_t i = 0; i < channel->module_count; i++)
        if (address >= channel->modules[i].start && address < channel->modules[i].end) return true;
    return false;
}

struct sample_head { uint64_t id, ip; uint32_t pid, tid; uint64_t time, address; };

static void take_sample(struct rtw_watched *watched, const uint8_t *body, size_t size) {
    struct rtw_perf *perf = watched->opened;
    const struct sample_head *head = (const void *)body;
    const uint64_t *rest = (const void *)(head + 1);
    uint64_t sp = 0, rbp = 0, pc = head->ip, length = 0;
    const uint8_t *copy = NULL;
    if (size >= sizeof *head + 8 && rest[0]) {
        rbp = rest[1];
        sp = rest[2];
        pc = rest[3];
        rest += 4;
    } else {
        rest += 1;
    }
    if (rest[0]) {
        copy = (const uint8_t *)(rest + 1);
        length = *(const uint64_t *)(copy + rest[0]);
        if (length > rest[0]) length = rest[0];
    }
    if (head->id == perf->switch_id) {
        perf->pc = pc;
        perf->cfa = sp;
        perf->rbp = rbp;
        perf->time = head->time;
        perf->stack_size = (uint32_t)(length < STACK_COPY ? length : STACK_COPY);
        for (uint32_t i = 0; i < perf->stack_size; i++) perf->stack[i] = copy[i];
        return;
    }
    bool major = head->id == perf->major_id && !in_module(head->address);
    write_event(watched, RTWATCH_PAGE_FAULT, major ? RTWATCH_BLOCKS : RTWATCH_NOTE, head->time, head->address, pc,
                sp, rbp, copy, length);
}

static void take_switch(struct rtw_watched *watched, uint16_t misc, const uint8_t *body) {
    struct rtw_perf *perf = watched->opened;
    if (!(misc & PERF_RECORD_MISC_SWITCH_OUT) || !(misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)) return;
    uint64_t time = *(const uint64_t *)(body + 8);   // behind pid and tid
    bool placed = perf->time && time - perf->time < 50000;
    write_event(watched, RTWATCH_PREEMPTED, RTWATCH_NOTE, time, 0, placed ? perf->pc : 0, perf->cfa, perf->rbp,
                perf->stack, perf->stack_size);
}

void rtw_perf_drain(struct rtw_watched *watched) {
    struct rtw_perf *perf = watched->opened;
    if (!perf) return;
    static uint8_t event[SAMPLE_SIZE] __attribute__((aligned(16)));   // the monitor alone is here
    const uint8_t *data = (const uint8_t *)perf->ring + 4096;
    uint64_t head = __atomic_load_n(&perf->ring->data_head, __ATOMIC_ACQUIRE), tail = perf->ring->data_tail;
    while (tail < head) {
        struct perf_event_header header;
        for (size_t i = 0; i < sizeof header; i++) ((uint8_t *)&header)[i] = data[(tail + i) % perf->ring_size];
        if (header.size < sizeof header) break;
        size_t size = header.size - sizeof header;
        uint64_t body = tail + sizeof header;
        for (size_t i = 0; i < size && i < SAMPLE_SIZE; i++) event[i] = data[(body + i) % perf->ring_size];
        if (size > SAMPLE_SIZE) size = 0;
        if (header.type == PERF_RECORD_SAMPLE && size) take_sample(watched, event, size);
        if (header.type == PERF_RECORD_SWITCH && size) take_switch(watched, header.misc, event);
        if (header.type == PERF_RECORD_LOST && size)
            __atomic_fetch_add(&rtw_channel->kernel_lost, *(const uint64_t *)(event + 8), __ATOMIC_RELAXED);
        tail += header.size;
    }
    __atomic_store_n(&perf->ring->data_tail, tail, __ATOMIC_RELEASE);
}

// The way without perf events, or before there are any.

// Not where a filter of the program's (seccomp) refuses.
static bool read_counters(struct rusage *usage) { return rtw_system2(SYS_getrusage, RUSAGE_THREAD, usage) == 0; }

void rtw_counters_begin(struct rtw_self *self) {
    struct rtw_watched *watched = self->watched;
    if (!watched->perf) {
        struct rtw_perf *opened = atomic_load_explicit(&watched->opened, memory_order_acquire);
        watched->perf_since = opened ? rtw_now() : 0;
        watched->perf = opened;
    }
    self->counting = !watched->perf;
    if (!self->counting) return;
    struct rusage usage;
    self->counting = read_counters(&usage);
    if (!self->counting) return;
    self->faults = (uint64_t)usage.ru_minflt;
    self->major_faults = (uint64_t)usage.ru_majflt;
    self->switches = (uint64_t)usage.ru_nivcsw;
}

void rtw_counters_end(struct rtw_self *self) {
    if (!self->counting) return;
    struct rusage usage;
    if (!read_counters(&usage)) return;
    struct rtw_event event = {.kind = RTWATCH_PAGE_FAULT, .tier = RTWATCH_NOTE};
    for (uint64_t n = self->faults; n < (uint64_t)usage.ru_minflt; n++) rtw_record(self, &event);
    event.tier = RTWATCH_BLOCKS;
    for (uint64_t n = self->major_faults; n < (uint64_t)usage.ru_majflt; n++) rtw_record(self, &event);
    event = (struct rtw_event){.kind = RTWATCH_PREEMPTED, .tier = RTWATCH_NOTE};
    for (uint64_t n = self->switches; n < (uint64_t)usage.ru_nivcsw; n++) rtw_record(self, &event);
}
