// The findings: equal records folded as they come, then put together by the place in the user's code.

#ifndef COMMAND_FINDINGS_H
#define COMMAND_FINDINGS_H

#include "advice.h"
#include "suppressions.h"
#include "symbols.h"

#define FINDING_THREADS 8

struct finding {
    struct process *process;
    int kind, tier;
    const char *call;                     // "malloc", "write", "operator new"; "page fault" and the like
    const char *symbol;                   // the same, as the loader knows it
    bool system_call;
    const char *foreign;                  // the name of the foreign code that it happened in, or NULL
    uint64_t count;
    uint64_t first_cycle, last_cycle, first_time, last_time;
    uint64_t measured, total, longest;    // calls whose duration is known, and those durations
    int signal;                           // of a crash, and the address that the fault names
    bool handled;                         // by the program itself
    uint64_t address;
    uint32_t threads[FINDING_THREADS], thread_count;
    uint32_t depth, left_out;             // left out: frames behind the first RTWATCH_STACK_INNER
    uint64_t stack[RTWATCH_STACK_DEPTH];

    // From here on after `resolve_findings`.
    const struct frame **frames;          // innermost first, inlined ones expanded
    int frame_count;
    uint64_t unsure;                      // a bit for each of stack[] that called through a pointer: what it called
                                          // may have left the stack
    bool only_caller;                     // the place is in one of these
    int place;                            // the user's own frame, an index; -1 when there is no stack
    const char *called;                   // the function that the place's code called, if the table knows it; else the call
    const struct advice *advice;
    struct suppression *suppressed;
    struct finding *next;                 // of the same place
    uint64_t hash;
};

// All findings with the same function, line and callee.
struct place {
    const struct frame *frame;            // NULL when there is no stack
    const char *called;                   // the function that the user's code called there: "print(_:…)"; may be the call itself
    int tier;                             // the worst
    int kind;                             // RTWATCH_CALL for calls and system calls, else that kind
    uint64_t count, first_cycle, last_cycle, longest;
    const struct advice *advice;
    struct finding *findings;             // most frequent first
    int finding_count;
};

struct place_list { struct place *list; int count; };

void take_record(struct process *process, const struct rtwatch_record *record);
// So many like this one: `record` is the first of all of them, taken or not.
void take_repeats(struct process *process, const struct rtwatch_record *record, const struct repeats *more);
void on_new_finding(void (*call)(struct finding *finding, uint64_t count));    // --live: at 1, 10, 100, … of each

void resolve_finding(struct finding *finding);
void resolve_findings(void);                   // all: frames, names, places, suppressions; merges what looks equal

int finding_count(void);
struct finding *finding_at(int index);
uint64_t findings_dropped(void);               // records that found no room for another distinct stack

// Places of calls, system calls and hangs (`kind` RTWATCH_CALL), or of page faults or preemptions; worst and most
// first.
struct place_list find_places(int kind);

// "Voice.render(_:)", or "jack_metro+0x1a2f", or "an unknown place"; and "Voice.swift:42", or NULL.
const char *frame_name(const struct frame *frame);
const char *frame_source(const struct frame *frame);

#endif
