#include "drain.h"

#include "buffer.h"
#include "channel.h"
#include "cycles.h"
#include "findings.h"

// A record whose writer has not finished it after that long is given up: its thread has died in the middle.
static const uint64_t patience = 2000000000;
// The time that a record may wait for the duration of its call, which is written when the call returns.
static const uint64_t youth = 50000000;
// More than can come from one look to the next.
static const uint64_t most_repeats = 1000000000, most_time = 86400ull * 1000000000;

static uint64_t drain_records(struct process *process, bool over) {
    struct rtwatch_channel *channel = process->channel;
    uint64_t at = channel->read, written = __atomic_load_n(&channel->written, __ATOMIC_ACQUIRE), taken = 0;
    bool pressed = written - at > RTWATCH_PRESSED / 2;
    uint64_t time = now();
    // More than the ring holds can only be a damaged mapping.
    if (written - at > RTWATCH_RECORDS) {
        process->torn += written - at;
        at = written;
    }
    for (; at < written; at++) {
        struct rtwatch_record *record = &channel->records[at % RTWATCH_RECORDS];
        if (__atomic_load_n(&record->sequence, __ATOMIC_ACQUIRE) != at + 1) {
            if (!process->stuck_since) process->stuck_since = time;
            if (!over && time - process->stuck_since < patience) break;
            process->torn++;
        } else {
            if (!over && !pressed && record->time + youth > time) break;
            take_record(process, record);
            mark_violations(process, record, 1);
            taken++;
        }
        process->stuck_since = 0;
        // Room is given back as it comes, so that a writer in a hurry need not wait for the whole round.
        if (at % 256 == 255) __atomic_store_n(&channel->read, at + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&channel->read, at, __ATOMIC_RELEASE);
    return taken;
}

static uint64_t drain_repeats(struct process *process) {
    struct rtwatch_channel *channel = process->channel;
    uint64_t taken = 0;
    if (!channel->repeat_count) return 0;
    if (!process->repeats) process->repeats = allocate(RTWATCH_REPEATS * sizeof *process->repeats);
    for (uint32_t i = 0; i < RTWATCH_REPEATS; i++) {
        struct rtwatch_repeat *repeat = &channel->repeats[i];
        struct repeats *before = &process->repeats[i];
        if (!__atomic_load_n(&repeat->ready, __ATOMIC_ACQUIRE)) continue;
        struct repeats now = {.count = __atomic_load_n(&repeat->count, __ATOMIC_ACQUIRE),
            .measured = __atomic_load_n(&repeat->measured, __ATOMIC_ACQUIRE), .total = repeat->total};
        if (now.count == before->count && now.measured == before->measured) continue;
        // Counts that go back or leap can only be a damaged mapping.
        struct repeats more = {.count = now.count - before->count, .measured = now.measured - before->measured,
            .total = now.total - before->total};
        *before = now;
        if (more.count > most_repeats || more.measured > most_repeats || more.total > most_time) {
            process->torn++;
            continue;
        }
        struct rtwatch_record record = repeat->record;
        more.longest = repeat->longest;
        more.last_cycle = repeat->last_cycle, more.last_time = repeat->last_time;
        take_repeats(process, &record, &more);
        record.time = more.last_time;
        mark_violations(process, &record, more.count);
        taken += more.count;
    }
    return taken;
}

static uint64_t drain_cycles(struct process *process, bool over) {
    struct rtwatch_channel *channel = process->channel;
    uint64_t written = __atomic_load_n(&channel->cycles_written, __ATOMIC_ACQUIRE), taken = 0;
    // The oldest are overwritten. Some distance is kept from where the writers are.
    uint64_t kept = over ? RTWATCH_CYCLES : RTWATCH_CYCLES - 1024;
    if (written - process->cycles_read > kept) {
        process->cycles_lost += written - kept - process->cycles_read;
        process->cycles_read = written - kept;
    }
    for (; process->cycles_read < written; process->cycles_read++) {
        struct rtwatch_cycle *slot = &channel->cycles[process->cycles_read % RTWATCH_CYCLES], cycle = *slot;
        cycle.duration = __atomic_load_n(&slot->duration, __ATOMIC_ACQUIRE);
        if (!cycle.duration) {
            // Being written; where the program is over or many newer ones stand behind it, it never will be.
            if (!over && written - process->cycles_read < 1024) break;
            process->cycles_lost++;
            continue;
        }
        cycle.start = slot->start, cycle.period = slot->period, cycle.thread = slot->thread, cycle.number = slot->number;
        take_cycle(process, &cycle);
        taken++;
    }
    return taken;
}

uint64_t drain(bool over) {
    uint64_t taken = 0;
    for (int i = 0; i < process_count(); i++) {
        struct process *process = process_at(i);
        if (!process_started(process)) continue;
        taken += drain_records(process, over) + drain_repeats(process) + drain_cycles(process, over);
    }
    return taken;
}
