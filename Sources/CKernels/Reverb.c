#include "Reverb.h"

// The turns of a feedback delay network, the lines before it, and what is behind it, up to 64 frames at a time.

// The sine of angles in quarter turns, from -1 to 1, as `RenderMath` computes it.
INLINE f8 quarter_sine(f8 q) {
    f8 z = q * q;
    f8 p = z * 0.00015148511247278685f + -0.0046737665849350225f;
    p = p * z + 0.0796896789306073f;
    p = p * z + -0.6459637105972021f;
    p = p * z + 0.5707963184479123f;
    return q + q * p;
}

// Lets eight numbers go on from where their ramps end to others.
INLINE void lead(float *row, float *slope, f8 target) {
    f8 start = load8(row) + load8(slope) * (float)piece;
    store8(row, start);
    store8(slope, (target - start) * (1.0f / piece));
}

INLINE void turn_body(float *numbers, size_t lines, uint32_t *phases, const uint32_t *steps, float swing) {
    for (size_t pair = 0; 2 * pair < lines; pair += 8) {
        u8 phase, step;
        __builtin_memcpy(&phase, phases + pair, sizeof phase);
        __builtin_memcpy(&step, steps + pair, sizeof step);
        phase += step;
        __builtin_memcpy(phases + pair, &phase, sizeof phase);
        // Without a swing nothing is left, to the last bit.
        f8 cosine = spread8(1), sine = {0};
        if (swing > 0) {
            u8 half = (phase + 0x40000000u) & 0x80000000u;
            f8 wave = quarter_sine(__builtin_convertvector((i8)(phase - half), f8) * 0x1p-30f);
            f8 angle = swing * (f8)((u8)wave ^ half);
            // Angles within a quarter turn need no look at the whole turns.
            sine = quarter_sine(4 * angle);
            cosine = quarter_sine(1 - 4 * (f8)((u8)angle & 0x7fffffff));
        }
        f8 other = -sine;
#define LEAD(name, x, y, line, ...) lead( \
    numbers + network_##name * lines + line, numbers + network_##name##_slope * lines + line, \
    __builtin_shufflevector(x, y, __VA_ARGS__))
        LEAD(cosine, cosine, cosine, 2 * pair, 0, 0, 1, 1, 2, 2, 3, 3);
        LEAD(sine, other, sine, 2 * pair, 0, 8, 1, 9, 2, 10, 3, 11);
        if (lines == 8) return;
        LEAD(cosine, cosine, cosine, 2 * pair + 8, 4, 4, 5, 5, 6, 6, 7, 7);
        LEAD(sine, other, sine, 2 * pair + 8, 4, 12, 5, 13, 6, 14, 7, 15);
#undef LEAD
    }
}

KERNEL(void, turn,
    (float *numbers, size_t lines, uint32_t *phases, const uint32_t *steps, float swing), numbers, lines, phases, steps, swing)

// A sample older than the ring counts as zero.
INLINE f8 since(f8 x, int32_t age, int32_t delay) {
    const i8 steps = {0, 1, 2, 3, 4, 5, 6, 7};
    return (f8)((i8)x & (steps + age >= delay));
}

enum { most_stages = 4, most_taps = 16 };

// Frames go through four filters that are old enough, four vectors at a time: each of them waits for itself from filter to
// filter. Returns the number of the first frame that is left.
#define DIFFUSE_FOUR(size, times) \
INLINE size_t diffuse_four_##size( \
    float *restrict const *lines, const float *const *past, f##size gain, f##size slope, int32_t first, \
    float *restrict samples, size_t i, size_t count \
) { \
    for (; i + 4 * size <= count; i += 4 * size) { \
        f##size x[4], g[4]; \
        for (size_t k = 0; k < 4; k++) { \
            x[k] = load##size(samples + i + k * size); \
            g[k] = gain + slope * times(first + (int32_t)(i + k * size)); \
        } \
        _Pragma("clang loop unroll(full)") \
        for (size_t stage = 0; stage < most_stages; stage++) { \
            for (size_t k = 0; k < 4; k++) { \
                f##size held = load##size(past[stage] + i + k * size); \
                f##size in = without_dust_##size(x[k] + g[k] * held); \
                x[k] = held - g[k] * in; \
                store##size(lines[stage] + i + k * size, in); \
            } \
        } \
        for (size_t k = 0; k < 4; k++) store##size(samples + i + k * size, x[k]); \
    } \
    return i; \
}
DIFFUSE_FOUR(8, times_from)
DIFFUSE_FOUR(16, sixteen_times_from)

// Eight frames at a time go through all filters. Behind the last of `count` there is room.
INLINE void diffuse_through(
    float *restrict const *lines, const float *const *past, int32_t age, const int32_t *delays, const size_t stages,
    f8 gain, f8 slope, int32_t first, float *restrict samples, size_t i, size_t count, const bool young
) {
    for (; i < count; i += 8) {
        f8 x = load8(samples + i), g = gain + slope * times_from(first + (int32_t)i);
        for (size_t stage = 0; stage < stages; stage++) {
            f8 held = load8(past[stage] + i);
            if (young) held = since(held, age + (int32_t)i, delays[stage]);
            f8 in = without_dust_8(x + g * held);
            x = held - g * in;
            store8(lines[stage] + i, in);
        }
        store8(samples + i, x);
    }
}

INLINE void diffuse_body(
    float *restrict ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, size_t stages,
    float gain, float slope, int32_t first, float *restrict samples, size_t count, const int width
) {
    float *lines[most_stages];
    const float *past[most_stages];
    const int32_t place = position & mask;
    bool young = false;
    // A few numbers are not worth vectors.
#pragma clang loop vectorize(disable)
    for (size_t stage = 0; stage < stages; stage++) {
        lines[stage] = ring + stage * stride + place;
        past[stage] = ring + stage * stride + ((position - delays[stage]) & mask);
        young |= age < delays[stage];
    }
    size_t i = 0;
    // Short vectors have too few registers for that.
    bool isUsual = stages == most_stages && !young;
#define FOUR(size) \
    if (isUsual && width >= size) \
        i = diffuse_four_##size(lines, past, spread##size(gain), spread##size(slope), first, samples, i, count);
    FOUR(16)
    FOUR(8)
#undef FOUR
#define THROUGH(stages, young) diffuse_through( \
    lines, past, age, delays, stages, spread8(gain), spread8(slope), first, samples, i, count, young)
    if (isUsual) THROUGH(most_stages, false);
    else THROUGH(stages, true);
#undef THROUGH
    if (place < piece) for (size_t stage = 0; stage < stages; stage++) repeat(lines[stage], mask, count);
}

#define DIFFUSE_NARROW(...) diffuse_body(__VA_ARGS__, 4)
#define DIFFUSE_WIDE(...) diffuse_body(__VA_ARGS__, 8)
#define DIFFUSE_WIDEST(...) diffuse_body(__VA_ARGS__, 16)
KERNEL_IN_THREE(void, diffuse, DIFFUSE_NARROW, DIFFUSE_WIDE, DIFFUSE_WIDEST,
    (float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, size_t stages, float gain,
        float slope, int32_t first, float *samples, size_t count),
    ring, stride, mask, position, age, delays, stages, gain, slope, first, samples, count)

INLINE void remember_body(
    float *restrict ring, int32_t mask, int32_t position, const float *restrict samples, size_t count
) {
    float *to = ring + (position & mask);
    for (size_t i = 0; i < count; i++) {
        float size = __builtin_fabsf(samples[i]);
        to[i] = ((size > 1e-12f) & (size < 1e10f)) ? samples[i] : 0;
    }
    if ((position & mask) < piece) for (size_t i = 0; i < count; i++) to[i + mask + 1] = to[i];
}

KERNEL(void, remember,
    (float *ring, int32_t mask, int32_t position, const float *samples, size_t count), ring, mask, position, samples, count)

// Adds taps that are old enough to four vectors at a time: the sum of each waits for its last tap. Returns the number of the
// first frame that is left.
#define ADD_FOUR(size, times) \
INLINE size_t add_four_##size( \
    const float *const *past, const float *gains, size_t taps, float gain, float slope, int32_t first, \
    float *restrict sum, size_t i, size_t count \
) { \
    for (; i + 4 * size <= count; i += 4 * size) { \
        f##size all[4] = {0}; \
        for (size_t tap = 0; tap < taps; tap++) \
            for (size_t k = 0; k < 4; k++) all[k] += load##size(past[tap] + i + k * size) * gains[tap]; \
        for (size_t k = 0; k < 4; k++) { \
            float *to = sum + i + k * size; \
            store##size(to, load##size(to) + all[k] * (gain + slope * times(first + (int32_t)(i + k * size)))); \
        } \
    } \
    return i; \
}
ADD_FOUR(8, times_from)
ADD_FOUR(16, sixteen_times_from)

INLINE void add_past_body(
    const float *restrict ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *lines,
    const int32_t *delays, const float *gains, size_t taps, float gain, float slope, int32_t first, float *restrict sum,
    size_t count, const int width
) {
    const float *past[most_taps];
    bool young = false;
#pragma clang loop vectorize(disable)
    for (size_t tap = 0; tap < taps; tap++) {
        past[tap] = ring + (size_t)lines[tap] * stride + ((position - delays[tap]) & mask);
        young |= age < delays[tap];
    }
    size_t i = 0;
#define FOUR(size) \
    if (!young && width >= size) \
        i = add_four_##size(past, gains, taps, gain, slope, first, sum, i, count);
    FOUR(16)
    FOUR(8)
#undef FOUR
    for (; i < count; i += 8) {
        f8 all = {0};
        for (size_t tap = 0; tap < taps; tap++)
            all += since(load8(past[tap] + i), age + (int32_t)i, delays[tap]) * gains[tap];
        store8(sum + i, load8(sum + i) + all * (gain + slope * times_from(first + (int32_t)i)));
    }
}

#define ADD_PAST(...) add_past_body(__VA_ARGS__, 8)
#define ADD_PAST_WIDEST(...) add_past_body(__VA_ARGS__, 16)
KERNEL_IN_THREE(void, add_past, ADD_PAST, ADD_PAST, ADD_PAST_WIDEST,
    (const float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *lines, const int32_t *delays,
        const float *gains, size_t taps, float gain, float slope, int32_t first, float *sum, size_t count),
    ring, stride, mask, position, age, lines, delays, gains, taps, gain, slope, first, sum, count)

INLINE void widen_body(
    const float *restrict late, size_t lane, size_t other, float width, float slope, int32_t first, float *restrict left,
    float *restrict right, size_t count
) {
    for (size_t i = 0; i < count; i += 8) {
        f8 a = load8(late + piece * lane + i) + load8(left + i), b = load8(late + piece * other + i) + load8(right + i);
        f8 middle = 0.5f * (a + b), side = 0.5f * (a - b) * (width + slope * times_from(first + (int32_t)i));
        store8(left + i, middle + side);
        store8(right + i, middle - side);
    }
}

KERNEL(void, widen,
    (const float *late, size_t lane, size_t other, float width, float slope, int32_t first, float *left, float *right,
        size_t count),
    late, lane, other, width, slope, first, left, right, count)
