// The zoo: small functions, each of which does one thing in a cycle, with what the watchdog must report. The statement
// that does it stands on the line behind CASE (or CLEAN).
//
//     zoo --list             name, tier, what is reported ("-": nothing in tier 1 or 2), function, file, line, "alone";
//                            tab-separated
//     zoo [-n CYCLES] NAME…  runs these ("all": all but those marked alone), each in a cycle of its own

#ifndef ZOO_H
#define ZOO_H

#include "../rtwatch.h"

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>

struct zoo_case { const char *name; int tier; const char *reported, *function, *file; int line;
                  void (*run)(void); int alone; };
extern const struct zoo_case *zoo_cases[];
extern int zoo_count;
void zoo_add(const struct zoo_case *one);

#define ZOO(id, tier, reported, alone) \
    static void case_##id(void); \
    static const struct zoo_case entry_##id = \
        {#id, tier, reported, "case_" #id, __FILE__, __LINE__ + 1, case_##id, alone}; \
    __attribute__((constructor)) static void add_##id(void) { zoo_add(&entry_##id); } \
    __attribute__((noinline)) static void case_##id(void)
#define CASE(id, tier, reported) ZOO(id, tier, reported, 0)
#define ALONE(id, tier, reported) ZOO(id, tier, reported, 1)
#define CLEAN(id) ZOO(id, 0, "-", 0)
enum { BLOCKS = 1, MAY_BLOCK = 2, NOTE = 3 };

// Made before the cycles.
extern pthread_mutex_t zoo_mutex, zoo_held;      // held: by another thread
extern pthread_rwlock_t zoo_rwlock;
extern pthread_spinlock_t zoo_spin;
extern pthread_cond_t zoo_condition;
extern pthread_barrier_t zoo_barrier;            // of one
extern sem_t zoo_semaphore;                      // far from 0
extern FILE *zoo_null, *zoo_zero;
extern int zoo_file, zoo_pipe[2], zoo_sockets[2], zoo_epoll, zoo_device_null;
extern pthread_t zoo_thread, zoo_child;          // the audio thread itself; one that has ended
extern char zoo_directory[], zoo_path[];
extern void *volatile zoo_pointer;
extern volatile int zoo_value;
extern volatile long zoo_ticks;                  // another thread counts, one in two milliseconds or so
#define KEEP __asm__ volatile("" ::: "memory")   // no tail calls

#endif
