#include "Dispatch.h"

// A hard clip without most of what it would fold back. The sums are those of `ShapedWindow.hardClipped`, in the same order, for
// four samples at a time.

typedef int64_t l4 __attribute__((vector_size(32)));

INLINE d4 choose(l4 mask, d4 a, d4 b) { return (d4)(((l4)a & mask) | ((l4)b & ~mask)); }
INLINE d4 less(d4 a, d4 b) { return choose(a < b, a, b); }
INLINE d4 more(d4 a, d4 b) { return choose(a < b, b, a); }

/// The mean of a bend: 0 below 0, straight up above.
INLINE d4 bend(d4 a, d4 b, d4 c) {
    const d4 zero = {0};
    l4 up = b > zero;
    d4 single = choose(up, choose(a < zero, a, zero), choose(c > zero, c, zero)), near = choose(up, b - a, c - b);
    d4 share = single * single * single / (3 * near * (c - a) + 1e-300);
    return choose(up, (a + b + c) * (1 / 3.0), zero) + choose(up, -share, share);
}

INLINE d4 clipped(d4 first, d4 second, d4 third) {
    const d4 one = {1, 1, 1, 1};
    d4 low = less(first, second), high = more(first, second);
    d4 upper = choose(third < high, third, high);
    d4 a = choose(low < third, low, third), b = choose(low < upper, upper, low), c = choose(high < third, third, high);
    d4 mean = (a + b + c) * (1 / 3.0);
    d4 x = mean - bend(a - 1, b - 1, c - 1) + bend(-1 - c, -1 - b, -1 - a);
    x = choose(x < one, choose(x > -one, x, -one), one);
    return choose(a >= one, one, choose(c <= -one, -one, x));
}

INLINE double held(float sample) { return sample < 1e6 ? (sample > -1e6 ? sample : -1e6) : 1e6; }

INLINE void hard_clip_body(float *samples, double *past, size_t count) {
    if (count == 0) return;
    double last = held(samples[count - 1]), before = count > 1 ? held(samples[count - 2]) : past[0];
    const d4 limit = {1e6, 1e6, 1e6, 1e6};
    d4 previous = {0, 0, past[1], past[0]};
    for (size_t i = 0; i < count; i += 4) {
        size_t left = count - i;
        f4 four = {0};
        if (left >= 4) __builtin_memcpy(&four, samples + i, sizeof four);
        else
            for (size_t k = 0; k < left; k++) four[k] = samples[i + k];
        d4 x = __builtin_convertvector(four, d4);
        d4 third = choose(x < limit, choose(x > -limit, x, -limit), limit);
        d4 first = __builtin_shufflevector(previous, third, 2, 3, 4, 5);
        d4 second = __builtin_shufflevector(previous, third, 3, 4, 5, 6);
        previous = third;
        // A sample that is not a number stays one; a finite sample adds 0 here.
        four = __builtin_convertvector(clipped(first, second, third) + (x - x), f4);
        if (left >= 4) __builtin_memcpy(samples + i, &four, sizeof four);
        else
            for (size_t k = 0; k < left; k++) samples[i + k] = four[k];
    }
    past[0] = last;
    past[1] = before;
}

KERNEL(void, hard_clip, (float *samples, double *past, size_t count), samples, past, count)
