#include "CPluginMemory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 0x7fa5a5a5u
#define SHORT_GUARD 16

struct piece {
    uint32_t *before, *behind;
};

struct cplugin_memory {
    struct piece *pieces;
    int piece_count, guard;
    float *channels[CPLUGIN_OTHER][CPLUGIN_CHANNELS];
    int counts[CPLUGIN_OTHER];
    _Atomic int overruns;
};

static void write_guard(const struct piece *piece, int guard) {
    for (int i = 0; i < guard; i++) piece->before[i] = piece->behind[i] = GUARD;
}

static bool is_whole(const struct piece *piece, int guard) {
    // That of a release build is of a length that the compiler knows: it takes a few nanoseconds.
    if (guard == SHORT_GUARD) {
        uint32_t wrong = 0;
        for (int i = 0; i < SHORT_GUARD; i++) wrong |= (piece->before[i] ^ GUARD) | (piece->behind[i] ^ GUARD);
        return !wrong;
    }
    // Each word is like the next, and the first is the guard.
    const size_t bytes = ((size_t)guard - 1) * sizeof(uint32_t);
    return piece->before[0] == GUARD && piece->behind[0] == GUARD && !memcmp(piece->before, piece->before + 1, bytes) &&
           !memcmp(piece->behind, piece->behind + 1, bytes);
}

bool cplugin_memory_is_whole(struct cplugin_memory *memory) {
    bool are_whole = true;
    for (int i = 0; i < memory->piece_count; i++) {
        if (is_whole(&memory->pieces[i], memory->guard)) continue;
        write_guard(&memory->pieces[i], memory->guard);
        are_whole = false;
    }
    if (!are_whole) atomic_fetch_add(&memory->overruns, 1);
    return are_whole;
}

int cplugin_memory_overrun_count(const struct cplugin_memory *memory) { return atomic_load(&memory->overruns); }

struct cplugin_memory *cplugin_memory_new(int guard) {
    struct cplugin_memory *memory = calloc(1, sizeof *memory);
    if (memory) memory->guard = guard < 4 ? 4 : (guard + 15) & ~15;
    return memory;
}

void cplugin_memory_free(struct cplugin_memory *memory) {
    if (!memory) return;
    for (int i = 0; i < memory->piece_count; i++) free(memory->pieces[i].before);
    free(memory->pieces);
    free(memory);
}

float *cplugin_memory_add(struct cplugin_memory *memory, enum cplugin_use use, int count) {
    struct piece *pieces = realloc(memory->pieces, ((size_t)memory->piece_count + 1) * sizeof *pieces);
    if (!pieces) return NULL;
    memory->pieces = pieces;
    size_t bytes = ((size_t)count + 2 * (size_t)memory->guard) * sizeof(float);
    uint32_t *all = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (!all) return NULL;
    float *samples = (float *)(all + memory->guard);
    pieces[memory->piece_count] = (struct piece){all, all + memory->guard + count};
    write_guard(&pieces[memory->piece_count++], memory->guard);
    memset(samples, 0, (size_t)count * sizeof(float));
    if (use < CPLUGIN_OTHER && memory->counts[use] < CPLUGIN_CHANNELS) memory->channels[use][memory->counts[use]++] = samples;
    return samples;
}

struct cplugin_channels cplugin_memory_channels(const struct cplugin_memory *memory, enum cplugin_use use) {
    return (struct cplugin_channels){memory->channels[use], memory->counts[use]};
}
