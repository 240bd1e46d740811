#include "Dispatch.h"

// The gains of compressors and expanders. From frame to frame a mean square and a gain wait for themselves, for a product, a sum
// and, where the direction is not known, a comparison; all else is computed for 16 frames at once, and while they wait. The sums
// are those of `GainCurve`, `GainMath` and `GainWalk` of Dynamics, in the same order.

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

INLINE f16 narrow(d8 low, d8 high) {
    f8 first = __builtin_convertvector(low, f8), last = __builtin_convertvector(high, f8);
    return __builtin_shufflevector(first, last, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

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

// A vector of numbers that come one after another. They are not stored and read again, because a vector is read from memory only
// when all of its parts have arrived there.
INLINE f16 gather(const double *v) {
    d8 low = {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]}, high = {v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]};
    return narrow(low, high);
}

// The mean squares of 16 frames, or of those that there are.
INLINE f16 means_of_one(const float *sound, size_t count, double share, double *mean) {
    f16 magnitude = magnitude16(load_some(sound, count));
    d8 low = first8(magnitude), high = last8(magnitude);
    double squares[lane_count], kept = 1 - share, a = *mean;
    store8d(squares, share * (low * low));
    store8d(squares + 8, share * (high * high));
    if (count >= lane_count) {
#pragma clang loop unroll(full)
        for (size_t k = 0; k < lane_count; k++) squares[k] = a = kept * a + squares[k];
    } else {
        for (size_t k = 0; k < count; k++) squares[k] = a = kept * a + squares[k];
    }
    *mean = a;
    return gather(squares);
}

// The squares of 8 frames of two channels, times the share, side by side: those of the even frames, then those of the odd ones,
// because vectors are interleaved this way in one step.
INLINE void pair(d8 a, d8 b, double share, double *squares) {
    a = share * (a * a);
    b = share * (b * b);
    store8d(squares, __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14));
    store8d(squares + 8, __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15));
}

INLINE d2 pair_at(const double *squares, size_t frame) {
    d2 v;
    __builtin_memcpy(&v, squares + ((frame & 8) << 1) + ((frame & 1) << 3) + (frame & 6), sizeof v);
    return v;
}

// The higher ones of the mean squares of two channels.
INLINE f16 means_of_two(const float *first, const float *second, size_t count, double share, d2 *means) {
    f16 a = magnitude16(load_some(first, count)), b = magnitude16(load_some(second, count));
    double squares[2 * lane_count], highest[lane_count] = {0}, kept = 1 - share;
    pair(first8(a), first8(b), share, squares);
    pair(last8(a), last8(b), share, squares + lane_count);
    d2 now = *means;
    if (count >= lane_count) {
#pragma clang loop unroll(full)
        for (size_t k = 0; k < lane_count; k += 2) {
            d2 even = kept * now + pair_at(squares, k);
            now = kept * even + pair_at(squares, k + 1);
            d2 one = __builtin_shufflevector(even, now, 0, 2), other = __builtin_shufflevector(even, now, 1, 3);
            l2 higher = one > other;
            d2 both = (d2)(((l2)one & higher) | ((l2)other & ~higher));
            highest[k] = both[0];
            highest[k + 1] = both[1];
        }
    } else {
        for (size_t k = 0; k < count; k++) {
            now = kept * now + pair_at(squares, k);
            highest[k] = now[0] > now[1] ? now[0] : now[1];
        }
    }
    *means = now;
    return gather(highest);
}

INLINE void mean_squares_body(
    const float *first, const float *second, double share, double *squares, bool lifts, float *levels, size_t count
) {
    d2 means = {squares[0], second ? squares[1] : 0};
    double mean = squares[0];
    for (size_t i = 0; i < count; i += lane_count) {
        size_t left = count - i;
        f16 level = second ? means_of_two(first + i, second + i, left, share, &means)
                           : means_of_one(first + i, left, share, &mean);
        if (lifts) level = more16(level, load_some(levels + i, left));
        store_some(levels + i, level, left);
    }
    squares[0] = second ? means[0] : mean;
    if (second) squares[1] = means[1];
}

// For no longer vectors: those of AVX-512 take longer here, because their numbers are taken out and put in one by one.
KERNEL(void, mean_squares,
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

// The direction of 16 frames. Most blocks lie wholly above their goals, or below them; then a frame need not wait for the
// comparison of the two ways, and the comparison is made up for later, for all frames at once.
enum way { both_ways, up, down };

struct block {
    // The state before the block, and after each of its frames.
    double states[1 + lane_count];
    // The pulls of the goals on the state: with the attack, and with the release.
    double rising[lane_count], falling[lane_count];
    enum way way;
};

struct walk {
    const kernel_gain_settings *settings;
    double state, attack_rest, release_rest, negative_release_rest;
    bool attack_is_faster, may_rise, may_fall;
};

// Computes the goals of a block, and supposes its direction from a state a little before it.
INLINE void prepare(const struct walk *walk, double state, const float *levels, struct block *block) {
    const kernel_gain_settings *s = walk->settings;
    f16 goal = goals(s, load16(levels));
    d8 low = first8(goal), high = last8(goal);
    store8d(block->rising, s->attack * low);
    store8d(block->rising + 8, s->attack * high);
    store8d(block->falling, s->release * low);
    store8d(block->falling + 8, s->release * high);
    i16 above = goal > spread16((float)state);
    bool any = __builtin_reduce_or(above), all = __builtin_reduce_and(above);
    if (any) block->way = all && walk->may_rise ? up : both_ways;
    else block->way = walk->may_fall ? down : both_ways;
}

INLINE double step(struct walk *walk, double rising, double falling) {
    double rise = walk->attack_rest * walk->state + rising;
    // The rest is negative, and subtracted: else the compiler packs both ways, and shuffles in each frame.
    double fall = falling - walk->negative_release_rest * walk->state;
    // Of the two ways the faster one is right on the way up, and the other on the way down.
    return walk->state = walk->attack_is_faster ? (rise > fall ? rise : fall) : (rise < fall ? rise : fall);
}

// Goes to the end of a block, or as many frames as there are.
INLINE void go(struct walk *walk, struct block *block, size_t count) {
    double *states = block->states + 1;
    block->states[0] = walk->state;
    if (count < lane_count) {
        block->way = both_ways;
        for (size_t k = 0; k < count; k++) states[k] = step(walk, block->rising[k], block->falling[k]);
        for (size_t k = count; k < lane_count; k++) states[k] = 0;
    } else if (block->way == both_ways) {
#pragma clang loop unroll(full)
        for (size_t k = 0; k < lane_count; k++) states[k] = step(walk, block->rising[k], block->falling[k]);
    } else {
        const double *pulls = block->way == up ? block->rising : block->falling;
        double rest = block->way == up ? walk->attack_rest : walk->release_rest, state = walk->state;
#pragma clang loop unroll(full)
        for (size_t k = 0; k < lane_count; k++) states[k] = state = rest * state + pulls[k];
        walk->state = state;
    }
}

// Indicates whether a block went the right way in each frame. If the two ways are equal, so are their bits.
INLINE bool is_right(const struct walk *walk, const struct block *block) {
    if (block->way == both_ways) return true;
    const double *pulls = block->way == up ? block->falling : block->rising;
    double rest = block->way == up ? walk->release_rest : walk->attack_rest;
    d8 first = load8d(block->states + 1), other_first = rest * load8d(block->states) + load8d(pulls);
    d8 last = load8d(block->states + 9), other_last = rest * load8d(block->states + 8) + load8d(pulls + 8);
    l8 right = walk->attack_is_faster ? (first >= other_first) & (last >= other_last)
                                      : (first <= other_first) & (last <= other_last);
    return __builtin_reduce_and(right);
}

INLINE void walk_gains(
    const kernel_gain_settings *s, double *state, const float *levels, float *gains, size_t count, bool attack_is_faster
) {
    // In a block a larger share passes some goals too often.
    const double most = 0.03;
    struct walk walk = {
        s, *state, 1 - s->attack, 1 - s->release, s->release - 1, attack_is_faster, s->attack < most, s->release < most,
    };
    struct block blocks[4];
    const size_t number = (count + lane_count - 1) / lane_count;
    for (size_t i = 0; i < 2 && i < number; i++) prepare(&walk, walk.state, levels + i * lane_count, &blocks[i]);
    for (size_t i = 0; i <= number;) {
        double before = walk.state;
        if (i < number) go(&walk, &blocks[i & 3], count - i * lane_count);
        // While the walk waits for itself, the block before is looked at, and one after the next is prepared.
        if (i > 0) {
            struct block *last = &blocks[(i - 1) & 3];
            if (!is_right(&walk, last)) {
                last->way = both_ways;
                walk.state = last->states[0];
                i -= 1;
                continue;
            }
            f16 reduction = narrow(load8d(last->states + 1), load8d(last->states + 9));
            store16(gains + (i - 1) * lane_count, s->dry + s->wet * exp2_16(s->octaves * reduction));
        }
        if (i + 2 < number) prepare(&walk, before, levels + (i + 2) * lane_count, &blocks[(i + 2) & 3]);
        i += 1;
    }
    *state = walk.state;
}

INLINE void gains_body(
    const kernel_gain_settings *settings, double *state, const float *levels, float *gains, size_t count
) {
    if (settings->attack >= settings->release) walk_gains(settings, state, levels, gains, count, true);
    else walk_gains(settings, state, levels, gains, count, false);
}

// For no longer vectors either: those of AVX-512 take longer.
KERNEL(void, gains,
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
