// The parts that the loops of a reverb share. The rings of their lines have a length that is a power of two, and behind it room for 64
// samples more, which repeat the first: a piece of up to 64 is never cut. (Lines of a network have eight more, since they are
// written eight frames at a time, and the last of these may not exist yet.) A ring that was emptied is not cleared: what is
// older than `age` frames counts as zero.

#ifndef CKERNELS_REVERB_SHARED_H
#define CKERNELS_REVERB_SHARED_H

#include "Dispatch.h"

enum { piece = 64 };

// Writes what was written at the beginning of a ring behind its end, too.
INLINE void repeat(float *from, int32_t mask, size_t count) {
    for (size_t i = 0; i < count; i += 8) store8(from + mask + 1 + i, load8(from + i));
}

INLINE f8 without_dust_8(f8 x) {
    i8 size = (i8)x & 0x7fffffff;
    return (f8)((i8)x & (i8)((f8)size > 1e-12f));
}

INLINE f16 without_dust_16(f16 x) {
    i16 size = (i16)x & 0x7fffffff;
    return (f16)((i16)x & (i16)((f16)size > 1e-12f));
}

// The frames from `first` on, as numbers.
INLINE f8 times_from(int32_t first) {
    const i8 steps = {0, 1, 2, 3, 4, 5, 6, 7};
    return __builtin_convertvector(steps + first, f8);
}

INLINE f16 sixteen_times_from(int32_t first) {
    const i16 steps = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return __builtin_convertvector(steps + first, f16);
}

#endif
