// The shared mapping through which the preload library in the watched processes speaks: made, read, removed.

#ifndef COMMAND_CHANNEL_H
#define COMMAND_CHANNEL_H

#include "../protocol.h"

#include <stdbool.h>
#include <stddef.h>

struct repeats { uint64_t count, measured, total, longest, last_cycle, last_time; };

struct process {
    struct rtwatch_channel *channel;
    int index;                        // among the processes of this run
    uint64_t cycles_read, cycles_lost;
    uint64_t torn;                    // records whose writer never finished them
    uint64_t stuck_since;             // when the next record was first found unfinished
    struct repeats *repeats;          // the counts taken from the channel, by index; NULL as long as there were none
    const char *file;                   // name in the folder
};

void make_channel(void);                                  // a private folder with the file for the first process
const char *channel_path(void);
const char *channel_folder(void);
void remove_channel(void);

// All processes that have a mapping; new ones are looked for at each call of `look_for_processes`.
void look_for_processes(void);
int process_count(void);
bool processes_left_out(void);                            // there were more than can be read
struct process *process_at(int index);
bool process_started(const struct process *process);      // the library wrote its head

uint64_t now(void);                                       // CLOCK_MONOTONIC nanoseconds

#endif
