// Takes what the library wrote out of the channels.

#ifndef COMMAND_DRAIN_H
#define COMMAND_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

// Returns how many records and cycles were taken. `over`: the program has ended, nothing more will come.
uint64_t drain(bool over);

#endif
