#include "Dispatch.h"

// A hard clip without most of what it would fold back. The sums are those of `ShapedWindow.hardClipped`, in the same order, for
// eight samples at a time.

INLINE d8 choose(l8 mask, d8 a, d8 b) { return (d8)(((l8)a & mask) | ((l8)b & ~mask)); }
INLINE d8 less(d8 a, d8 b) { return choose(a < b, a, b); }
INLINE d8 more(d8 a, d8 b) { return choose(a < b, b, a); }

/// The mean of a bend: 0 below 0, straight up above.
INLINE d8 bend(d8 a, d8 b, d8 c) {
    const d8 zero = {0};
    l8 up = b > zero;
    d8 single = choose(up, choose(a < zero, a, zero), choose(c > zero, c, zero)), near = choose(up, b - a, c - b);
    d8 share = single * single * single / (3 * near * (c - a) + 1e-300);
    return choose(up, (a + b + c) * (1 / 3.0), zero) + choose(up, -share, share);
}

INLINE d8 clipped(d8 first, d8 second, d8 third) {
    const d8 one = {1, 1, 1, 1, 1, 1, 1, 1};
    d8 low = less(first, second), high = more(first, second);
    d8 upper = choose(third < high, third, high);
    d8 a = choose(low < third, low, third), b = choose(low < upper, upper, low), c = choose(high < third, third, high);
    d8 mean = (a + b + c) * (1 / 3.0);
    // If nothing is clipped both bends are 0, which takes the sign of a zero.
    if (__builtin_reduce_and((a > -one) & (c < one))) return mean + 0.0;
    d8 x = mean - bend(a - 1, b - 1, c - 1) + bend(-1 - c, -1 - b, -1 - a);
    x = choose(x < one, choose(x > -one, x, -one), one);
    return choose(a >= one, one, choose(c <= -one, -one, x));
}

INLINE double held(float sample) { return sample < 1e6 ? (sample > -1e6 ? sample : -1e6) : 1e6; }

INLINE void hard_clip_body(float *samples, double *past, size_t count) {
    if (count == 0) return;
    double last = held(samples[count - 1]), before = count > 1 ? held(samples[count - 2]) : past[0];
    const d8 limit = {1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6};
    d8 previous = {0, 0, 0, 0, 0, 0, past[1], past[0]};
    for (size_t i = 0; i < count; i += 8) {
        size_t left = count - i;
        f8 eight = {0};
        if (left >= 8) __builtin_memcpy(&eight, samples + i, sizeof eight);
        else
            for (size_t k = 0; k < left; k++) eight[k] = samples[i + k];
        d8 x = __builtin_convertvector(eight, d8);
        d8 third = choose(x < limit, choose(x > -limit, x, -limit), limit);
        d8 first = __builtin_shufflevector(previous, third, 6, 7, 8, 9, 10, 11, 12, 13);
        d8 second = __builtin_shufflevector(previous, third, 7, 8, 9, 10, 11, 12, 13, 14);
        previous = third;
        // A sample that is not a number stays one; a finite sample adds 0 here.
        eight = __builtin_convertvector(clipped(first, second, third) + (x - x), f8);
        if (left >= 8) __builtin_memcpy(samples + i, &eight, sizeof eight);
        else
            for (size_t k = 0; k < left; k++) samples[i + k] = eight[k];
    }
    past[0] = last;
    past[1] = before;
}

WIDE_KERNEL(void, hard_clip, (float *samples, double *past, size_t count), samples, past, count)
