#include "ends.h"

#include "buffer.h"
#include "cycles.h"

#include <signal.h>

// A hang is recorded when it is noticed; how long it lasted is known when its cycle has ended, before or after that.
struct end { struct process *process; uint32_t thread; uint64_t cycle, duration; };
struct hang { struct process *process; uint32_t thread; uint64_t cycle; struct finding *finding; };

enum { MOST = 65536, SHORTEST = 100000000 };
static struct end *ends;
static struct hang *hangs;
static size_t end_count, hang_count;

void note_hang(struct process *process, const struct rtwatch_record *record, struct finding *finding) {
    if (hang_count == MOST) return;
    hangs = reallocate(hangs, (hang_count + 1) * sizeof *hangs);
    hangs[hang_count++] = (struct hang){process, record->thread, record->cycle, finding};
}

void note_long_cycle(struct process *process, const struct rtwatch_cycle *cycle) {
    if (cycle->duration < SHORTEST || end_count == MOST) return;
    ends = reallocate(ends, (end_count + 1) * sizeof *ends);
    ends[end_count++] = (struct end){process, cycle->thread, cycle->number, cycle->duration};
}

static void finish_running(struct process *process) {
    struct rtwatch_channel *channel = process->channel;
    uint64_t end = channel->seen_alive;
    if (channel->state == 1 && !kill((pid_t)channel->pid, 0)) end = now();
    for (uint32_t i = 0; i < channel->thread_count && i < RTWATCH_THREADS; i++) {
        const struct rtwatch_thread *thread = &channel->threads[i];
        uint64_t start = thread->running, took = start && end > start ? end - start : 0;
        if (!took || took > 1000000000ull * 86400 * 3650) continue;
        // One that the program's end cut off in its time is none; one that was late already is.
        if (took < SHORTEST && (!thread->period || took <= thread->period)) continue;
        struct rtwatch_cycle cycle = {.start = start, .duration = took, .period = thread->period, .thread = i,
            .number = thread->cycles ? thread->cycles - 1 : 0};
        take_cycle(process, &cycle);
    }
}

void finish_cycles(void) {
    for (int i = 0; i < process_count(); i++)
        if (process_started(process_at(i))) finish_running(process_at(i));
    for (size_t i = 0; i < hang_count; i++)
        for (size_t j = 0; j < end_count; j++)
            if (ends[j].process == hangs[i].process && ends[j].thread == hangs[i].thread
                && ends[j].cycle == hangs[i].cycle && ends[j].duration > hangs[i].finding->longest)
                hangs[i].finding->longest = ends[j].duration;
}
