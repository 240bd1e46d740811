// Rows of vectors become columns: frames of lanes become rows of lanes, and the other way round.

#ifndef CKERNELS_TURNING_H
#define CKERNELS_TURNING_H

#include "Dispatch.h"

#define UNROLL _Pragma("clang loop unroll(full)")

/// Turns eight rows of eight into columns.
INLINE void turn_eight(f8 r[8]) {
    f8 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 2; k++) {
            b[i + k] = __builtin_shufflevector(a[i + k], a[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + k + 2] = __builtin_shufflevector(a[i + k], a[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (int i = 0; i < 4; i++) {
        r[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/// Loads four frames of each of four lanes, and turns them into four rows of lanes; or loads rows, and turns them into frames.
INLINE void load_turned(const float *from, size_t stride, f4 r[4]) {
    UNROLL for (size_t k = 0; k < 4; k++) __builtin_memcpy(&r[k], from + k * stride, 16);
    f4 ab = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), AB = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    f4 cd = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), CD = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), r[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(AB, CD, 0, 1, 4, 5), r[3] = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
}

#define IN_QUARTERS(a, b, c, d) \
    a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, d + 12

/// Turns rows of four into columns, in each quarter of the vectors.
INLINE void turn_quarters(f16 r[4]) {
    f16 ab = __builtin_shufflevector(r[0], r[1], IN_QUARTERS(0, 16, 1, 17));
    f16 AB = __builtin_shufflevector(r[0], r[1], IN_QUARTERS(2, 18, 3, 19));
    f16 cd = __builtin_shufflevector(r[2], r[3], IN_QUARTERS(0, 16, 1, 17));
    f16 CD = __builtin_shufflevector(r[2], r[3], IN_QUARTERS(2, 18, 3, 19));
    r[0] = __builtin_shufflevector(ab, cd, IN_QUARTERS(0, 1, 16, 17));
    r[1] = __builtin_shufflevector(ab, cd, IN_QUARTERS(2, 3, 18, 19));
    r[2] = __builtin_shufflevector(AB, CD, IN_QUARTERS(0, 1, 16, 17));
    r[3] = __builtin_shufflevector(AB, CD, IN_QUARTERS(2, 3, 18, 19));
}

/// Loads four frames of each of sixteen lanes, and turns them into four rows of lanes.
INLINE void load_turned_wide(const float *from, size_t stride, f16 r[4]) {
    UNROLL for (size_t k = 0; k < 4; k++) {
        f4 q[4];
        UNROLL for (size_t i = 0; i < 4; i++) __builtin_memcpy(&q[i], from + (4 * i + k) * stride, 16);
        f8 low = __builtin_shufflevector(q[0], q[1], 0, 1, 2, 3, 4, 5, 6, 7);
        f8 high = __builtin_shufflevector(q[2], q[3], 0, 1, 2, 3, 4, 5, 6, 7);
        r[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
    turn_quarters(r);
}

INLINE void store4(float *to, f4 v) { __builtin_memcpy(to, &v, 16); }

/// Turns four rows of lanes into frames.
INLINE void store_turned(f16 r[4], float *to, size_t count) {
    turn_quarters(r);
    UNROLL for (size_t k = 0; k < 4; k++) {
        store4(to + k * count, __builtin_shufflevector(r[k], r[k], 0, 1, 2, 3));
        store4(to + (k + 4) * count, __builtin_shufflevector(r[k], r[k], 4, 5, 6, 7));
        store4(to + (k + 8) * count, __builtin_shufflevector(r[k], r[k], 8, 9, 10, 11));
        store4(to + (k + 12) * count, __builtin_shufflevector(r[k], r[k], 12, 13, 14, 15));
    }
}

#endif
