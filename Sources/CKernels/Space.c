#include "Dispatch.h"

// Filters that fade into others, with a bend. Each 64 of their taps, h0 and h1 in halves of 32, need three sums of products for 64
// frames in the place of four, as Karatsuba found: with s = h0 + h1, and with d for the samples less those 32 before, the first 32
// frames are s * x - h1 * d, and the others are s * x of 32 frames before + h0 * d. Frames are counted from the block's beginning, so that
// all parts of it have the same bits. Two filters share what they read, which is dear where it lies across lines of the cache.

// Hides from the compiler what is in memory, so that it does not keep it in registers.
INLINE const float *hidden(const float *samples) {
    __asm__("" : "+r"(samples) : : "memory");
    return samples;
}

enum { half_taps = 32, most_taps = 256, most_frames = 128 };

struct halves {
    /// The samples of a part less those 32 before, behind as many others as there are taps.
    float difference[most_taps + most_frames + 2 * half_taps];
    /// For each filter the sums of both halves of each 64 taps.
    float sums[3][most_taps / 2];
    /// The taps that come in such halves, and all.
    size_t paired, taps;
};

INLINE void halves_of(
    struct halves *all, const float *past, const float *const filters[3], int many, size_t taps, size_t count
) {
    int64_t paired = (int64_t)(taps & ~(size_t)63);
    all->paired = (size_t)paired;
    all->taps = taps;
    if (paired == 0) return;
    for (int64_t i = 33 - paired; i < (int64_t)count + half_taps; i += 8)
        store8(all->difference + most_taps + i, load8(past + i) - load8(past + i - half_taps));
    for (int one = 0; one < many; one++) {
        for (int64_t i = 0; i < paired / 2; i += 8) {
            const float *half = filters[one] + i + (i & ~31);
            store8(all->sums[one] + i, load8(half) + load8(half + half_taps));
        }
    }
}

// Adds products with a filter, or with two at once, to 32 sums each, or subtracts them.
#define SUM_OF(name, wide) \
    INLINE void name( \
        const float *from, const float *one, const float *other, size_t taps, bool isLess, const float *before, float *after \
    ) { \
        for (int i = 0; i < half_taps; i += 16 * wide) { \
            f16 a[wide], b[wide]; \
            for (int k = 0; k < wide; k++) { \
                a[k] = before ? load16(before + i + 16 * k) : spread16(0); \
                b[k] = before && other ? load16(before + half_taps + i + 16 * k) : spread16(0); \
            } \
            _Pragma("unroll 2") for (size_t tap = 0; tap < taps; tap++) { \
                for (int k = 0; k < wide; k++) { \
                    f16 x = load16(from + i + 16 * k - tap); \
                    a[k] = isLess ? a[k] - x * one[tap] : a[k] + x * one[tap]; \
                    if (other) b[k] = isLess ? b[k] - x * other[tap] : b[k] + x * other[tap]; \
                } \
            } \
            for (int k = 0; k < wide; k++) { \
                store16(after + i + 16 * k, a[k]); \
                if (other) store16(after + half_taps + i + 16 * k, b[k]); \
            } \
        } \
    } \
    /* Those of 32 frames of a part, from `frame` on, that are the first of 64 or the others, from what both have in common. */ \
    INLINE void name##_half( \
        const struct halves *all, const float *past, int64_t frame, bool isFirst, const float *one, const float *other, \
        const float *common, float *sums \
    ) { \
        size_t paired = all->paired, by = isFirst ? half_taps : 0; \
        const float *difference = all->difference + most_taps + frame; \
        for (size_t j = 0; j < paired; j += 64, common = sums) \
            name(difference - j, one + j + by, other ? other + j + by : NULL, half_taps, isFirst, common, sums); \
        if (all->taps > paired) \
            name(past + frame - paired, one + paired, other ? other + paired : NULL, all->taps - paired, false, common, sums); \
    } \
    /* Those of the frames that are the first of 64, of the others, or of both. */ \
    INLINE void name##_halves( \
        const struct halves *all, const float *past, int64_t frame, bool hasFirst, bool hasSecond, const float *one, \
        const float *oneSum, const float *other, const float *otherSum, float *sums \
    ) { \
        float both[64] __attribute__((aligned(64))), *common = NULL; \
        for (size_t j = 0; j < all->paired; j += 64, common = both) \
            name(past + frame - (hasFirst ? 0 : half_taps) - j, oneSum + j / 2, other ? otherSum + j / 2 : NULL, half_taps, \
                false, common, both); \
        if (hasFirst) name##_half(all, past, frame, true, one, other, hidden(common), sums); \
        if (hasSecond) { \
            int64_t by = hasFirst ? half_taps : 0; \
            name##_half(all, past, frame + by, false, one, other, hidden(common), sums + 2 * by); \
        } \
    }

#define FADE_OF(name, sum) \
    INLINE void name( \
        const float *past, const float *old, const float *new, const float *bend, size_t taps, int32_t first, float *output, \
        size_t count \
    ) { \
        const f16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; \
        const float *const filters[3] = {new, old, bend}; \
        struct halves all; \
        halves_of(&all, past, filters, old ? (bend ? 3 : 2) : 1, taps, count); \
        size_t frames = 0; \
        for (size_t i = 0; i < count; i += frames) { \
            size_t place = ((size_t)first + i) & 63; \
            bool hasFirst = place < 32, hasSecond = place >= 32 || (place == 0 && count - i > 32); \
            frames = hasSecond ? 64 - place : 32 - place; \
            /* For each half of the frames those of both filters; and those of the bend, with room beside. */ \
            float sums[128] __attribute__((aligned(64))), bends[128] __attribute__((aligned(64))); \
            if (old) sum##_halves(&all, past, (int64_t)i, hasFirst, hasSecond, new, all.sums[0], old, all.sums[1], sums); \
            else sum##_halves(&all, past, (int64_t)i, hasFirst, hasSecond, new, all.sums[0], NULL, NULL, sums); \
            if (bend) sum##_halves(&all, past, (int64_t)i, hasFirst, hasSecond, bend, all.sums[2], NULL, NULL, bends); \
            for (size_t k = 0; k < frames && i + k < count; k += 16) { \
                size_t at = k + (k & 32); \
                f16 y = load16(sums + at); \
                if (old) { \
                    f16 t = (lanes + (float)(first + (int32_t)(i + k))) * 0x1p-7f, from = load16(sums + half_taps + at); \
                    y -= from; \
                    if (bend) y += (t - 1) * load16(bends + at); \
                    y = from + t * y; \
                } \
                store16(output + i + k, y); \
            } \
        } \
    }

SUM_OF(sum_sixteen, 1)
SUM_OF(sum_thirty_two, 2)
FADE_OF(fade_filters_narrow, sum_sixteen)
FADE_OF(fade_filters_wide, sum_thirty_two)

KERNEL_OF(void, fade_filters, fade_filters_narrow, fade_filters_wide,
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
