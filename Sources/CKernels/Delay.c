#include "Dispatch.h"

// A delay line between two samples: every frame is a weighted sum of its neighbours, the oldest with the last weight.

#define EACH _Pragma("clang loop unroll(full)") for (size_t b = 0; b < blocks; b++)

/// @param blocks How many times sixteen frames at once, so that sums wait for each other as little as may be.
INLINE void combine_blocks(
    size_t blocks, const float *weights, size_t taps, const float *past, float *output, size_t count
) {
    size_t i = 0;
    for (; i + 16 * blocks <= count; i += 16 * blocks) {
        f16 sum[4] = {{0}};
        const float *from = past + i + (taps - 1);
        for (size_t tap = 0; tap < taps; tap++, from--) EACH sum[b] += weights[tap] * load16(from + 16 * b);
        EACH store16(output + i + 16 * b, sum[b]);
    }
    for (; i + 8 <= count; i += 8) {
        f8 a = {0};
        for (size_t tap = 0; tap < taps; tap++) a += weights[tap] * load8(past + i + (taps - 1 - tap));
        store8(output + i, a);
    }
    for (; i < count; i++) {
        float sum = 0;
        for (size_t tap = 0; tap < taps; tap++) sum += weights[tap] * past[i + (taps - 1 - tap)];
        output[i] = sum;
    }
}

INLINE void combine_narrow(const float *weights, size_t taps, const float *past, float *output, size_t count) {
    combine_blocks(2, weights, taps, past, output, count);
}

INLINE void combine_wide(const float *weights, size_t taps, const float *past, float *output, size_t count) {
    combine_blocks(4, weights, taps, past, output, count);
}

KERNEL_OF(void, combine, combine_narrow, combine_wide,
    (const float *weights, size_t taps, const float *past, float *output, size_t count),
    weights, taps, past, output, count)

// Computes the sound that goes into a delay line, and the sound that is heard of it. In the loop, sound is held below
// +18 dB, and left as it is up to +12 dB. Samples that are tiny, or no number, are zero in the line, so that echoes end
// and a bad sample does not come back.
INLINE void feed_some(
    const float *restrict echo, const float *restrict round, const float *restrict feedback, const float *restrict mix,
    float *restrict samples, float *restrict line, size_t count, bool isLoud
) {
    for (size_t i = 0; i < count; i++) {
        float held = round[i];
        if (isLoud) {
            float size = __builtin_fabsf(held), excess = (size - 4) * 0.25f;
            held = size <= 4 ? held : __builtin_copysignf(4 + 4 * (excess / (1 + excess)), held);
        }
        float input = samples[i], fed = input + feedback[i] * held, loudness = __builtin_fabsf(fed);
        line[i] = ((loudness > 1e-30f) & (loudness < 1e30f)) ? fed : 0;
        samples[i] = input * (1 - mix[i]) + echo[i] * mix[i];
    }
}

INLINE void feed_body(
    const float *restrict echo, const float *restrict round, const float *restrict feedback, const float *restrict mix,
    float *restrict samples, float *restrict line, size_t count
) {
    // A division that hardly anything needs is left out where nothing does.
    int32_t loud = 0;
    for (size_t i = 0; i < count; i++) loud |= !(__builtin_fabsf(round[i]) <= 4);
    if (loud) {
        feed_some(echo, round, feedback, mix, samples, line, count, true);
    } else {
        feed_some(echo, round, feedback, mix, samples, line, count, false);
    }
}

WIDE_KERNEL(void, feed,
    (const float *echo, const float *round, const float *feedback, const float *mix, float *samples, float *line,
        size_t count),
    echo, round, feedback, mix, samples, line, count)
