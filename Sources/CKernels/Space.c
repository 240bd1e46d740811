#include "Dispatch.h"

// A source that moves: a ring read at a delay that grows or shrinks evenly, between the middle two of 8 samples, by polynomials
// of the third degree for each pair of them (Farrow). Their numbers fit a delay best from 0 to 0.33 of the rate, low frequencies
// most of all: the error is -110 dB at 300 Hz, -86 at 3 kHz, -65 at 5 kHz, -44 at 12 kHz (of 48 kHz), and none at 0.

INLINE f16 between_body(const f16 *x, f16 v) {
    // x[3 + m] and x[4 - m] lie m - ½ beside the middle: their sums and differences.
    f16 s1 = x[4] + x[3], s2 = x[5] + x[2], s3 = x[6] + x[1], s4 = x[7] + x[0];
    f16 d1 = x[4] - x[3], d2 = x[5] - x[2], d3 = x[6] - x[1], d4 = x[7] - x[0];
    f16 a = (s1 * 0.61332643f + s2 * -0.14990276f) + (s3 * 0.044351324f + s4 * -0.0077750003f);
    f16 b = (d1 * 1.2214764f + d2 * -0.09665313f) + (d3 * 0.016568229f + d4 * -0.0020562417f);
    f16 c = (s1 * -0.4589733f + s2 * 0.6096163f) + (s3 * -0.18279414f + s4 * 0.032151148f);
    f16 d = (d1 * -0.8913244f + d2 * 0.38978058f) + (d3 * -0.067286216f + d4 * 0.008365488f);
    return ((d * v + c) * v + b) * v + a;
}

// Sixteen frames of a block belong together, wherever a part of it begins, so that all parts give the same bits.
INLINE void wander_body(
    const float *ring, int64_t mask, int64_t position, double delay, double step, int64_t first, float *output,
    size_t count
) {
    const f16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int64_t last = first + (int64_t)count;
    for (int64_t frame = first & ~(int64_t)15; frame < last; frame += 16) {
        double exact = delay + step * (double)frame;
        int64_t nearest = (int64_t)exact;
        // It stays above 0 for steps down to -10.
        int64_t room = step < -1 ? 160 : 16;
        f16 place = lanes * (float)step + ((float)(exact - (double)nearest) + (float)room);
        i16 whole = __builtin_convertvector(place, i16);
        f16 rest = place - __builtin_convertvector(whole, f16);
        int32_t start = whole[0], change = whole[15] - start;
        int64_t base = position + frame - nearest + room - 4;
        f16 x[8];
        if (change == 0) {
            const float *from = ring + ((base - start) & mask);
            for (int k = 0; k < 8; k++) x[k] = load16(from + k);
        } else if (change == 1 || change == -1) {
            // The oldest that any lane needs; the others lie one behind.
            const float *from = ring + ((base - start - (change > 0)) & mask);
            i16 isOld = change > 0 ? whole != start : whole == start;
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
    (const float *ring, int64_t mask, int64_t position, double delay, double step, int64_t first, float *output,
        size_t count),
    ring, mask, position, delay, step, first, output, count)

// Filters that fade into others: both share what they read, which is dear where it lies across lines of the cache.

#define FADE_OF(name, wide) \
    INLINE void name( \
        const float *past, const float *old, const float *new, size_t taps, bool fades, int32_t first, float *output, \
        size_t count \
    ) { \
        const f16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; \
        for (size_t i = 0; i < count; i += 16 * wide) { \
            f16 a[wide], b[wide]; \
            for (int k = 0; k < wide; k++) a[k] = b[k] = spread16(0); \
            const float *from = past + i; \
            if (fades) { \
                for (size_t tap = 0; tap < taps; tap++) { \
                    for (int k = 0; k < wide; k++) { \
                        f16 x = load16(from + 16 * k - tap); \
                        a[k] += x * old[tap]; \
                        b[k] += x * new[tap]; \
                    } \
                } \
            } else { \
                for (size_t tap = 0; tap < taps; tap++) { \
                    for (int k = 0; k < wide; k++) b[k] += load16(from + 16 * k - tap) * new[tap]; \
                } \
            } \
            for (int k = 0; k < wide; k++) { \
                size_t start = i + 16 * (size_t)k; \
                f16 t = (lanes + (float)(first + (int32_t)start)) * 0x1p-6f; \
                store16(output + start, fades ? a[k] + (b[k] - a[k]) * t : b[k]); \
            } \
        } \
    }
FADE_OF(fade_filters_two, 1)
FADE_OF(fade_filters_four, 2)
FADE_OF(fade_filters_eight, 4)

KERNEL_IN_THREE(void, fade_filters, fade_filters_two, fade_filters_four, fade_filters_eight,
    (const float *past, const float *old, const float *new, size_t taps, bool fades, int32_t first, float *output,
        size_t count),
    past, old, new, taps, fades, first, output, count)

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

// A level that goes in a straight line: onto a sum.

INLINE void lay_body(float *sum, const float *samples, float from, float step, int32_t first, size_t count) {
    for (size_t i = 0; i < count; i++) sum[i] += samples[i] * (from + step * (float)(first + (int32_t)i));
}

WIDE_KERNEL(void, lay, (float *sum, const float *samples, float from, float step, int32_t first, size_t count), sum,
    samples, from, step, first, count)

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

// The shadow of a sphere on what an ear hears: a pole, and a zero that goes in a straight line. With the pole's response in steps
// of eight, 1 / (1 + p/z) = (1 - p/z) (1 + p²/z²) (1 + p⁴/z⁴) / (1 - p⁸/z⁸), no frame waits for its neighbour.

INLINE void shadow_body(
    float *samples, float pole, float from, float step, float zeroFrom, float zeroStep, float *memory, int32_t first,
    size_t count
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
            (frame * step + from) * load8(w + 8 + i) + (frame * zeroStep + zeroFrom) * load8(w + 7 + i));
    }
    store8(memory, load8(x + count));
    store8(memory + 8, load8(u + count));
    store8(memory + 16, load8(v + count));
    store8(memory + 24, load8(w + count));
}

KERNEL(void, shadow,
    (float *samples, float pole, float from, float step, float zeroFrom, float zeroStep, float *memory, int32_t first,
        size_t count),
    samples, pole, from, step, zeroFrom, zeroStep, memory, first, count)

// One pole that opens and closes.

void kernel_soften(
    const float *samples, float *output, float from, float step, float *memory, int32_t first, size_t count
) {
    float a = *memory;
    for (size_t i = 0; i < count; i++) {
        a += (from + step * (float)(first + (int32_t)i)) * (samples[i] - a);
        output[i] = a;
    }
    *memory = a;
}
