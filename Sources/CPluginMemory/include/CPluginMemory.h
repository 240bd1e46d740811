// The memory that a plug-in may write, whatever its format: each piece of it lies between two guards, which show that the plug-in
// has written beyond.

#ifndef CPLUGINMEMORY_H
#define CPLUGINMEMORY_H

#include <stdbool.h>

/// The most channels of each use that a plug-in may have.
#define CPLUGIN_CHANNELS 64

/// The use of a piece of memory: a channel of the main sound, of the side-chain or of the result, or anything else.
enum cplugin_use { CPLUGIN_INPUT, CPLUGIN_SIDE, CPLUGIN_OUTPUT, CPLUGIN_OTHER };

struct cplugin_memory;

/// Makes a memory without pieces; NULL if there is no room. To be freed with `cplugin_memory_free`, after the plug-in.
///
/// @param guard The number of floats before and behind each piece that a run is not to change.
struct cplugin_memory *_Nullable cplugin_memory_new(int guard);
void cplugin_memory_free(struct cplugin_memory *_Nullable memory);

/// Adds a piece of `count` zeros; NULL if there is no room. Channels of a use are in the order in which they were added.
float *_Nullable cplugin_memory_add(struct cplugin_memory *_Nonnull memory, enum cplugin_use use, int count);

/// The channels of a use.
struct cplugin_channels {
    float *_Nonnull const *_Nonnull samples;
    long count;
};
struct cplugin_channels cplugin_memory_channels(const struct cplugin_memory *_Nonnull memory, enum cplugin_use use);

/// Returns whether all guards are as they were; if not, counts that, and writes them anew.
bool cplugin_memory_is_whole(struct cplugin_memory *_Nonnull memory);
int cplugin_memory_overrun_count(const struct cplugin_memory *_Nonnull memory);

#endif
