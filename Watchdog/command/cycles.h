// The cycles of each audio thread: how long they took of the time they had, and when violations came.

#ifndef COMMAND_CYCLES_H
#define COMMAND_CYCLES_H

#include "channel.h"

#define LOAD_STEPS 512            // of the histogram: 64 to each doubling
#define TIMELINE_POINTS 2048      // at most; neighbours are joined two by two when there are more

// Neighbouring cycles as one point of the timeline.
struct point { uint64_t start, end, longest, total, period; uint32_t cycles, misses; };

// Violations in a stretch of time, by tier.
struct marks { uint32_t count[4]; };

struct thread {
    struct process *process;
    uint32_t index;                           // in the channel
    uint64_t cycles, with_period, longest, longest_at, total, period, misses;
    uint64_t loads[LOAD_STEPS];
    double worst_load;
    uint64_t violations[4], faults, preemptions, hangs;
    struct point *points;
    int point_count;
    uint32_t per_point;                       // cycles in a full point
    struct marks *marks;                      // TIMELINE_POINTS of them
    uint64_t mark_width;                      // nanoseconds in one
};

void take_cycle(struct process *process, const struct rtwatch_cycle *cycle);
void mark_violations(struct process *process, const struct rtwatch_record *record, uint64_t count);

int thread_count(void);
void sort_threads(void);                       // those with the most violations and missed deadlines first
struct thread *thread_at(int index);
struct thread *thread_of(struct process *process, uint32_t index);
const struct rtwatch_thread *thread_facts(const struct thread *thread);
const char *thread_name(const struct rtwatch_thread *facts);
const char *found_by(uint32_t how);           // "JACK's process callback"
const char *whose(const struct thread *thread);   // " (process 17)" where there are several with audio threads, else ""
double load_at(const struct thread *thread, double share);     // the load that this share of the cycles stays below

#endif
