#include "Dispatch.h"

// The peaks of a signal between its samples, at eight times the rate: frames in the lanes.
//
// Half-way between two samples is the hard place, because a signal may be full of what is just below half of the rate:
// that takes a long filter, which is the same to both sides. With these samples the rate is doubled, there is nothing in
// the upper half, and eight taps are enough for all other places.

// `halves[i]` lies between `behind[i - 1]` and `behind[i]`. A sample 16 frames further on is needed again 16 taps later: so taps
// are taken in steps of 16, and samples stay in registers, because loading them would take longer than the sums. All forms add up
// in this order.
enum { half_taps = 128, half_step = 16, half_rounds = half_taps / half_step };

// Some times 16 frames at once, for the many registers of AVX-512.
INLINE void many_halves(const float *weights, const float *behind, float *halves, const size_t blocks) {
    f16 sums[5] = {{0}, {0}, {0}, {0}, {0}};
    for (size_t r = 0; r < half_step; r++) {
        f16 left[half_rounds + 4], right[half_rounds + 4];
#pragma clang loop unroll(full)
        for (size_t m = 0; m < half_rounds - 1 + blocks; m++) {
            right[m] = load16(behind + r + half_step * m);
            left[m] = load16(behind - 1 - r - half_step * (half_rounds - 1) + half_step * m);
        }
#pragma clang loop unroll(full)
        for (size_t j = 0; j < half_rounds; j++) {
            f16 weight = spread16(weights[r + half_step * j]);
#pragma clang loop unroll(full)
            for (size_t b = 0; b < blocks; b++) sums[b] += weight * (left[b + half_rounds - 1 - j] + right[b + j]);
        }
    }
#pragma clang loop unroll(full)
    for (size_t b = 0; b < blocks; b++) store16(halves + half_step * b, sums[b]);
}

INLINE void halves_by_many(const float *weights, const float *behind, float *halves, size_t count) {
    for (size_t blocks = (count + 15) / 16; blocks > 0;) {
        size_t now = blocks > 5 ? (blocks < 8 ? 4 : 5) : blocks;
        switch (now) {
        case 5: many_halves(weights, behind, halves, 5); break;
        case 4: many_halves(weights, behind, halves, 4); break;
        case 3: many_halves(weights, behind, halves, 3); break;
        case 2: many_halves(weights, behind, halves, 2); break;
        default: many_halves(weights, behind, halves, 1);
        }
        behind += 16 * now;
        halves += 16 * now;
        blocks -= now;
    }
}

// Some times eight frames at once; the next round uses two of the blocks again.
INLINE void few_halves(const float *weights, const float *behind, float *halves, const size_t blocks) {
    f8 sums[4] = {{0}, {0}, {0}, {0}};
    for (size_t r = 0; r < half_step; r++) {
        const float *from = behind + r, *to = behind - 1 - r;
        f8 left[4], right[4];
#pragma clang loop unroll(full)
        for (size_t b = 0; b < blocks; b++) {
            right[b] = load8(from + 8 * b);
            left[b] = load8(to + 8 * b);
        }
#pragma clang loop unroll(full)
        for (size_t j = 0; j < half_rounds; j++) {
            f8 weight = spread8(weights[r + half_step * j]);
#pragma clang loop unroll(full)
            for (size_t b = 0; b < blocks; b++) sums[b] += weight * (left[b] + right[b]);
            if (j + 1 == half_rounds) break;
            from += half_step;
            to -= half_step;
#pragma clang loop unroll(full)
            for (size_t b = 0; b < blocks; b++) {
                size_t c = blocks - 1 - b;
                right[b] = b + 2 < blocks ? right[b + 2] : load8(from + 8 * b);
                left[c] = c >= 2 ? left[c - 2] : load8(to + 8 * c);
            }
        }
    }
#pragma clang loop unroll(full)
    for (size_t b = 0; b < blocks; b++) store8(halves + 8 * b, sums[b]);
}

INLINE void halves_by_few(const float *weights, const float *behind, float *halves, size_t count) {
    size_t blocks = (count + 7) / 8;
    // Parts of about the same length: a short one takes as long as one of three blocks.
    for (size_t parts = (blocks + 3) / 4; parts > 0; parts--) {
        size_t now = (blocks + parts - 1) / parts;
        switch (now) {
        case 4: few_halves(weights, behind, halves, 4); break;
        case 3: few_halves(weights, behind, halves, 3); break;
        case 2: few_halves(weights, behind, halves, 2); break;
        default: few_halves(weights, behind, halves, 1);
        }
        behind += 8 * now;
        halves += 8 * now;
        blocks -= now;
    }
}

KERNEL_IN_THREE(void, halves, halves_by_few, halves_by_few, halves_by_many, (const float *weights, const float *behind, float *halves, size_t count),
    weights, behind, halves, count)

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
