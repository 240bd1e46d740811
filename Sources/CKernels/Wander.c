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
    /// The delay of the lane `n` is `begin + n * (slope + n * curve)`. Where all have the same whole frames, the part of the way from
    /// one sample to the next at which it lies is `from - n * (slope + n * curve)`.
    float begin[12], slope[12], from[12], curve;
};

// Four at once, and all at first: one waits long for each of these numbers.
INLINE void sixteens_of(
    struct sixteens *all, int64_t first, int64_t last, double delay, double step, double bend
) {
    // The parabola goes at most 57 bends beside the line between its ends; the rest is for rounding. A delay that stays needs none of
    // it, and may be a whole one.
    float curve = (float)bend, swing = (curve < 0 ? -curve : curve) * 57 + (step == 0 && bend == 0 ? 0 : 1e-4f);
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
        f4 from = __builtin_convertvector(low + 1, f4) - begin;
        __builtin_memcpy(all->place + k, &place, sizeof place);
        __builtin_memcpy(all->low + k, &low, sizeof low);
        __builtin_memcpy(all->high + k, &high, sizeof high);
        __builtin_memcpy(all->begin + k, &begin, sizeof begin);
        __builtin_memcpy(all->slope + k, &slope, sizeof slope);
        __builtin_memcpy(all->from + k, &from, sizeof from);
    }
}

// The numbers of the frames of a block.
static const float frame_numbers[128] __attribute__((aligned(64))) = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
    48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79,
    80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95,
    96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111,
    112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127,
};

// The weights of the polynomials, as vectors: of the differences, then of the sums, each from the inner pair to the outer. All
// polynomials go through both inner samples, so that what they have beside the line between these two is a product with u^2 - u.
#define ALIKE(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
static const float between_weights[8 * 16] __attribute__((aligned(64))) = {
    ALIKE(-0.84679884f), ALIKE(0.35894093f), ALIKE(-0.05360833f), ALIKE(0.0054312125f),
    ALIKE(-0.42965096f), ALIKE(0.5483989f), ALIKE(-0.13806406f), ALIKE(0.019316118f),
};

// Half of them, or all where vectors are so long: there would not be enough registers for more.

#define READ_OF(name, vector, whole_vector, wide, load, store) \
    INLINE vector name##_between( \
        vector x0, vector x1, vector x2, vector x3, vector x4, vector x5, vector x6, vector x7, vector u, const float *w \
    ) { \
        /* These lie m - 1/2 beside the middle: their sums and differences. */ \
        vector s1 = x4 + x3, s2 = x5 + x2, s3 = x6 + x1, s4 = x7 + x0; \
        vector d1 = x4 - x3, d2 = x5 - x2, d3 = x6 - x1, d4 = x7 - x0; \
        vector d = (d1 * load(w) + d2 * load(w + 16)) + (d3 * load(w + 32) + d4 * load(w + 48)); \
        vector c = (s1 * load(w + 64) + s2 * load(w + 80)) + (s3 * load(w + 96) + s4 * load(w + 112)); \
        return (d * (u - 0.5f) + c) * (u * u - u) + (d1 * u + x3); \
    } \
    INLINE vector name##_alike( \
        const float *ring, int64_t mask, int64_t position, const struct sixteens *all, int k, int begin, const float *w \
    ) { \
        vector lanes = load(frame_numbers + begin); \
        const float *x = ring + ((position - all->low[k]) & mask) + begin; \
        return name##_between( \
            load(x), load(x + 1), load(x + 2), load(x + 3), load(x + 4), load(x + 5), load(x + 6), load(x + 7), \
            all->from[k] - lanes * (lanes * all->curve + all->slope[k]), w); \
    } \
    INLINE void name##_apart( \
        const float *ring, int64_t mask, int64_t position, const struct sixteens *all, int k, float *output \
    ) { \
        int32_t low = all->low[k], high = all->high[k]; \
        for (int begin = 0; begin < 16; begin += wide) { \
            vector lanes = load(frame_numbers + begin), place = lanes * (lanes * all->curve + all->slope[k]) + all->begin[k]; \
            whole_vector whole = __builtin_convertvector(place, whole_vector); \
            vector u = (__builtin_convertvector(whole, vector) + 1) - place, y[8]; \
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
            store(output + begin, \
                name##_between(y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7], u, between_weights)); \
        } \
    }

READ_OF(read_eight, f8, i8, 8, load8, store8)
READ_OF(read_sixteen, f16, i16, 16, load16, store16)

// The sixteen that are not read around one sample are few: a function of their own leaves the registers to the others.
void kernel_wander_apart(const float *ring, int64_t mask, int64_t position, const struct sixteens *all, int k, float *output);
KERNEL_IN_THREE(void, wander_apart, read_eight_apart, read_eight_apart, read_sixteen_apart,
    (const float *ring, int64_t mask, int64_t position, const struct sixteens *all, int k, float *output),
    ring, mask, position, all, k, output)

// Hides a table: the compiler, which knows what is in it, would else make its vectors anew at each use.
INLINE const float *hidden(const float *table) {
    __asm__("" : "+r"(table));
    return table;
}

// Keeps those of sixteen that lie in a part.
static __attribute__((noinline)) void keep_some(
    float *output, const float *rest, int64_t frame, int64_t first, int64_t last
) {
    for (int lane = 0; lane < 16; lane++) {
        if (frame + lane >= first && frame + lane < last) output[frame + lane] = rest[lane];
    }
}

// As it is, or to two channels at levels that go along parabolas.

#define WANDER_OF(name, vector, wide, read, load, store) \
    INLINE void name##_sixteen( \
        const float *ring, int64_t mask, int64_t position, const struct sixteens *all, int k, const float *weights, vector *x \
    ) { \
        if (__builtin_expect(all->low[k] == all->high[k], true)) { \
            _Pragma("unroll") for (int half = 0; half < 16; half += wide) \
                x[half / wide] = read##_alike(ring, mask, position, all, k, half, weights); \
            return; \
        } \
        float rest[16]; \
        kernel_wander_apart(ring, mask, position, all, k, rest); \
        _Pragma("unroll") for (int half = 0; half < 16; half += wide) x[half / wide] = load(rest + half); \
    } \
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
            vector x[16 / wide]; \
            name##_sixteen(ring, mask, place, &all, k, weights, x); \
            float rest[16], *target = frame >= first && frame + 16 <= last ? output + frame : rest; \
            _Pragma("unroll") for (int half = 0; half < 16; half += wide) store(target + half, x[half / wide]); \
            if (target == rest) keep_some(output, rest, frame, first, last); \
        } \
    } \
    /* With all of them: they begin and end with a sixteen. */ \
    INLINE void name##_to_two_of( \
        const float *ring, int64_t mask, int64_t position, const struct kernel_flight *flight, int64_t first, float *left, \
        float *right, size_t count, bool isAll \
    ) { \
        struct sixteens all; \
        const struct kernel_course leftLevel = flight->left, rightLevel = flight->right; \
        int64_t last = first + (int64_t)count, begin = first & ~(int64_t)15; \
        sixteens_of(&all, begin, last, flight->delay, flight->step, flight->bend); \
        const float *weights = hidden(between_weights); \
        left -= first; \
        right -= first; \
        for (int k = 0; begin + 16 * k < last; k++) { \
            int64_t frame = begin + 16 * k, place = position + frame + all.place[k]; \
            vector x[16 / wide]; \
            name##_sixteen(ring, mask, place, &all, k, weights, x); \
            const float *frames = frame_numbers + frame; \
            bool isWhole = isAll || (frame >= first && frame + 16 <= last); \
            float rest[2][16], *one = isWhole ? left + frame : rest[0], *other = isWhole ? right + frame : rest[1]; \
            _Pragma("unroll") for (int half = 0; half < 16; half += wide) { \
                vector at = load(frames + half); \
                store(one + half, x[half / wide] * (leftLevel.from + at * (leftLevel.step + at * leftLevel.bend))); \
                store(other + half, x[half / wide] * (rightLevel.from + at * (rightLevel.step + at * rightLevel.bend))); \
            } \
            if (isWhole) continue; \
            keep_some(left, rest[0], frame, first, last); \
            keep_some(right, rest[1], frame, first, last); \
        } \
    } \
    INLINE void name##_to_two( \
        const float *ring, int64_t mask, int64_t position, const struct kernel_flight *flight, int64_t first, float *left, \
        float *right, size_t count \
    ) { \
        if ((((size_t)first | count) & 15) == 0) name##_to_two_of(ring, mask, position, flight, first, left, right, count, true); \
        else name##_to_two_of(ring, mask, position, flight, first, left, right, count, false); \
    }
WANDER_OF(wander_eight, f8, 8, read_eight, load8, store8)
WANDER_OF(wander_sixteen, f16, 16, read_sixteen, load16, store16)

KERNEL_IN_THREE(void, wander, wander_eight, wander_eight, wander_sixteen,
    (const float *ring, int64_t mask, int64_t position, double delay, double step, double bend, int64_t first,
        float *output, size_t count),
    ring, mask, position, delay, step, bend, first, output, count)

KERNEL_IN_THREE(void, wander_to_two, wander_eight_to_two, wander_eight_to_two, wander_sixteen_to_two,
    (const float *ring, int64_t mask, int64_t position, const struct kernel_flight *flight, int64_t first, float *left,
        float *right, size_t count),
    ring, mask, position, flight, first, left, right, count)

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

// Both in one call.

INLINE void relay_eight(
    float *ring, int64_t mask, int64_t position, const float *samples, const struct kernel_flight *flight, int64_t first,
    float *left, float *right, size_t count
) {
    write_ring_body(ring, mask, position, samples, count);
    wander_eight_to_two(ring, mask, position - first, flight, first, left, right, count);
}

INLINE void relay_sixteen(
    float *ring, int64_t mask, int64_t position, const float *samples, const struct kernel_flight *flight, int64_t first,
    float *left, float *right, size_t count
) {
    write_ring_body(ring, mask, position, samples, count);
    wander_sixteen_to_two(ring, mask, position - first, flight, first, left, right, count);
}

KERNEL_IN_THREE(void, relay, relay_eight, relay_eight, relay_sixteen,
    (float *ring, int64_t mask, int64_t position, const float *samples, const struct kernel_flight *flight, int64_t first,
        float *left, float *right, size_t count),
    ring, mask, position, samples, flight, first, left, right, count)
