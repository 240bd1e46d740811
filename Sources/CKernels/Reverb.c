#include "Dispatch.h"

// A feedback delay network, up to 64 frames at a time, and the lines before it. The rings of these lines have a length that is
// a power of two, and behind it room for 64 samples more, which repeat the first: a piece of up to 64 is never cut. (Lines of a
// network have eight more, since they are written eight frames at a time, and the last of these may not exist yet.) A ring that
// was emptied is not cleared: what is older than `age` frames counts as zero.

enum { piece = 64, lane_count = 8 };

// Eight rows of eight become columns.
INLINE void turn_eight(f8 r[8]) {
    f8 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 2; k++) {
            b[i + k] = __builtin_shufflevector(a[i + k], a[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + k + 2] = __builtin_shufflevector(a[i + k], a[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (int i = 0; i < 4; i++) {
        r[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

// Copies what is `delay` frames old.
INLINE void recall(const float *ring, int32_t mask, int32_t position, int32_t age, int32_t delay, float *out, size_t count) {
    const float *from = ring + ((position - delay) & mask);
    for (size_t i = 0; i < count; i++) out[i] = (int32_t)i + age < delay ? 0 : from[i];
}

// Writes what was written at the beginning of a ring behind its end, too.
INLINE void repeat(float *from, int32_t mask, size_t count) {
    for (size_t i = 0; i < count; i += 8) store8(from + mask + 1 + i, load8(from + i));
}

// Frames out of eight lines into rows of all lines.
INLINE void read_lines(
    const float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays,
    const int32_t *others, const float *fade, const float *slope, bool fades, float *block, size_t lines, int32_t first,
    size_t count
) {
    float held[lane_count][piece], other[piece];
    const float *rows[lane_count];
    for (size_t l = 0; l < lane_count; l++) {
        const float *line = ring + l * stride;
        if (!fades && age >= delays[l]) {
            rows[l] = line + ((position - delays[l]) & mask);
            continue;
        }
        recall(line, mask, position, age, delays[l], held[l], count);
        if (fades) {
            recall(line, mask, position, age, others[l], other, count);
            for (size_t i = 0; i < count; i++) {
                float share = fade[l] + slope[l] * (float)(first + (int32_t)i);
                held[l][i] += (other[i] - held[l][i]) * share;
            }
        }
        for (size_t i = count; i < ((count + 7) & ~(size_t)7); i++) held[l][i] = 0;
        rows[l] = held[l];
    }
    for (size_t i = 0; i < count; i += 8) {
        f8 r[8];
        for (int l = 0; l < 8; l++) r[l] = load8(rows[l] + i);
        turn_eight(r);
        for (size_t k = 0; k < 8; k++) store8(block + (i + k) * lines, r[k]);
    }
}

INLINE f8 without_dust_8(f8 x) {
    i8 size = (i8)x & 0x7fffffff;
    return (f8)((i8)x & (i8)((f8)size > 1e-12f));
}

INLINE f16 without_dust_16(f16 x) {
    i16 size = (i16)x & 0x7fffffff;
    return (f16)((i16)x & (i16)((f16)size > 1e-12f));
}

// Frames through the equalisers, in vectors of eight lines, or of sixteen.
#define ROW(name) LOAD(numbers + network_##name * lines + g * width)
#define MOVED(name) (moves ? ROW(name) + ROW(name##_slope) * time : ROW(name))
#define EQUALISE(size) \
INLINE void equalise_##size( \
    float *numbers, float *block, int32_t first, size_t count, const size_t vectors, const bool moves \
) { \
    const size_t width = size, lines = vectors * width; \
    f##size low[2], high[2]; \
    for (size_t g = 0; g < vectors; g++) low[g] = ROW(low_state), high[g] = ROW(high_state); \
    for (size_t i = 0; i < count; i++) { \
        f##size time = SPREAD((float)(first + (int32_t)i)); \
        for (size_t g = 0; g < vectors; g++) { \
            float *row = block + i * lines + g * width; \
            f##size in = LOAD(row) * MOVED(gain); \
            f##size middle = MOVED(low_direct) * in + low[g]; \
            low[g] = MOVED(low_feed) * in + MOVED(low_hold) * low[g]; \
            STORE(row, MOVED(high_direct) * middle + high[g]); \
            high[g] = MOVED(high_feed) * middle + MOVED(high_hold) * high[g]; \
        } \
    } \
    for (size_t g = 0; g < vectors; g++) { \
        STORE(numbers + network_low_state * lines + g * width, without_dust_##size(low[g])); \
        STORE(numbers + network_high_state * lines + g * width, without_dust_##size(high[g])); \
    } \
}
#define LOAD load8
#define STORE store8
#define SPREAD spread8
EQUALISE(8)
#undef LOAD
#undef STORE
#undef SPREAD
#define LOAD load16
#define STORE store16
#define SPREAD spread16
EQUALISE(16)
#undef LOAD
#undef STORE
#undef SPREAD

// The frames from `first` on, as numbers.
INLINE f8 times_from(int32_t first) {
    const i8 steps = {0, 1, 2, 3, 4, 5, 6, 7};
    return __builtin_convertvector(steps + first, f8);
}

// Sums and differences of two vectors.
INLINE void cross(f8 *a, f8 *b) {
    f8 sum = *a + *b;
    *b = *a - *b;
    *a = sum;
}

// Frames through the matrix and into the lines, in vectors of eight frames: so sums, differences and turns need no shuffle.
INLINE void mix_lines(
    float *ring, size_t stride, int32_t mask, int32_t position, const float *numbers, const float *inputs, size_t channels,
    const float *block, float *late, int32_t first, size_t count, const size_t lines
) {
    const int32_t place = position & mask;
    for (size_t i = 0; i < count; i += 8) {
        f8 y[32], time = times_from(first + (int32_t)i);
        for (size_t l = 0; l < lines; l += 8) {
            for (size_t k = 0; k < 8; k++) y[l + k] = load8(block + (i + k) * lines + l);
            turn_eight(y + l);
        }
#pragma clang loop unroll(full)
        for (size_t half = lines / 2; half > 2; half /= 2) {
#pragma clang loop unroll(full)
            for (size_t l = 0; l < lines; l++) if (!(l & half)) cross(y + l, y + l + half);
        }
#pragma clang loop unroll(full)
        for (size_t l = 0; l < lines; l += 4) {
            f8 x[4] = {y[l], y[l + 1], y[l + 2], y[l + 3]};
            cross(x, x + 2);
            cross(x + 1, x + 3);
            cross(x, x + 1);
            cross(x + 2, x + 3);
            if (l < 8) for (size_t k = 0; k < 4; k++) store8(late + (l + k) * piece + i, x[k]);
            for (size_t k = 0; k < 4; k += 2) {
#define AT(name) numbers[network_##name * lines + l + k + 1]
                f8 cosine = AT(cosine) + AT(cosine_slope) * time, sine = AT(sine) + AT(sine_slope) * time;
#undef AT
                f8 turned = x[k] * cosine - x[k + 1] * sine;
                x[k + 1] = x[k + 1] * cosine + x[k] * sine;
                x[k] = turned;
            }
            for (size_t c = 0; c < channels; c++) {
                f8 in = numbers[(network_inputs + c) * lines + l] * load8(inputs + c * piece + i);
                for (size_t k = 0; k < 4; k++) x[k] = kernel_input_is_negative(c, k) ? x[k] - in : x[k] + in;
            }
            for (size_t k = 0; k < 4; k++) store8(ring + (l + k) * stride + place + i, without_dust_8(x[k]));
        }
    }
    if (place < piece) for (size_t l = 0; l < lines; l++) repeat(ring + l * stride + place, mask, count);
}

INLINE void network_of(
    float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, bool fades,
    bool moves, float *numbers, const float *inputs, size_t channels, float *late, int32_t first, size_t count,
    const size_t groups
) {
    const size_t lines = groups * 8;
    // On the stack, where it stays in the nearest cache: that of the next network is at the same place.
    float block[4 * lane_count * piece];
    for (size_t g = 0; g < groups; g++) {
        read_lines(
            ring + g * 8 * stride, stride, mask, position, age, delays + g * 8, delays + lines + g * 8,
            numbers + network_fade * lines + g * 8, numbers + network_fade_slope * lines + g * 8, fades, block + g * 8,
            lines, first, count);
    }
#define EQUALISED(moves) \
    (groups == 1 ? equalise_8(numbers, block, first, count, 1, moves) \
                 : equalise_16(numbers, block, first, count, groups / 2, moves))
    if (moves) EQUALISED(true);
    else EQUALISED(false);
#undef EQUALISED
#define MIXED(channels) mix_lines( \
    ring, stride, mask, position, numbers, inputs, channels, block, late, first, count, lines)
    if (channels == 2) MIXED(2);
    else MIXED(channels);
#undef MIXED
}

INLINE void network_body(
    float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, bool fades,
    bool moves, float *numbers, const float *inputs, size_t channels, float *late, int32_t first, size_t count,
    size_t groups
) {
#define NETWORK(g) network_of( \
    ring, stride, mask, position, age, delays, fades, moves, numbers, inputs, channels, late, first, count, g)
    if (groups == 1) NETWORK(1);
    else if (groups == 2) NETWORK(2);
    else NETWORK(4);
#undef NETWORK
}

WIDE_KERNEL(void, network,
    (float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, bool fades,
        bool moves, float *numbers, const float *inputs, size_t channels, float *late, int32_t first, size_t count,
        size_t groups),
    ring, stride, mask, position, age, delays, fades, moves, numbers, inputs, channels, late, first, count, groups)

// A sample older than the ring counts as zero.
INLINE f8 since(f8 x, int32_t age, int32_t delay) {
    const i8 steps = {0, 1, 2, 3, 4, 5, 6, 7};
    return (f8)((i8)x & (steps + age >= delay));
}

// Eight frames at a time go through all filters. Behind the last of `count` there is room.
INLINE void diffuse_through(
    float *restrict const *lines, const float *const *past, int32_t age, const int32_t *delays, const size_t stages,
    f8 gain, f8 slope, int32_t first, float *restrict samples, size_t count, const bool young
) {
    for (size_t i = 0; i < count; i += 8) {
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

enum { most_stages = 4, most_taps = 16 };

INLINE void diffuse_body(
    float *restrict ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, size_t stages,
    float gain, float slope, int32_t first, float *restrict samples, size_t count
) {
    float *lines[most_stages];
    const float *past[most_stages];
    const int32_t place = position & mask;
    bool young = false;
    for (size_t stage = 0; stage < stages; stage++) {
        lines[stage] = ring + stage * stride + place;
        past[stage] = ring + stage * stride + ((position - delays[stage]) & mask);
        young |= age < delays[stage];
    }
#define THROUGH(stages, young) diffuse_through( \
    lines, past, age, delays, stages, spread8(gain), spread8(slope), first, samples, count, young)
    if (stages == 4 && !young) THROUGH(4, false);
    else THROUGH(stages, true);
#undef THROUGH
    if (place < piece) for (size_t stage = 0; stage < stages; stage++) repeat(lines[stage], mask, count);
}

KERNEL(void, diffuse,
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

INLINE void add_past_body(
    const float *restrict ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *lines,
    const int32_t *delays, const float *gains, size_t taps, float gain, float slope, int32_t first, float *restrict sum,
    size_t count
) {
    const float *past[most_taps];
    bool young = false;
    for (size_t tap = 0; tap < taps; tap++) {
        past[tap] = ring + (size_t)lines[tap] * stride + ((position - delays[tap]) & mask);
        young |= age < delays[tap];
    }
    size_t i = 0;
    // Four vectors at once: the sum of each waits for its last tap.
    for (; !young && i + 32 <= count; i += 32) {
        f8 all[4] = {0};
        for (size_t tap = 0; tap < taps; tap++)
            for (size_t k = 0; k < 4; k++) all[k] += load8(past[tap] + i + 8 * k) * gains[tap];
        for (size_t k = 0; k < 4; k++) {
            float *to = sum + i + 8 * k;
            store8(to, load8(to) + all[k] * (gain + slope * times_from(first + (int32_t)(i + 8 * k))));
        }
    }
    for (; i < count; i += 8) {
        f8 all = {0};
        for (size_t tap = 0; tap < taps; tap++)
            all += since(load8(past[tap] + i), age + (int32_t)i, delays[tap]) * gains[tap];
        store8(sum + i, load8(sum + i) + all * (gain + slope * times_from(first + (int32_t)i)));
    }
}

KERNEL(void, add_past,
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
