#include "Kernels.h"

// The inner loops of the resampler: taps are cubic polynomials in the place of a frame, eight of them in a group of 32
// coefficients; what they weigh is added up in eight lanes. As `ResamplerKernel` of RenderCore has it.

INLINE f8 taps_at(const float *row, f8 x) {
    return ((load8(row + 24) * x + load8(row + 16)) * x + load8(row + 8)) * x + load8(row);
}

INLINE float total(f8 sum) {
    f4 four = __builtin_shufflevector(sum, sum, 0, 1, 2, 3) + __builtin_shufflevector(sum, sum, 4, 5, 6, 7);
    return (four[0] + four[2]) + (four[1] + four[3]);
}

INLINE float resample_body(const float *table, size_t groups, float place, const float *samples) {
    f8 x = spread8(place), sum = {0};
    for (size_t group = 0; group < groups; group++)
        sum += taps_at(table + 32 * group, x) * load8(samples + 8 * group);
    return total(sum);
}

KERNEL(float, resample, (const float *table, size_t groups, float place, const float *samples),
    table, groups, place, samples)

INLINE void resample_pair_body(
    const float *table, size_t groups, float place, const float *left, const float *right, float *pair
) {
    f8 x = spread8(place), leftSum = {0}, rightSum = {0};
    for (size_t group = 0; group < groups; group++) {
        f8 taps = taps_at(table + 32 * group, x);
        leftSum += taps * load8(left + 8 * group);
        rightSum += taps * load8(right + 8 * group);
    }
    pair[0] = total(leftSum);
    pair[1] = total(rightSum);
}

KERNEL(void, resample_pair,
    (const float *table, size_t groups, float place, const float *left, const float *right, float *pair),
    table, groups, place, left, right, pair)

INLINE void taps_body(const float *table, size_t groups, float place, float *taps) {
    f8 x = spread8(place);
    for (size_t group = 0; group < groups; group++) store8(taps + 8 * group, taps_at(table + 32 * group, x));
}

KERNEL(void, taps, (const float *table, size_t groups, float place, float *taps), table, groups, place, taps)

INLINE float weigh_body(const float *taps, size_t groups, const float *samples) {
    f8 sum = {0};
    for (size_t group = 0; group < groups; group++) sum += load8(taps + 8 * group) * load8(samples + 8 * group);
    return total(sum);
}

KERNEL(float, weigh, (const float *taps, size_t groups, const float *samples), taps, groups, samples)

INLINE void weigh_pair_body(
    const float *taps, size_t groups, const float *left, const float *right, float *pair
) {
    f8 leftSum = {0}, rightSum = {0};
    for (size_t group = 0; group < groups; group++) {
        f8 eight = load8(taps + 8 * group);
        leftSum += eight * load8(left + 8 * group);
        rightSum += eight * load8(right + 8 * group);
    }
    pair[0] = total(leftSum);
    pair[1] = total(rightSum);
}

KERNEL(void, weigh_pair, (const float *taps, size_t groups, const float *left, const float *right, float *pair),
    taps, groups, left, right, pair)
