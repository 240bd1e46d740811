// The data that the preload library writes and the command `rtwatch` reads: one shared mapping per watched process.
//
// The command makes the file (its size is that of `struct rtwatch_channel`, all zero, on a tmpfs: a disk's file would
// fault at each write-back) and names it in RTWATCH_CHANNEL; the library maps it at load, so that the command can read
// while the program runs and after it died. All numbers are in the machine's own byte order; all counters are 64-bit
// atomics. Writers never wait. While the command does not keep up, repeated records are counted in a table and take no
// place in the ring; records that find no room in either are counted as lost, per tier.
//
// The process that writes is the first that finds `pid` 0, and a later image of the same process (exec) as long as the
// first saw no audio thread. Any other process (fork, exec of a child, a second image) is not watched, unless
// follow=1: it then makes a file of its own, RTWATCH_CHANNEL with ".PID" or ".PID.N" appended, with the same contents.

#ifndef RTWATCH_PROTOCOL_H
#define RTWATCH_PROTOCOL_H

#include <stdint.h>

#define RTWATCH_MAGIC 0x48435441575452ull
#define RTWATCH_VERSION 6
#define RTWATCH_STACK_DEPTH 40
#define RTWATCH_STACK_INNER 16  // of a deeper stack these innermost frames are kept, and the outermost ones
#define RTWATCH_RECORDS 16384   // power of two; violations
#define RTWATCH_PRESSED (RTWATCH_RECORDS / 4)   // so many that wait to be read: from here on repeats are counted
#define RTWATCH_REPEATS 4096    // power of two; distinct stacks that are counted
#define RTWATCH_CYCLES 65536    // power of two; cycle times, oldest overwritten
#define RTWATCH_MODULES 1024    // mapped files
#define RTWATCH_NAMES 1024      // intercepted function names
#define RTWATCH_FOREIGN 64      // names of foreign code; the first entry is none
#define RTWATCH_THREADS 2048    // audio threads; the last entry stands for all that found no place

enum rtwatch_tier { RTWATCH_BLOCKS = 1, RTWATCH_MAY_BLOCK = 2, RTWATCH_NOTE = 3 };

enum rtwatch_kind {
    RTWATCH_CALL = 1,         // an interposed function: `name` is its index in names[]; `argument` its first argument
    RTWATCH_SYSCALL = 2,      // a system call trapped by Syscall User Dispatch: `argument` is its number. One that an
                              // interposed function made is not reported again
    RTWATCH_PAGE_FAULT = 3,   // `argument` is the address, or 0 with depth 0 where only the thread's counters tell
    RTWATCH_PREEMPTED = 4,    // an involuntary context switch; the same
    RTWATCH_HANG = 5,         // a cycle that has not ended after n periods; the stack is where it is; `argument` is
                              // nanoseconds since its start; `name` is the call that it is in, if that is known
    RTWATCH_DEADLINE = 6,     // a cycle that took longer than its period: it is counted, and has no record
    RTWATCH_CRASH = 7,        // a fault of which the program dies, or that it handles: `argument` is the signal, `duration` the address that it
                              // names, `thread` RTWATCH_NO_THREAD if it is no audio thread
};
// Tiers: a page fault is a note, or blocks if it went to the disk (code and constants of the program being loaded are
// notes all the same); a preemption and a missed deadline are notes
// (the machine's doing as likely as the program's), a hang blocks.

enum rtwatch_family {
    RTWATCH_MEMORY = 1, RTWATCH_LOCKS, RTWATCH_WAITS, RTWATCH_FILES, RTWATCH_STDIO, RTWATCH_SOCKETS, RTWATCH_THREADS_,
    RTWATCH_PROCESSES, RTWATCH_LOADER, RTWATCH_CLOCKS, RTWATCH_SWIFT, RTWATCH_DISPATCH, RTWATCH_CPLUSPLUS,
    RTWATCH_KERNEL,
};

// A record is complete when `sequence` is its number + 1 (its place is number % RTWATCH_RECORDS); the command sets
// `read` behind what it took. `duration` is written when the call returns, later than `sequence`: who is not pressed
// leaves records younger than some 50 ms in the ring. Of a dead process, a record whose sequence never came is
// skipped.
struct rtwatch_record {
    uint64_t sequence;        // stored with release order: index + 1 when the record is complete
    uint64_t time;            // CLOCK_MONOTONIC nanoseconds
    uint64_t cycle;           // number of the cycle on its thread, from 0
    uint64_t duration;        // nanoseconds in the call, 0 where not measured
    uint64_t argument;
    uint32_t thread;          // index into threads[]
    uint16_t name;            // index into names[], 0 = none
    uint8_t kind, tier;
    uint32_t foreign;         // the code that rtwatch_foreign() named: index into foreign[], 0 = none
    uint32_t handled;         // of a crash: the program has a handler of its own for it
    uint32_t depth;           // frames in stack[]
    uint32_t left_out;        // frames that lay between stack[RTWATCH_STACK_INNER - 1] and the next
    uint64_t stack[RTWATCH_STACK_DEPTH];   // return addresses, innermost first, without the library's own.
                              // For the place of a signal or fault it is the address + 1: so always look up - 1
};

// One stack of one thread, and how often it came while the ring was pressed. The library only adds; the command keeps for
// itself how much of it is taken. Entries stay.
struct rtwatch_repeat {
    uint64_t key;             // of thread, kind, tier, name and stack; 0: the entry is free
    uint64_t ready;           // 1 when `record` is complete, with release order
    uint64_t count, measured, total, longest;   // measured: calls whose duration is known; nanoseconds
    uint64_t last_cycle, last_time;
    struct rtwatch_record record;               // the first of them
};

// The n-th cycle of all threads together is at n % RTWATCH_CYCLES; `number` counts those of its thread; `duration` 0:
// it is being written.
struct rtwatch_cycle { uint64_t start, duration, period; uint32_t thread, violations; uint64_t number; };

// The ways in which a thread is found to be one to watch.
enum rtwatch_found_by {
    FOUND_BY_MARKS = 1,       // RenderCore's hooks, or those of rtwatch.h
    FOUND_BY_JACK_CALLBACK, FOUND_BY_JACK_THREAD, FOUND_BY_ALSA,
    FOUND_BY_NAME,            // --thread
    FOUND_BY_PIPEWIRE,
};
struct rtwatch_thread {
    int32_t tid; uint32_t found_by;
    char name[24];            // of the thread; `what` of rtwatch_enter if the thread has only the program's own name
    uint64_t cycles, longest, total, period;
    uint64_t running;         // when the cycle that is running began, 0 between cycles
    uint32_t features, exited;   // RTWATCH_HAS_… bits: what works on this thread
};

struct rtwatch_name { char name[54]; uint8_t tier, family; uint64_t count; };   // count: hits, also the lost
struct rtwatch_foreign { uint32_t state; char name[60]; };   // state: 2 when `name` is complete
struct rtwatch_module { uint64_t start, end, bias, added; char path[256]; };   // added: CLOCK_MONOTONIC; later ones win

struct rtwatch_channel {
    uint64_t magic; uint32_t version, pid;
    uint64_t started;                         // CLOCK_MONOTONIC
    uint64_t written, read;                   // records: the library advances written, the command read
    uint64_t lost[4];                         // by tier: found no room
    uint64_t kernel_lost;                     // page faults and context switches that perf's rings had no room for
    uint64_t counts[4];                       // by tier: all violations, also the suppressed and the lost
    uint64_t cycles_written;
    uint64_t forks;                           // processes that it made by fork
    uint64_t repeat_count;                    // entries of `repeats` that are taken
    uint64_t state;                           // 0 starting, 1 watching, 2 program exited normally, 3 halted, 4 refused
                                              // (messages say why; the program runs unwatched), 5 replaced by exec
    uint64_t features;                        // RTWATCH_HAS_… bits: what works here
    uint64_t seen_alive;                      // CLOCK_MONOTONIC: every few milliseconds, while there is audio
    uint64_t skipped;                         // violations in the first `skip` cycles of a thread: not recorded
    char messages[4096];                      // sentences for the user, one a line: what was given up and why
    uint32_t name_count, module_count, thread_count, message_length;
    struct rtwatch_name names[RTWATCH_NAMES];
    struct rtwatch_foreign foreign[RTWATCH_FOREIGN];
    struct rtwatch_module modules[RTWATCH_MODULES];
    struct rtwatch_thread threads[RTWATCH_THREADS];
    struct rtwatch_cycle cycles[RTWATCH_CYCLES];
    struct rtwatch_record records[RTWATCH_RECORDS];
    struct rtwatch_repeat repeats[RTWATCH_REPEATS];
};

#define RTWATCH_NO_THREAD 0xffffffffu

#define RTWATCH_HAS_SYSCALLS 1
#define RTWATCH_HAS_PAGE_FAULTS 2      // by perf events; without it the thread's counters are used
#define RTWATCH_HAS_SWITCHES 4         // by perf events
#define RTWATCH_HAS_SWIFT 8            // the Swift runtime is a dynamic library: its entry points are seen
#define RTWATCH_HAS_CALLS 16           // interposed functions (not yet on arm64)

// Set by the command for the library.
#define RTWATCH_ENV_CHANNEL "RTWATCH_CHANNEL"     // path of the file to map
#define RTWATCH_ENV_OPTIONS "RTWATCH_OPTIONS"     // "key=value;key=value", all optional:
// halt=TIER      stop the program at the first violation up to this tier: state 3, exit status RTWATCH_HALTED
// break=TIER     SIGTRAP at each violation up to this tier (after it was recorded)
// skip=N         the first N cycles of each thread are not judged
// tier=N         record calls up to this tier (default 3); page faults, preemptions and hangs always
// syscalls=0|1   Syscall User Dispatch (default 1)
// perf=0|1       perf events (default 1)
// hang=N         a cycle hangs after N periods, at least 100 ms (default 32, 0 never; where the period is not known, N
//                sixteenths of a second; where there is no deadline, N seconds); what is permitted does not count
// thread=NAME    watch the threads of this name too, from one wake-up to the next; may stand several times
// jack=0|1, alsa=0|1   find audio threads by these (default 1)
// swift=0|1      the Swift runtime's entry points (default 1)
// off=NAME,NAME  functions that are not reported
// follow=0|1     watch what is forked and executed, each process with a channel of its own
#define RTWATCH_HALTED 86

#endif
