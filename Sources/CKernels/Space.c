#include "Dispatch.h"

// A source that moves: a ring read at a delay that goes along a parabola, between the middle two of 8 samples, by polynomials of
// the third degree for each pair of them (Farrow). Their numbers fit a delay best from 0 to 0.3 of the rate, low frequencies
// most of all, by least squares with the weight (f + 0.01)^-4: the error is -144 dB at 300 Hz, -132 at 1 kHz, -88 at 3 kHz, -78 at
// 5 kHz, -51 at 12 kHz (of 48 kHz), and none at 0.

// Sixteen frames of a block belong together, wherever a part of it begins, so that all parts give the same bits. They are read
// around one sample, or around two neighbours, or, where the delay changes by more, each by itself.
struct sixteens {
    /// For each sixteen the place of a delay of 0 for its first frame, less that of its first frame; and the whole frames of the
    /// delays: the least and the most.
    int32_t place[12], low[12], high[12];
    /// The delay of the lane `n` is `begin + n * (slope + n * curve)`.
    float begin[12], slope[12], curve;
};

// Four at once, and all at first: one waits long for each of these numbers.
INLINE void sixteens_of(
    struct sixteens *all, int64_t first, int64_t last, double delay, double step, double bend
) {
    // The parabola goes at most 57 bends beside the line between its ends; the rest is for rounding.
    float curve = (float)bend, swing = (curve < 0 ? -curve : curve) * 57 + 1e-4f;
    all->curve = curve;
    d4 at = (d4){0, 16, 32, 48} + (double)first;
    for (int k = 0; first + 16 * k < last; k += 4, at += 64) {
        d4 exact = delay + at * (step + at * bend);
        f4 slope = __builtin_convertvector(step + 2 * at * bend, f4);
        i4 nearest = __builtin_convertvector(exact, i4);
        // It stays above 0 for slopes down to -10.
        i4 isSteep = (slope < -1) | (slope + 32 * curve < -1), room = (isSteep & 160) + 16;
        f4 begin = __builtin_convertvector(exact - __builtin_convertvector(nearest, d4), f4)
            + __builtin_convertvector(room, f4);
        f4 end = 15 * (15 * curve + slope) + begin;
        i4 rises = begin < end;
        f4 least = (f4)(((i4)begin & rises) | ((i4)end & ~rises)), most = (f4)(((i4)end & rises) | ((i4)begin & ~rises));
        i4 low = __builtin_convertvector(least - swing, i4), high = __builtin_convertvector(most + swing, i4);
        i4 place = room - nearest - 4;
        __builtin_memcpy(all->place + k, &place, sizeof place);
        __builtin_memcpy(all->low + k, &low, sizeof low);
        __builtin_memcpy(all->high + k, &high, sizeof high);
        __builtin_memcpy(all->begin + k, &begin, sizeof begin);
        __builtin_memcpy(all->slope + k, &slope, sizeof slope);
    }
}

// Half of them, or all where vectors are so long: there would not be enough registers for more.

#define READ_OF(name, vector, whole_vector, wide, load) \
    INLINE vector name##_between( \
        vector x0, vector x1, vector x2, vector x3, vector x4, vector x5, vector x6, vector x7, vector v, const float *w \
    ) { \
        /* These lie m - 1/2 beside the middle: their sums and differences. */ \
        vector s1 = x4 + x3, s2 = x5 + x2, s3 = x6 + x1, s4 = x7 + x0; \
        vector d1 = x4 - x3, d2 = x5 - x2, d3 = x6 - x1, d4 = x7 - x0; \
        vector d = (d1 * load(w) + d2 * load(w + 16)) + (d3 * load(w + 32) + d4 * load(w + 48)); \
        vector c = (s1 * load(w + 64) + s2 * load(w + 80)) + (s3 * load(w + 96) + s4 * load(w + 112)); \
        vector b = (d1 * load(w + 128) + d2 * load(w + 144)) + (d3 * load(w + 160) + d4 * load(w + 176)); \
        vector a = (s1 * load(w + 192) + s2 * load(w + 208)) + (s3 * load(w + 224) + s4 * load(w + 240)); \
        return ((d * v + c) * v + b) * v + a; \
    } \
    INLINE vector name( \
        const float *ring, int64_t mask, int64_t position, const struct sixteens *all, int k, int begin, const float *w \
    ) { \
        vector lanes = load(sixteen_lanes + begin); \
        vector place = lanes * (lanes * all->curve + all->slope[k]) + all->begin[k]; \
        int32_t low = all->low[k], high = all->high[k]; \
        if (low == high) { \
            const float *x = ring + ((position - low) & mask) + begin; \
            return name##_between( \
                load(x), load(x + 1), load(x + 2), load(x + 3), load(x + 4), load(x + 5), load(x + 6), load(x + 7), \
                ((float)low + 0.5f) - place, w); \
        } \
        whole_vector whole = __builtin_convertvector(place, whole_vector); \
        vector v = (__builtin_convertvector(whole, vector) + 0.5f) - place, y[8]; \
        if (high - low == 1) { \
            /* The oldest that any lane needs; the others lie one behind. */ \
            const float *x = ring + ((position - high) & mask) + begin; \
            whole_vector isOld = whole == high; \
            for (int k = 0; k < 8; k++) { \
                whole_vector old = (whole_vector)load(x + k), new = (whole_vector)load(x + k + 1); \
                y[k] = (vector)((old & isOld) | (new & ~isOld)); \
            } \
        } else { \
            float rows[8][wide]; \
            int32_t wholes[wide]; \
            __builtin_memcpy(wholes, &whole, sizeof wholes); \
            for (int lane = 0; lane < wide; lane++) { \
                const float *from = ring + ((position + begin + lane - wholes[lane]) & mask); \
                for (int k = 0; k < 8; k++) rows[k][lane] = from[k]; \
            } \
            for (int k = 0; k < 8; k++) y[k] = load(rows[k]); \
        } \
        return name##_between(y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7], v, w); \
    }

static const float sixteen_lanes[16] __attribute__((aligned(64))) = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// The polynomials' weights, as vectors: d, c, b and a, each from the inner pair to the outer.
#define ALIKE(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
static const float between_weights[16 * 16] __attribute__((aligned(64))) = {
    ALIKE(-0.84679884f), ALIKE(0.35894093f), ALIKE(-0.05360833f), ALIKE(0.0054312125f),
    ALIKE(-0.42965096f), ALIKE(0.5483989f), ALIKE(-0.13806406f), ALIKE(0.019316118f),
    ALIKE(1.2116997f), ALIKE(-0.08973523f), ALIKE(0.013402083f), ALIKE(-0.0013578031f),
    ALIKE(0.60741276f), ALIKE(-0.13709973f), ALIKE(0.034516014f), ALIKE(-0.0048290296f),
};

READ_OF(read_eight, f8, i8, 8, load8)
READ_OF(read_sixteen, f16, i16, 16, load16)

// Hides a table: the compiler, which knows what is in it, would else make its vectors anew at each use.
INLINE const float *hidden(const float *table) {
    __asm__("" : "+r"(table));
    return table;
}

// Keeps those of sixteen that lie in a part.
INLINE void keep_some(float *output, const float *rest, int64_t frame, int64_t first, int64_t last) {
    for (int lane = 0; lane < 16; lane++) {
        if (frame + lane >= first && frame + lane < last) output[frame + lane] = rest[lane];
    }
}

// As it is, or to two channels at levels that go along parabolas.

#define WANDER_OF(name, vector, wide, read, load, store) \
    INLINE void name( \
        const float *ring, int64_t mask, int64_t position, double delay, double step, double bend, int64_t first, \
        float *output, size_t count \
    ) { \
        struct sixteens all; \
        int64_t last = first + (int64_t)count, begin = first & ~(int64_t)15; \
        sixteens_of(&all, begin, last, delay, step, bend); \
        const float *weights = hidden(between_weights); \
        output -= first; \
        for (int k = 0; begin + 16 * k < last; k++) { \
            int64_t frame = begin + 16 * k, place = position + frame + all.place[k]; \
            float rest[16], *target = frame >= first && frame + 16 <= last ? output + frame : rest; \
            _Pragma("unroll") for (int half = 0; half < 16; half += wide) \
                store(target + half, read(ring, mask, place, &all, k, half, weights)); \
            if (target == rest) keep_some(output, rest, frame, first, last); \
        } \
    } \
    INLINE void name##_to_two( \
        const float *ring, int64_t mask, int64_t position, double delay, double step, double bend, int64_t first, \
        float *left, struct kernel_course leftLevel, float *right, struct kernel_course rightLevel, size_t count \
    ) { \
        struct sixteens all; \
        int64_t last = first + (int64_t)count, begin = first & ~(int64_t)15; \
        sixteens_of(&all, begin, last, delay, step, bend); \
        const float *weights = hidden(between_weights); \
        left -= first; \
        right -= first; \
        for (int k = 0; begin + 16 * k < last; k++) { \
            int64_t frame = begin + 16 * k, place = position + frame + all.place[k]; \
            bool isWhole = frame >= first && frame + 16 <= last; \
            float rest[2][16], *one = isWhole ? left + frame : rest[0], *other = isWhole ? right + frame : rest[1]; \
            _Pragma("unroll") for (int half = 0; half < 16; half += wide) { \
                vector x = read(ring, mask, place, &all, k, half, weights); \
                vector at = load(sixteen_lanes + half) + (float)(int32_t)frame; \
                store(one + half, x * (leftLevel.from + at * (leftLevel.step + at * leftLevel.bend))); \
                store(other + half, x * (rightLevel.from + at * (rightLevel.step + at * rightLevel.bend))); \
            } \
            if (isWhole) continue; \
            keep_some(left, rest[0], frame, first, last); \
            keep_some(right, rest[1], frame, first, last); \
        } \
    }
WANDER_OF(wander_eight, f8, 8, read_eight, load8, store8)
WANDER_OF(wander_sixteen, f16, 16, read_sixteen, load16, store16)

KERNEL_IN_THREE(void, wander, wander_eight, wander_eight, wander_sixteen,
    (const float *ring, int64_t mask, int64_t position, double delay, double step, double bend, int64_t first,
        float *output, size_t count),
    ring, mask, position, delay, step, bend, first, output, count)

KERNEL_IN_THREE(void, wander_to_two, wander_eight_to_two, wander_eight_to_two, wander_sixteen_to_two,
    (const float *ring, int64_t mask, int64_t position, double delay, double step, double bend, int64_t first, float *left,
        struct kernel_course leftLevel, float *right, struct kernel_course rightLevel, size_t count),
    ring, mask, position, delay, step, bend, first, left, leftLevel, right, rightLevel, count)

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
