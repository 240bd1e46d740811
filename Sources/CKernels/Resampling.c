#include "Dispatch.h"

// The inner loops of the resampler: taps are cubic polynomials in the place of a frame, eight of them in a group of 32
// coefficients. The weighed samples are added up in eight lanes.

INLINE f8 taps_at(const float *row, f8 x) {
    return ((load8(row + 24) * x + load8(row + 16)) * x + load8(row + 8)) * x + load8(row);
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

// Two frames at once: a sum waits for itself from group to group, and four of them fill that time.

INLINE void weigh_pairs_body(
    const float *taps, const float *next, size_t groups, const float *left, const float *right, size_t distance,
    float *pairs
) {
    f8 a = {0}, b = {0}, c = {0}, d = {0};
    for (size_t group = 0; group < groups; group++, left += 8, right += 8) {
        f8 first = load8(taps + 8 * group), second = load8(next + 8 * group);
        a += first * load8(left);
        b += first * load8(right);
        c += second * load8(left + distance);
        d += second * load8(right + distance);
    }
    // Each is added up as `total` does.
    f4 e = halves(a), f = halves(b), g = halves(c), h = halves(d);
    f4 ef = __builtin_shufflevector(e, f, 0, 1, 4, 5) + __builtin_shufflevector(e, f, 2, 3, 6, 7);
    f4 gh = __builtin_shufflevector(g, h, 0, 1, 4, 5) + __builtin_shufflevector(g, h, 2, 3, 6, 7);
    f4 all = __builtin_shufflevector(ef, gh, 0, 2, 4, 6) + __builtin_shufflevector(ef, gh, 1, 3, 5, 7);
    __builtin_memcpy(pairs, &all, sizeof all);
}

KERNEL(void, weigh_pairs,
    (const float *taps, const float *next, size_t groups, const float *left, const float *right, size_t distance,
        float *pairs),
    taps, next, groups, left, right, distance, pairs)

// MARK: - Sounds in memory

// The place of a frame of a sound: a row of coefficients, a place in its part, and the first sample that is weighed.
struct place {
    const float *row;
    f8 x;
    int64_t start;
};

INLINE struct place place_at(const struct kernel_pitch_filter *filter, uint64_t position) {
    uint32_t fraction = (uint32_t)position;
    const float *row = filter->table + (fraction >> (32 - filter->partBits)) * filter->groups * 32;
    float x = (float)(int32_t)((fraction << filter->partBits) ^ 0x80000000u) * 0x1p-31f;
    return (struct place){row, spread8(x), (int64_t)(position >> 32) - 4 * (int64_t)filter->groups + 1};
}

// Eight samples, some of which may lie outside of the sound.
INLINE f8 load_inside(const float *samples, int64_t first, int64_t length) {
    f8 v = {0};
    if (first >= 0 && first + 8 <= length) return load8(samples + first);
    for (int64_t k = 0; k < 8; k++)
        if (first + k >= 0 && first + k < length) v[k] = samples[first + k];
    return v;
}

// The groups of taps that meet the sound at all.
INLINE void meeting(int64_t start, int64_t length, size_t groups, size_t *first, size_t *end) {
    *first = start <= -8 ? (size_t)(-start / 8) : 0;
    int64_t last = length > start ? (length - start + 7) / 8 : 0;
    *end = last < (int64_t)groups ? (size_t)last : groups;
}

INLINE void read_body(
    const struct kernel_pitch_filter *filter, const float *samples, size_t length, uint64_t position, uint64_t step,
    float *frames, size_t count
) {
    size_t groups = filter->groups;
    for (size_t i = 0; i < count; i++, position += step) {
        struct place at = place_at(filter, position);
        f8 sum = {0};
        if (at.start >= 0 && at.start + 8 * (int64_t)groups <= (int64_t)length) {
            const float *from = samples + at.start;
            for (size_t group = 0; group < groups; group++)
                sum += taps_at(at.row + 32 * group, at.x) * load8(from + 8 * group);
        } else {
            size_t group, end;
            meeting(at.start, (int64_t)length, groups, &group, &end);
            for (; group < end; group++)
                sum += taps_at(at.row + 32 * group, at.x)
                    * load_inside(samples, at.start + 8 * (int64_t)group, (int64_t)length);
        }
        frames[i] = total(sum);
    }
}

KERNEL(void, read,
    (const struct kernel_pitch_filter *filter, const float *samples, size_t length, uint64_t position, uint64_t step,
        float *frames, size_t count),
    filter, samples, length, position, step, frames, count)

INLINE void read_pair_body(
    const struct kernel_pitch_filter *filter, const float *left, const float *right, size_t length, uint64_t position,
    uint64_t step, float *leftFrames, float *rightFrames, size_t count
) {
    size_t groups = filter->groups;
    for (size_t i = 0; i < count; i++, position += step) {
        struct place at = place_at(filter, position);
        f8 leftSum = {0}, rightSum = {0};
        if (at.start >= 0 && at.start + 8 * (int64_t)groups <= (int64_t)length) {
            const float *fromLeft = left + at.start, *fromRight = right + at.start;
            for (size_t group = 0; group < groups; group++) {
                f8 taps = taps_at(at.row + 32 * group, at.x);
                leftSum += taps * load8(fromLeft + 8 * group);
                rightSum += taps * load8(fromRight + 8 * group);
            }
        } else {
            size_t group, end;
            meeting(at.start, (int64_t)length, groups, &group, &end);
            for (; group < end; group++) {
                f8 taps = taps_at(at.row + 32 * group, at.x);
                int64_t first = at.start + 8 * (int64_t)group;
                leftSum += taps * load_inside(left, first, (int64_t)length);
                rightSum += taps * load_inside(right, first, (int64_t)length);
            }
        }
        leftFrames[i] = total(leftSum);
        rightFrames[i] = total(rightSum);
    }
}

KERNEL(void, read_pair,
    (const struct kernel_pitch_filter *filter, const float *left, const float *right, size_t length, uint64_t position,
        uint64_t step, float *leftFrames, float *rightFrames, size_t count),
    filter, left, right, length, position, step, leftFrames, rightFrames, count)
