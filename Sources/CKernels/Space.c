#include "Dispatch.h"

// A source that moves: a ring read at a delay that goes along a parabola, between the middle two of 8 samples, by polynomials of
// the third degree for each pair of them (Farrow). Their numbers fit a delay best from 0 to 0.3 of the rate, low frequencies
// most of all, by least squares with the weight (f + 0.01)^-4: the error is -144 dB at 300 Hz, -132 at 1 kHz, -88 at 3 kHz, -78 at
// 5 kHz, -51 at 12 kHz (of 48 kHz), and none at 0.

INLINE f16 between_body(const f16 *x, f16 v) {
    // x[3 + m] and x[4 - m] lie m - ½ beside the middle: their sums and differences.
    f16 s1 = x[4] + x[3], s2 = x[5] + x[2], s3 = x[6] + x[1], s4 = x[7] + x[0];
    f16 d1 = x[4] - x[3], d2 = x[5] - x[2], d3 = x[6] - x[1], d4 = x[7] - x[0];
    f16 a = (s1 * 0.60741276f + s2 * -0.13709973f) + (s3 * 0.034516014f + s4 * -0.0048290296f);
    f16 b = (d1 * 1.2116997f + d2 * -0.08973523f) + (d3 * 0.013402083f + d4 * -0.0013578031f);
    f16 c = (s1 * -0.42965096f + s2 * 0.5483989f) + (s3 * -0.13806406f + s4 * 0.019316118f);
    f16 d = (d1 * -0.84679884f + d2 * 0.35894093f) + (d3 * -0.05360833f + d4 * 0.0054312125f);
    return ((d * v + c) * v + b) * v + a;
}

// Sixteen frames of a block belong together, wherever a part of it begins, so that all parts give the same bits. They are read
// around one sample, or around two neighbours, or, where the delay changes by more, each by itself.
INLINE void wander_body(
    const float *ring, int64_t mask, int64_t position, double delay, double step, double bend, int64_t first,
    float *output, size_t count
) {
    const f16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int64_t last = first + (int64_t)count;
    // The parabola goes at most 57 bends beside the line between its ends; the rest is for rounding.
    float curve = (float)bend, swing = (curve < 0 ? -curve : curve) * 57 + 1e-4f;
    for (int64_t frame = first & ~(int64_t)15; frame < last; frame += 16) {
        double at = (double)frame, exact = delay + at * (step + at * bend);
        float slope = (float)(step + 2 * at * bend);
        int64_t nearest = (int64_t)exact;
        // It stays above 0 for slopes down to -10.
        int64_t room = slope < -1 || slope + 32 * curve < -1 ? 176 : 16;
        float begin = (float)(exact - (double)nearest) + (float)room, end = 15 * (15 * curve + slope) + begin;
        int32_t low = (int32_t)((begin < end ? begin : end) - swing);
        int32_t high = (int32_t)((begin < end ? end : begin) + swing);
        f16 place = lanes * (lanes * curve + slope) + begin;
        int64_t base = position + frame - nearest + room - 4;
        f16 x[8], rest;
        if (low == high) {
            const float *from = ring + ((base - low) & mask);
            for (int k = 0; k < 8; k++) x[k] = load16(from + k);
            rest = place - (float)low;
        } else {
            i16 whole = __builtin_convertvector(place, i16);
            rest = place - __builtin_convertvector(whole, f16);
            if (high - low == 1) {
                // The oldest that any lane needs; the others lie one behind.
                const float *from = ring + ((base - high) & mask);
                i16 isOld = whole == high;
                f16 before = load16(from);
                for (int k = 0; k < 8; k++) {
                    f16 behind = load16(from + k + 1);
                    x[k] = (f16)(((i16)before & isOld) | ((i16)behind & ~isOld));
                    before = behind;
                }
            } else {
                float rows[8][16];
                int32_t wholes[16];
                __builtin_memcpy(wholes, &whole, sizeof wholes);
                for (int lane = 0; lane < 16; lane++) {
                    const float *from = ring + ((base + lane - wholes[lane]) & mask);
                    for (int k = 0; k < 8; k++) rows[k][lane] = from[k];
                }
                for (int k = 0; k < 8; k++) x[k] = load16(rows[k]);
            }
        }
        f16 heard = between_body(x, 0.5f - rest);
        if (frame >= first && last - frame >= 16) {
            store16(output + (frame - first), heard);
        } else {
            float all[16];
            store16(all, heard);
            for (int lane = 0; lane < 16; lane++) {
                if (frame + lane >= first && frame + lane < last) output[frame + lane - first] = all[lane];
            }
        }
    }
}

WIDE_KERNEL(void, wander,
    (const float *ring, int64_t mask, int64_t position, double delay, double step, double bend, int64_t first,
        float *output, size_t count),
    ring, mask, position, delay, step, bend, first, output, count)

// Filters that fade into others, with a bend: both share what they read, which is dear where it lies across lines of the cache.

#define FADE_OF(name, wide) \
    INLINE void name( \
        const float *past, const float *old, const float *new, const float *bend, size_t taps, bool fades, int32_t first, \
        float *output, size_t count \
    ) { \
        const f16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; \
        for (size_t i = 0; i < count; i += 16 * wide) { \
            f16 a[wide], b[wide], c[wide]; \
            for (int k = 0; k < wide; k++) a[k] = b[k] = c[k] = spread16(0); \
            const float *from = past + i; \
            if (fades) { \
                for (size_t tap = 0; tap < taps; tap++) { \
                    for (int k = 0; k < wide; k++) { \
                        f16 x = load16(from + 16 * k - tap); \
                        a[k] += x * old[tap]; \
                        b[k] += x * new[tap]; \
                    } \
                } \
                /* By itself: for three sums there are not enough registers. */ \
                for (size_t tap = 0; tap < taps; tap++) { \
                    for (int k = 0; k < wide; k++) c[k] += load16(from + 16 * k - tap) * bend[tap]; \
                } \
            } else { \
                for (size_t tap = 0; tap < taps; tap++) { \
                    for (int k = 0; k < wide; k++) b[k] += load16(from + 16 * k - tap) * new[tap]; \
                } \
            } \
            for (int k = 0; k < wide; k++) { \
                size_t start = i + 16 * (size_t)k; \
                f16 t = (lanes + (float)(first + (int32_t)start)) * 0x1p-7f; \
                store16(output + start, fades ? a[k] + t * ((b[k] - a[k]) + (t - 1) * c[k]) : b[k]); \
            } \
        } \
    }
FADE_OF(fade_filters_two, 1)
FADE_OF(fade_filters_four, 2)
FADE_OF(fade_filters_eight, 4)

KERNEL_IN_THREE(void, fade_filters, fade_filters_two, fade_filters_four, fade_filters_eight,
    (const float *past, const float *old, const float *new, const float *bend, size_t taps, bool fades, int32_t first,
        float *output, size_t count),
    past, old, new, bend, taps, fades, first, output, count)

// Filters between three others.

INLINE void blend_body(
    const float *first, const float *second, const float *third, float a, float b, float c, bool adds, float *filter,
    size_t taps
) {
    for (size_t i = 0; i < taps; i += 8) {
        f8 sum = (load8(first + i) * a + load8(second + i) * b) + load8(third + i) * c;
        store8(filter + i, adds ? load8(filter + i) + sum : sum);
    }
}

KERNEL(void, blend,
    (const float *first, const float *second, const float *third, float a, float b, float c, bool adds, float *filter,
        size_t taps),
    first, second, third, a, b, c, adds, filter, taps)

// A level that goes along a parabola: onto a sum.

INLINE void lay_body(float *sum, const float *samples, struct kernel_course level, int32_t first, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float frame = (float)(first + (int32_t)i);
        sum[i] += samples[i] * (level.from + frame * (level.step + frame * level.bend));
    }
}

WIDE_KERNEL(void, lay,
    (float *sum, const float *samples, struct kernel_course level, int32_t first, size_t count), sum, samples, level,
    first, count)

// From one sound to another.

INLINE void pass_over_body(
    float *samples, const float *old, float from, float step, int32_t first, bool smooth, size_t count
) {
    for (size_t i = 0; i < count; i++) {
        float t = from + step * (float)(first + (int32_t)i);
        float share = smooth ? t * t * (3 - 2 * t) : t;
        samples[i] = old[i] + (samples[i] - old[i]) * share;
    }
}

WIDE_KERNEL(void, pass_over,
    (float *samples, const float *old, float from, float step, int32_t first, bool smooth, size_t count), samples, old,
    from, step, first, smooth, count)

// The shadow of a sphere on what an ear hears: a pole, and a zero that goes along a parabola. With the pole's response in steps
// of eight, 1 / (1 + p/z) = (1 - p/z) (1 + p²/z²) (1 + p⁴/z⁴) / (1 - p⁸/z⁸), no frame waits for its neighbour.

INLINE void shadow_body(
    float *samples, float pole, struct kernel_course one, struct kernel_course zero, float *memory,
    int32_t first, size_t count
) {
    const f8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    float p2 = pole * pole, p4 = p2 * p2, p8 = p4 * p4;
    // Behind what is remembered: the input, the stages, the output of the pole.
    float x[80], u[80], v[80], w[80];
    store8(x, load8(memory));
    store8(u, load8(memory + 8));
    store8(v, load8(memory + 16));
    store8(w, load8(memory + 24));
    for (size_t i = 0; i < count; i += 8) {
        f8 input = load8(samples + i);
        store8(x + 8 + i, input);
        store8(u + 8 + i, input - load8(x + 7 + i) * pole);
    }
    for (size_t i = 0; i < count; i += 8) store8(v + 8 + i, load8(u + 8 + i) + load8(u + 6 + i) * p2);
    for (size_t i = 0; i < count; i += 8) {
        f8 all = load8(v + 8 + i) + load8(v + 4 + i) * p4;
        store8(w + 8 + i, all + load8(w + i) * p8);
    }
    for (size_t i = 0; i < count; i += 8) {
        f8 frame = lanes + (float)(first + (int32_t)i);
        store8(samples + i,
            (frame * (frame * one.bend + one.step) + one.from) * load8(w + 8 + i)
                + (frame * (frame * zero.bend + zero.step) + zero.from) * load8(w + 7 + i));
    }
    store8(memory, load8(x + count));
    store8(memory + 8, load8(u + count));
    store8(memory + 16, load8(v + count));
    store8(memory + 24, load8(w + count));
}

KERNEL(void, shadow,
    (float *samples, float pole, struct kernel_course one, struct kernel_course zero, float *memory, int32_t first,
        size_t count),
    samples, pole, one, zero, memory, first, count)

// One pole that opens and closes.

void kernel_soften(
    const float *samples, float *output, struct kernel_course opening, float *memory, int32_t first, size_t count
) {
    float a = *memory;
    for (size_t i = 0; i < count; i++) {
        float frame = (float)(first + (int32_t)i);
        a += (opening.from + frame * (opening.step + frame * opening.bend)) * (samples[i] - a);
        output[i] = a;
    }
    *memory = a;
}
