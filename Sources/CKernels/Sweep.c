#include "Dispatch.h"

// The voices of a chorus: a ring read at delays that move, over six samples by Lagrange's polynomial.

/// Six neighbours for each of eight frames: rows become columns of eight.
INLINE void gather(const float *ring, i8 index, f8 columns[6]) {
    for (int k = 0; k < 4; k++) {
        f4 low, high;
        __builtin_memcpy(&low, ring + index[k], sizeof low);
        __builtin_memcpy(&high, ring + index[k + 4], sizeof high);
        columns[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    transpose_halves(columns);
    // The last two as pairs.
    double pairs[8];
    for (int k = 0; k < 8; k++) __builtin_memcpy(pairs + k, ring + index[k] + 4, sizeof(double));
    f8 e = (f8)(d4){pairs[0], pairs[1], pairs[4], pairs[5]}, f = (f8)(d4){pairs[2], pairs[3], pairs[6], pairs[7]};
    columns[4] = __builtin_shufflevector(e, f, 0, 2, 8, 10, 4, 6, 12, 14);
    columns[5] = __builtin_shufflevector(e, f, 1, 3, 9, 11, 5, 7, 13, 15);
}

INLINE void sweep_body(
    const float *ring, int32_t mask, int32_t position, const float *delays, size_t voices, const int32_t *anchors,
    float level, float *output, size_t count
) {
    for (size_t i = 0; i < count; i += 8) {
        i8 start;
        __builtin_memcpy(&start, anchors + i, sizeof start);
        start = position + (int32_t)i - 3 + (i8){0, 1, 2, 3, 4, 5, 6, 7} - start;
        f8 sum = {0};
        for (size_t voice = 0; voice < voices; voice++) {
            f8 delay = load8(delays + 64 * voice + i);
            i8 whole = __builtin_convertvector(delay, i8);
            f8 t = delay - __builtin_convertvector(whole, f8), x[6];
            gather(ring, (start - whole) & mask, x);
            // The products of (t + 2) (t - 3), (t + 1) (t - 2) and t (t - 1), of which each weight has two.
            f8 inner = t * t - t, middle = inner - 2, outer = inner - 6;
            f8 far = middle * inner * (1.0f / 120), near = outer * inner * (1.0f / 24), next = outer * middle * (1.0f / 12);
            f8 old = ((t + 2) * far * x[0] - (t + 1) * near * x[1]) + t * next * x[2];
            f8 young = ((1 - t) * next * x[3] + (t - 2) * near * x[4]) - (t - 3) * far * x[5];
            sum += old + young;
        }
        store8(output + i, sum * level);
    }
}

KERNEL(void, sweep,
    (const float *ring, int32_t mask, int32_t position, const float *delays, size_t voices, const int32_t *anchors,
        float level, float *output, size_t count),
    ring, mask, position, delays, voices, anchors, level, output, count)
