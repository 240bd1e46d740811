#include "Dispatch.h"

// A hard clip without most of what it would fold back. The sums are those of `ShapedWindow.hardClipped`, in the same order, for
// eight samples at a time.

INLINE d8 choose(l8 mask, d8 a, d8 b) { return (d8)(((l8)a & mask) | ((l8)b & ~mask)); }
INLINE d8 less(d8 a, d8 b) { return choose(a < b, a, b); }
INLINE d8 more(d8 a, d8 b) { return choose(a > b, a, b); }

INLINE d8 kept(d8 x) {
    const d8 one = {1, 1, 1, 1, 1, 1, 1, 1};
    return less(more(x, -one), one);
}

/// Three neighbours of each sample, sorted.
typedef struct { d8 a, b, c; } Window;

INLINE Window sorted(d8 first, d8 second, d8 third) {
    d8 low = less(first, second), high = more(first, second);
    return (Window){less(low, third), more(low, less(high, third)), more(high, third)};
}

INLINE d8 mean(Window w) { return (w.a + w.b + w.c) * (1 / 3.0); }

/// What `ShapedWindow.hardClipped` is where something is clipped, before it is kept from -1 to 1: it is beyond by less than what
/// rounding takes away.
INLINE d8 clipped(Window w) {
    d8 start = kept(w.a), middle = kept(w.b), end = kept(w.c);
    d8 p = w.c - middle, q = w.c - end, r = middle - w.a, s = start - w.a;
    d8 near = (w.b - w.a) + 1e-100, far = (w.c - w.b) + 1e-100;
    d8 above = p * p * p - q * q * q, below = r * r * r - s * s * s;
    return middle + (above * near - below * far) / (3 * (near + far) * (near * far));
}

INLINE f8 held(f8 x) {
    const f8 most = spread8(1e6f);
    i8 under = x < most;
    x = (f8)(((i8)x & under) | ((i8)most & ~under));
    i8 over = x > -most;
    return (f8)(((i8)x & over) | ((i8)-most & ~over));
}

INLINE int is_within(double x) { return x >= -1 && x <= 1; }

/// Clips eight samples. The eight before are replaced, and so is whether none of the last that count was beyond the limits.
INLINE f8 eight_clipped(f8 eight, d8 *past, int *was_quiet, int are_held) {
    d8 third = __builtin_convertvector(are_held ? eight : held(eight), d8);
    d8 first = __builtin_shufflevector(*past, third, 6, 7, 8, 9, 10, 11, 12, 13);
    d8 second = __builtin_shufflevector(*past, third, 7, 8, 9, 10, 11, 12, 13, 14);
    *past = third;
    int is_quiet = __builtin_reduce_and((eight >= -1) & (eight <= 1)) != 0, both = is_quiet & *was_quiet;
    *was_quiet = is_quiet;
    Window window = sorted(first, second, third);
    // Nothing is clipped in a quiet sound, which is asked once for all eight: the branch costs a loud one next to nothing.
    if (both) return __builtin_convertvector(mean(window), f8) + 0.0f;
    l8 is_straight = (window.a >= -1) & (window.c <= 1);
    f8 result = __builtin_convertvector(choose(is_straight, mean(window), clipped(window)), f8);
    // A sample that is not a number stays one; a finite sample adds 0 here.
    return are_held ? result + 0.0f : result + (eight - eight);
}

INLINE f8 some(const float *samples, size_t count) {
    f8 eight = {0};
    __builtin_memcpy(&eight, samples, count * sizeof(float));
    return eight;
}

/// Multiplies samples by a gain. Returns whether all of them are numbers that need not be held.
INLINE int scaled(float *samples, float gain, size_t count) {
    const f8 most = spread8(1e6f);
    i8 are_held = (i8){0} == 0;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        f8 eight = load8(samples + i) * gain;
        store8(samples + i, eight);
        are_held &= (eight >= -most) & (eight <= most);
    }
    if (i < count) {
        f8 eight = some(samples + i, count - i) * gain;
        __builtin_memcpy(samples + i, &eight, (count - i) * sizeof(float));
        are_held &= (eight >= -most) & (eight <= most);
    }
    return __builtin_reduce_and(are_held) != 0;
}

INLINE void clip_scaled(float *samples, double *past, size_t count, int are_held) {
    d8 last = {0, 0, 0, 0, 0, 0, past[1], past[0]};
    int was_quiet = is_within(past[0]) & is_within(past[1]);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) store8(samples + i, eight_clipped(load8(samples + i), &last, &was_quiet, are_held));
    past[0] = last[7];
    past[1] = last[6];
    size_t left = count - i;
    if (left == 0) return;
    f8 eight = eight_clipped(some(samples + i, left), &last, &was_quiet, are_held);
    __builtin_memcpy(samples + i, &eight, left * sizeof(float));
    past[1] = left > 1 ? last[left - 2] : past[0];
    past[0] = last[left - 1];
}

// Samples that must be held, or are no numbers, are rare. They have a loop of their own, so that the other one does not ask for
// them: the gain has to pass over the samples anyway.
INLINE void hard_clip_body(float *samples, double *past, float gain, size_t count) {
    if (scaled(samples, gain, count)) {
        clip_scaled(samples, past, count, 1);
    } else {
        clip_scaled(samples, past, count, 0);
    }
}

WIDE_KERNEL(void, hard_clip, (float *samples, double *past, float gain, size_t count), samples, past, gain, count)
