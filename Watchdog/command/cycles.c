#include "cycles.h"

#include "buffer.h"
#include "ends.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct thread **threads;
static int count;

int thread_count(void) { return count; }
struct thread *thread_at(int index) { return threads[index]; }

static int most_first(const void *a, const void *b) {
    const struct thread *first = *(struct thread *const *)a, *second = *(struct thread *const *)b;
    if (first->violations[1] != second->violations[1]) return first->violations[1] > second->violations[1] ? -1 : 1;
    if (first->misses != second->misses) return first->misses > second->misses ? -1 : 1;
    if (first->cycles != second->cycles) return first->cycles > second->cycles ? -1 : 1;
    return first->index < second->index ? -1 : first->index > second->index;
}

void sort_threads(void) {
    if (count) qsort(threads, (size_t)count, sizeof *threads, most_first);
}

const struct rtwatch_thread *thread_facts(const struct thread *thread) {
    return &thread->process->channel->threads[thread->index];
}

const char *thread_name(const struct rtwatch_thread *facts) {
    size_t length = strnlen(facts->name, sizeof facts->name);
    if (!length) return "audio thread";
    char name[sizeof facts->name + 1] = {0};
    // Any text may be a thread's name; what would move the terminal's cursor is left out.
    for (size_t i = 0; i < length; i++) name[i] = (unsigned char)facts->name[i] < ' ' ? '?' : facts->name[i];
    return intern(name);
}

const char *found_by(uint32_t how) {
    static const char *const ways[] = {"", "its own marks (RenderCore or rtwatch.h)", "JACK's process callback",
        "JACK's process thread", "ALSA", "--thread", "PipeWire's process function"};
    return how < sizeof ways / sizeof *ways ? ways[how] : "";
}

const char *whose(const struct thread *thread) {
    bool several = false;
    for (int i = 0; i < thread_count(); i++) several = several || thread_at(i)->process != thread->process;
    if (!several) return "";
    char *text = format(" (process %u)", thread->process->channel->pid);
    const char *kept = intern(text);
    free(text);
    return kept;
}

struct thread *thread_of(struct process *process, uint32_t index) {
    static struct thread *latest;
    if (index >= RTWATCH_THREADS) index = RTWATCH_THREADS - 1;
    if (latest && latest->process == process && latest->index == index) return latest;
    for (int i = 0; i < count; i++)
        if (threads[i]->process == process && threads[i]->index == index) return latest = threads[i];
    threads = reallocate(threads, (size_t)(count + 1) * sizeof *threads);
    struct thread *thread = allocate(sizeof *thread);
    *thread = (struct thread){.process = process, .index = index, .per_point = 1, .mark_width = 1000000};
    return latest = threads[count++] = thread;
}

// Steps grow with the load, 1 % apart: from 0.4 % on to 100 times the period.
static int step_of(double load) {
    double step = (log2(load > 0 ? load : 1e-9) + 8) * 64 / 2;
    return step < 0 ? 0 : step >= LOAD_STEPS ? LOAD_STEPS - 1 : (int)step;
}

double load_at(const struct thread *thread, double share) {
    uint64_t wanted = (uint64_t)ceil(share * (double)thread->with_period), seen = 0;
    for (int i = 0; i < LOAD_STEPS && wanted; i++) {
        seen += thread->loads[i];
        double load = exp2((i + 1) * 2.0 / 64 - 8);
        if (seen >= wanted) return load < thread->worst_load ? load : thread->worst_load;
    }
    return thread->worst_load;
}

static void join_points(struct thread *thread) {
    int half = thread->point_count / 2;
    for (int i = 0; i < half; i++) {
        struct point point = thread->points[2 * i], next = thread->points[2 * i + 1];
        point.end = next.end;
        if (next.longest > point.longest) point.longest = next.longest, point.period = next.period;
        point.total += next.total;
        point.cycles += next.cycles;
        point.misses += next.misses;
        thread->points[i] = point;
    }
    thread->point_count = half;
    thread->per_point *= 2;
}

static void add_point(struct thread *thread, const struct rtwatch_cycle *cycle, bool missed) {
    if (!thread->points) thread->points = allocate(TIMELINE_POINTS * sizeof *thread->points);
    struct point *last = thread->point_count ? &thread->points[thread->point_count - 1] : NULL;
    if (!last || last->cycles >= thread->per_point) {
        if (thread->point_count == TIMELINE_POINTS) join_points(thread);
        last = &thread->points[thread->point_count++];
        *last = (struct point){.start = cycle->start, .period = cycle->period};
    }
    last->end = cycle->start + cycle->duration;
    if (cycle->duration > last->longest) last->longest = cycle->duration, last->period = cycle->period;
    last->total += cycle->duration;
    last->cycles++;
    last->misses += missed;
}

void take_cycle(struct process *process, const struct rtwatch_cycle *cycle) {
    struct thread *thread = thread_of(process, cycle->thread);
    bool missed = cycle->period && cycle->duration > cycle->period;
    thread->cycles++;
    thread->total += cycle->duration;
    if (cycle->duration > thread->longest) thread->longest = cycle->duration, thread->longest_at = cycle->start;
    if (cycle->period) {
        double load = (double)cycle->duration / (double)cycle->period;
        thread->period = cycle->period;
        thread->with_period++;
        thread->loads[step_of(load)]++;
        if (load > thread->worst_load) thread->worst_load = load;
    }
    thread->misses += missed;
    add_point(thread, cycle, missed);
    note_long_cycle(process, cycle);
}

void mark_violations(struct process *process, const struct rtwatch_record *record, uint64_t count) {
    if (record->kind == RTWATCH_CRASH) return;
    struct thread *thread = thread_of(process, record->thread);
    if (record->kind == RTWATCH_PAGE_FAULT) thread->faults += count;
    if (record->kind == RTWATCH_PREEMPTED) thread->preemptions += count;
    if (record->kind == RTWATCH_HANG) thread->hangs += count;
    if (record->tier < 1 || record->tier > 3 || record->kind < RTWATCH_CALL || record->kind >= RTWATCH_DEADLINE) return;
    thread->violations[record->tier] += count;
    // All processes of a run share one axis of time, which begins with the first.
    uint64_t started = process_at(0)->channel->started;
    uint64_t time = record->time > started ? record->time - started : 0;
    if (time > 1000000000ull * 86400 * 3650) return;
    if (!thread->marks) thread->marks = allocate(TIMELINE_POINTS * sizeof *thread->marks);
    while (time / thread->mark_width >= TIMELINE_POINTS) {
        for (int i = 0; i < TIMELINE_POINTS / 2; i++)
            for (int tier = 0; tier < 4; tier++)
                thread->marks[i].count[tier] = thread->marks[2 * i].count[tier] + thread->marks[2 * i + 1].count[tier];
        memset(thread->marks + TIMELINE_POINTS / 2, 0, TIMELINE_POINTS / 2 * sizeof *thread->marks);
        thread->mark_width *= 2;
    }
    thread->marks[time / thread->mark_width].count[record->tier] += count;
}
