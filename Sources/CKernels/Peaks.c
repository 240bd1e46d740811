#include "Dispatch.h"

// The peaks of a signal between its samples, at eight times the rate: frames in the lanes.
//
// Half-way between two samples is the hard place, because a signal may be full of what is just below half of the rate:
// that takes a long filter, which is the same to both sides. With these samples the rate is doubled, there is nothing in
// the upper half, and eight taps are enough for all other places.

// `halves[i]` lies between `behind[i - 1]` and `behind[i]`. Computes 16 or 32 frames at a time: as many as there are
// registers for.
INLINE void some_halves(const float *weights, size_t taps, const float *right, float *halves, bool isDouble) {
    const float *left = right - 1;
    f16 a = {0}, b = {0};
    for (size_t k = 0; k < taps; k++) {
        f16 weight = spread16(weights[k]);
        a += weight * (load16(left) + load16(right));
        if (isDouble) b += weight * (load16(left + 16) + load16(right + 16));
        left--;
        right++;
    }
    store16(halves, a);
    if (isDouble) store16(halves + 16, b);
}

INLINE void halves_body(const float *weights, size_t taps, const float *behind, float *halves, size_t count) {
    size_t i = 0;
    for (; i + 16 < count; i += 32) some_halves(weights, taps, behind + i, halves + i, true);
    if (i < count) some_halves(weights, taps, behind + i, halves + i, false);
}

KERNEL(void, halves, (const float *weights, size_t taps, const float *behind, float *halves, size_t count),
    weights, taps, behind, halves, count)

// A sample that is not a number is no peak.
INLINE f8 higher(f8 peak, f8 sample) {
    f8 magnitude = (f8)((u8)sample & 0x7fffffffu);
    i8 isHigher = magnitude > peak;
    return (f8)((isHigher & (i8)magnitude) | (~isHigher & (i8)peak));
}

INLINE f8 place8(const float *w, f8 a, f8 b, f8 c, f8 d, f8 e, f8 f, f8 g, f8 h) {
    return ((a * w[0] + b * w[1]) + (c * w[2] + d * w[3])) + ((e * w[4] + f * w[5]) + (g * w[6] + h * w[7]));
}

// Eight frames at a time. Three places between each two neighbours, of which every second is a half.
INLINE void peaks_body(
    const float *weights, const float *samples, const float *halves, float *peaks, size_t count
) {
    for (size_t i = 0; i < count; i += 8) {
        const float *x = samples + i, *m = halves + i;
        f8 peak = higher(load8(peaks + i), load8(x));
        peak = higher(peak, load8(m));
        for (int place = 0; place < 3; place++) {
            const float *w = weights + 8 * place;
            peak = higher(peak, place8(w, load8(m - 2), load8(x - 1), load8(m - 1), load8(x), load8(m), load8(x + 1),
                load8(m + 1), load8(x + 2)));
            peak = higher(peak, place8(w, load8(x - 1), load8(m - 1), load8(x), load8(m), load8(x + 1), load8(m + 1),
                load8(x + 2), load8(m + 2)));
        }
        store8(peaks + i, peak);
    }
}

KERNEL(void, peaks, (const float *weights, const float *samples, const float *halves, float *peaks, size_t count),
    weights, samples, halves, peaks, count)
