#include "Dispatch.h"

// Filters that fade into others, with a bend: the two share what they read, which is dear where it lies across lines of the cache.

#define FADE_OF(name, wide) \
    INLINE void name( \
        const float *past, const float *old, const float *new, const float *bend, size_t taps, int32_t first, float *output, \
        size_t count \
    ) { \
        const f16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; \
        for (size_t i = 0; i < count; i += 16 * wide) { \
            f16 a[wide], b[wide]; \
            for (int k = 0; k < wide; k++) a[k] = b[k] = spread16(0); \
            const float *from = past + i; \
            if (old) { \
                _Pragma("unroll 2") for (size_t tap = 0; tap < taps; tap++) { \
                    for (int k = 0; k < wide; k++) { \
                        f16 x = load16(from + 16 * k - tap); \
                        a[k] += x * old[tap]; \
                        b[k] += x * new[tap]; \
                    } \
                } \
                for (int k = 0; k < wide; k++) b[k] -= a[k]; \
                if (bend) { \
                    /* By itself: for three sums there are not enough registers. */ \
                    f16 c[wide]; \
                    for (int k = 0; k < wide; k++) c[k] = spread16(0); \
                    _Pragma("unroll 2") for (size_t tap = 0; tap < taps; tap++) { \
                        for (int k = 0; k < wide; k++) c[k] += load16(from + 16 * k - tap) * bend[tap]; \
                    } \
                    for (int k = 0; k < wide; k++) { \
                        f16 t = (lanes + (float)(first + (int32_t)i + 16 * k)) * 0x1p-7f; \
                        b[k] += (t - 1) * c[k]; \
                    } \
                } \
                for (int k = 0; k < wide; k++) { \
                    f16 t = (lanes + (float)(first + (int32_t)i + 16 * k)) * 0x1p-7f; \
                    store16(output + i + 16 * k, a[k] + t * b[k]); \
                } \
            } else { \
                _Pragma("unroll 2") for (size_t tap = 0; tap < taps; tap++) { \
                    for (int k = 0; k < wide; k++) b[k] += load16(from + 16 * k - tap) * new[tap]; \
                } \
                for (int k = 0; k < wide; k++) store16(output + i + 16 * k, b[k]); \
            } \
        } \
    }
FADE_OF(fade_filters_two, 1)
FADE_OF(fade_filters_four, 2)
FADE_OF(fade_filters_eight, 4)

KERNEL_IN_THREE(void, fade_filters, fade_filters_two, fade_filters_four, fade_filters_eight,
    (const float *past, const float *old, const float *new, const float *bend, size_t taps, int32_t first, float *output,
        size_t count),
    past, old, new, bend, taps, first, output, count)

// The fade itself: both ends and the bend.

INLINE float bend_body(
    const float *before, const float *now, const float *next, float *begin, float *end, float *bend, size_t taps
) {
    f8 sum = spread8(0);
    for (size_t i = 0; i < taps; i += 8) {
        f8 x = load8(before + i), y = load8(now + i), z = load8(next + i);
        f8 from = 0.5f * (x + y), to = 0.5f * (y + z), middle = 0.5f * (x - 2 * y + z);
        store8(begin + i, from);
        store8(end + i, to);
        store8(bend + i, middle);
        sum += (f8)((i8)middle & 0x7FFFFFFF);
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

KERNEL(float, bend,
    (const float *before, const float *now, const float *next, float *begin, float *end, float *bend, size_t taps),
    before, now, next, begin, end, bend, taps)

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

// A ring whose first 32 samples stand a second time behind it.

INLINE void copy_short(float *target, const float *source, size_t count) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) store16(target + i, load16(source + i));
    for (; i < count; i++) target[i] = source[i];
}

INLINE void write_ring_body(float *ring, int64_t mask, int64_t position, const float *samples, size_t count) {
    size_t room = (size_t)(mask + 1 - position), before = count < room ? count : room;
    copy_short(ring + position, samples, before);
    if (count > before) copy_short(ring, samples + before, count - before);
    if (count > before || position < 32) copy_short(ring + mask + 1, ring, 32);
}

KERNEL(void, write_ring, (float *ring, int64_t mask, int64_t position, const float *samples, size_t count), ring, mask,
    position, samples, count)

void kernel_slide(float *samples, size_t by, size_t count) { __builtin_memmove(samples, samples + by, count * sizeof *samples); }

// A level that goes along a parabola: onto a sum, or as it is.

INLINE float level_at(struct kernel_course level, int32_t place) {
    float frame = (float)place;
    return level.from + frame * (level.step + frame * level.bend);
}

INLINE void lay_body(float *sum, const float *samples, struct kernel_course level, int32_t first, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sum[i] += samples[i] * level_at(level, first + (int32_t)i);
    }
}

WIDE_KERNEL(void, lay,
    (float *sum, const float *samples, struct kernel_course level, int32_t first, size_t count), sum, samples, level,
    first, count)

INLINE void put_body(float *output, const float *samples, struct kernel_course level, int32_t first, size_t count) {
    for (size_t i = 0; i < count; i++) {
        output[i] = samples[i] * level_at(level, first + (int32_t)i);
    }
}

WIDE_KERNEL(void, put,
    (float *output, const float *samples, struct kernel_course level, int32_t first, size_t count), output, samples, level,
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

// Returns the eight that lie `by` before those in `now`.
#define BEHIND(before, now, by) __builtin_shufflevector( \
    before, now, 8 - by, 9 - by, 10 - by, 11 - by, 12 - by, 13 - by, 14 - by, 15 - by)

// Keeps the last eight of `count` more.
INLINE f8 kept(f8 before, f8 now, size_t count) {
    float both[16];
    store8(both, before);
    store8(both + 8, now);
    return load8(both + count);
}

INLINE void shadow_body(
    float *samples, float pole, struct kernel_course one, struct kernel_course zero, float *memory,
    int32_t first, size_t count
) {
    float p2 = pole * pole, p4 = p2 * p2, p8 = p4 * p4;
    // Those before: of the input, of the stages, and of the output of the pole.
    f8 x0 = load8(memory), u0 = load8(memory + 8), v0 = load8(memory + 16), w0 = load8(memory + 24);
    f8 frame = (f8){0, 1, 2, 3, 4, 5, 6, 7} + (float)first;
    for (size_t i = 0; i < count; i += 8, frame += 8) {
        f8 x = load8(samples + i), u = x - BEHIND(x0, x, 1) * pole, v = u + BEHIND(u0, u, 2) * p2;
        f8 w = (v + BEHIND(v0, v, 4) * p4) + w0 * p8;
        store8(samples + i,
            (frame * (frame * one.bend + one.step) + one.from) * w
                + (frame * (frame * zero.bend + zero.step) + zero.from) * BEHIND(w0, w, 1));
        if (count - i < 8) {
            (x0 = kept(x0, x, count - i)), (u0 = kept(u0, u, count - i));
            (v0 = kept(v0, v, count - i)), (w0 = kept(w0, w, count - i));
        } else {
            (x0 = x), (u0 = u), (v0 = v), (w0 = w);
        }
    }
    store8(memory, x0);
    store8(memory + 8, u0);
    store8(memory + 16, v0);
    store8(memory + 24, w0);
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
        a += level_at(opening, first + (int32_t)i) * (samples[i] - a);
        output[i] = a;
    }
    *memory = a;
}
