#include "Dispatch.h"

// The gains of compressors and expanders. From frame to frame a gain waits for itself, for a product, a sum and a comparison; all
// else is computed for 16 frames at once, and while it waits. The sums are those of `GainCurve`, `GainMath` and `GainWalk` of
// Dynamics, in the same order.

enum { lane_count = 16 };

INLINE f16 choose16(i16 mask, f16 a, f16 b) { return (f16)(((i16)a & mask) | ((i16)b & ~mask)); }
INLINE f16 less16(f16 a, f16 b) { return choose16(a < b, a, b); }
INLINE f16 more16(f16 a, f16 b) { return choose16(a > b, a, b); }

INLINE f16 load_some(const float *p, size_t count) {
    if (count >= lane_count) return load16(p);
    f16 v = {0};
    for (size_t i = 0; i < count; i++) v[i] = p[i];
    return v;
}

INLINE void store_some(float *p, f16 v, size_t count) {
    if (count >= lane_count) store16(p, v);
    else
        for (size_t i = 0; i < count; i++) p[i] = v[i];
}

INLINE d8 first8(f16 v) { return __builtin_convertvector(low8(v), d8); }
INLINE d8 last8(f16 v) { return __builtin_convertvector(high8(v), d8); }

INLINE f16 magnitude16(f16 sample) {
    f16 magnitude = (f16)((u16)sample & 0x7fffffffu);
    // The comparison is false for what is no number.
    return less16((f16)((i16)magnitude & (i16)(magnitude == magnitude)), spread16(1e10f));
}

INLINE void magnitudes_body(const float *first, const float *second, bool lifts, float *levels, size_t count) {
    for (size_t i = 0; i < count; i += lane_count) {
        f16 level = magnitude16(load_some(first + i, count - i));
        if (second) level = more16(level, magnitude16(load_some(second + i, count - i)));
        if (lifts) level = more16(level, load_some(levels + i, count - i));
        store_some(levels + i, level, count - i);
    }
}

WIDE_KERNEL(void, magnitudes,
    (const float *first, const float *second, bool lifts, float *levels, size_t count), first, second, lifts, levels, count)

// The squares of 16 frames, times the share.
INLINE void shares(f16 sample, double share, double *out) {
    f16 magnitude = magnitude16(sample);
    d8 low = first8(magnitude), high = last8(magnitude);
    store8d(out, share * (low * low));
    store8d(out + 8, share * (high * high));
}

INLINE void mean_squares_body(
    const float *first, const float *second, double share, double *squares, bool lifts, float *levels, size_t count
) {
    const double kept = 1 - share;
    double a = squares[0], b = second ? squares[1] : 0;
    for (size_t i = 0; i < count; i += lane_count) {
        double new_a[lane_count], new_b[lane_count];
        size_t left = count - i, most = left < lane_count ? left : lane_count;
        shares(load_some(first + i, left), share, new_a);
        if (second) {
            shares(load_some(second + i, left), share, new_b);
            for (size_t k = 0; k < most; k++) {
                a = kept * a + new_a[k];
                b = kept * b + new_b[k];
                new_a[k] = a > b ? a : b;
            }
        } else {
            for (size_t k = 0; k < most; k++) new_a[k] = a = kept * a + new_a[k];
        }
        f8 low = __builtin_convertvector(load8d(new_a), f8), high = __builtin_convertvector(load8d(new_a + 8), f8);
        f16 level = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        if (lifts) level = more16(level, load_some(levels + i, left));
        store_some(levels + i, level, left);
    }
    squares[0] = a;
    if (second) squares[1] = b;
}

WIDE_KERNEL(void, mean_squares,
    (const float *first, const float *second, double share, double *squares, bool lifts, float *levels, size_t count),
    first, second, share, squares, lifts, levels, count)

INLINE f16 log2_16(f16 x) {
    i16 bits = (i16)x, moved = bits - 0x3F3504F3;
    f16 f = (f16)(bits - (moved & -0x800000)) - 1.0f;
    f16 p = -0.2065915f * f + 0.32215473f;
    p = p * f - 0.36749002f;
    p = p * f + 0.47934803f;
    p = p * f - 0.72113186f;
    p = p * f + 1.4427135f;
    return __builtin_convertvector(moved >> 23, f16) + f * p;
}

INLINE f16 exp2_16(f16 x) {
    f16 shifted = x + 12582912.0f;
    f16 r = x - (shifted - 12582912.0f);
    f16 p = 0.0013264726f * r + 0.009671513f;
    p = p * r + 0.055507336f;
    p = p * r + 0.24022242f;
    p = p * r + 0.693147f;
    return (f16)((u16)(p * r + 1.0f) + ((u16)shifted << 23));
}

INLINE f16 goals(const kernel_gain_settings *s, f16 levels) {
    const f16 zero = {0};
    f16 over = (log2_16(levels) * s->decibels - s->threshold) * s->sign;
    f16 begun = over + s->half_knee, beyond = over - s->half_knee;
    f16 inside = more16(less16(begun, spread16(s->knee)), zero);
    f16 reduction = s->slope * (inside * inside * s->curvature + more16(beyond, zero));
    return s->sign * less16(reduction, spread16(s->range));
}

// Sums up the pulls of 16 goals on the state: with the attack, and with the release.
INLINE void pulls(const kernel_gain_settings *s, const float *levels, double *rising, double *falling) {
    f16 goal = goals(s, load16(levels));
    d8 low = first8(goal), high = last8(goal);
    store8d(rising, s->attack * low);
    store8d(rising + 8, s->attack * high);
    store8d(falling, s->release * low);
    store8d(falling + 8, s->release * high);
}

struct walk {
    double state, attackRest, releaseRest;
    bool attackIsFaster;
};

INLINE void step(struct walk *walk, double *rising, double falling) {
    double up = walk->attackRest * walk->state + *rising;
    // The rest is negative, and subtracted: else the compiler packs both ways, and shuffles in each frame.
    double down = falling - walk->releaseRest * walk->state;
    // Of the two ways the faster one is right on the way up, and the other on the way down.
    *rising = walk->state = walk->attackIsFaster ? (up > down ? up : down) : (up < down ? up : down);
}

INLINE void walk_gains(
    const kernel_gain_settings *s, double *state, const float *levels, float *gains, size_t count, bool attackIsFaster
) {
    double rising[2][lane_count], falling[2][lane_count];
    struct walk walk = {*state, 1 - s->attack, s->release - 1, attackIsFaster};
    pulls(s, levels, rising[0], falling[0]);
    for (size_t i = 0, turn = 0; i < count; i += lane_count, turn ^= 1) {
        double *up = rising[turn], *down = falling[turn];
        // While the walk waits for itself, the goals of the next block are computed.
        if (i + lane_count < count) pulls(s, levels + i + lane_count, rising[turn ^ 1], falling[turn ^ 1]);
        if (count - i >= lane_count) {
#pragma clang loop unroll(full)
            for (size_t k = 0; k < lane_count; k++) step(&walk, up + k, down[k]);
        } else {
            for (size_t k = 0; k < count - i; k++) step(&walk, up + k, down[k]);
        }
        f8 first = __builtin_convertvector(load8d(up), f8), last = __builtin_convertvector(load8d(up + 8), f8);
        f16 reduction = __builtin_shufflevector(first, last, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        store16(gains + i, s->dry + s->wet * exp2_16(s->octaves * reduction));
    }
    *state = walk.state;
}

INLINE void gains_body(
    const kernel_gain_settings *settings, double *state, const float *levels, float *gains, size_t count
) {
    if (settings->attack >= settings->release) walk_gains(settings, state, levels, gains, count, true);
    else walk_gains(settings, state, levels, gains, count, false);
}

WIDE_KERNEL(void, gains,
    (const kernel_gain_settings *settings, double *state, const float *levels, float *gains, size_t count),
    settings, state, levels, gains, count)

INLINE void apply_gains_body(float *samples, const float *gains, size_t count) {
    for (size_t i = 0; i < count; i++) samples[i] *= gains[i];
}

KERNEL(void, apply_gains, (float *samples, const float *gains, size_t count), samples, gains, count)

float kernel_hold(float loudest, float least, float *levels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        loudest = levels[i] > loudest ? levels[i] : loudest;
        levels[i] = loudest > least ? loudest : least;
    }
    return loudest;
}

INLINE d2 filter_step(const kernel_filter_numbers *n, d2 x, d2 *u, d2 *w) {
    d2 push = x - *w;
    d2 next_u = (*u - n->damping * *u) + n->drive * push, next_w = (*w + n->turn * *u) + n->rise * push;
    d2 y = n->direct * x + n->band * (*u + next_u) + n->low * (*w + next_w);
    *u = next_u;
    *w = next_w;
    return y;
}

INLINE void filter_keys_body(
    const kernel_filter_numbers *first, const kernel_filter_numbers *second, double *one, double *other,
    const float *left, const float *right, float *left_output, float *right_output, size_t count
) {
    d2 u = {one[0], other[0]}, w = {one[1], other[1]}, v = {one[2], other[2]}, x = {one[3], other[3]};
    for (size_t i = 0; i < count; i++) {
        float a = left[i], b = right[i];
        // The comparisons are false for what is no number.
        d2 sound = {__builtin_fabsf(a) < 1e10f ? a : 0, __builtin_fabsf(b) < 1e10f ? b : 0};
        d2 high = filter_step(first, sound, &u, &w);
        // As a `float`, as it is between two filters of one channel.
        d2 low = filter_step(second, (d2){(float)high[0], (float)high[1]}, &v, &x);
        left_output[i] = (float)low[0];
        right_output[i] = (float)low[1];
    }
    double ends[8] = {u[0], w[0], v[0], x[0], u[1], w[1], v[1], x[1]};
    __builtin_memcpy(one, ends, 4 * sizeof(double));
    __builtin_memcpy(other, ends + 4, 4 * sizeof(double));
}

KERNEL(void, filter_keys,
    (const kernel_filter_numbers *first, const kernel_filter_numbers *second, double *one, double *other,
        const float *left, const float *right, float *left_output, float *right_output, size_t count),
    first, second, one, other, left, right, left_output, right_output, count)
