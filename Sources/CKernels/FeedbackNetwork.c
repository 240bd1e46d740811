#include "Reverb.h"
#include "Turning.h"

// A feedback delay network, up to 64 frames at a time.

enum { lane_count = 8 };

// Copies what is `delay` frames old.
INLINE void recall(const float *ring, int32_t mask, int32_t position, int32_t age, int32_t delay, float *out, size_t count) {
    const float *from = ring + ((position - delay) & mask);
    for (size_t i = 0; i < count; i++) out[i] = (int32_t)i + age < delay ? 0 : from[i];
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
                // A smooth step: a corner would be heard.
                float t = fade[l] + slope[l] * (float)(first + (int32_t)i), share = t * t * (3 - 2 * t);
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

// Tiny states become zero at the end of a block, and not at the end of a piece: how a block is cut must not be heard.
INLINE bool ends_block(int32_t first, size_t count) { return first + (int32_t)count == piece; }

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
    const bool ends = ends_block(first, count); \
    for (size_t g = 0; g < vectors; g++) { \
        STORE(numbers + network_low_state * lines + g * width, ends ? without_dust_##size(low[g]) : low[g]); \
        STORE(numbers + network_high_state * lines + g * width, ends ? without_dust_##size(high[g]) : high[g]); \
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
#undef ROW
#undef MOVED

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

// MARK: - Sixteen lines, sixteen frames at a time

// Two quarters of a vector, and the same two of another.
#define QUARTER(k) 4 * (k), 4 * (k) + 1, 4 * (k) + 2, 4 * (k) + 3
#define QUARTERS(x, y, a, b) __builtin_shufflevector(x, y, QUARTER(a), QUARTER(b), QUARTER(4 + a), QUARTER(4 + b))

// Eight frames of two lines.
INLINE f16 load_two(const float *a, const float *b) {
    return __builtin_shufflevector(load8(a), load8(b), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Sixteen frames of the lines become rows.
INLINE void read_sixteen(const float *const *lines, float *block, size_t i) {
    for (size_t end = i + 16; i < end; i += 8) {
        f16 a[4], b[4];
        for (size_t l = 0; l < 4; l++) {
            a[l] = load_two(lines[l] + i, lines[l + 4] + i);
            b[l] = load_two(lines[l + 8] + i, lines[l + 12] + i);
        }
        turn_quarters(a);
        turn_quarters(b);
        for (size_t k = 0; k < 4; k++) {
            store16(block + (i + k) * 16, QUARTERS(a[k], b[k], 0, 2));
            store16(block + (i + k + 4) * 16, QUARTERS(a[k], b[k], 1, 3));
        }
    }
}

// The equalisers of sixteen lines at rest.
typedef struct {
    f16 gain, low_direct, low_feed, low_hold, low, high_direct, high_feed, high_hold, high;
} equalisers;

INLINE void equalise_row(equalisers *e, float *row) {
    f16 in = load16(row) * e->gain;
    f16 middle = e->low_direct * in + e->low;
    e->low = e->low_feed * in + e->low_hold * e->low;
    store16(row, e->high_direct * middle + e->high);
    e->high = e->high_feed * middle + e->high_hold * e->high;
}

INLINE void cross_sixteen(f16 *a, f16 *b) {
    f16 sum = *a + *b;
    *b = *a - *b;
    *a = sum;
}

// Sixteen rows go through the matrix and into the lines as in `mix_lines`. Each row of the next sixteen waits in the equalisers
// for the row before it: they go through them meanwhile, one here and one there.
INLINE void mix_sixteen(
    float *to, size_t stride, const float *numbers, const float *inputs, const size_t channels, float *late, f16 time,
    const float *block, equalisers *e, float *next, const bool more
) {
    enum { lines = 16 };
    f16 y[lines];
#define NEXT if (more) equalise_row(e, next), next += lines
#pragma clang loop unroll(full)
    for (size_t k = 0; k < 16; k += 4) {
        for (size_t n = 0; n < 4; n++) y[k + n] = load16(block + (k + n) * lines);
        turn_quarters(y + k);
        if (k & 4) NEXT;
    }
#pragma clang loop unroll(full)
    for (size_t k = 0; k < 4; k++) {
        f16 a = QUARTERS(y[k], y[k + 4], 0, 1), b = QUARTERS(y[k], y[k + 4], 2, 3);
        f16 c = QUARTERS(y[k + 8], y[k + 12], 0, 1), d = QUARTERS(y[k + 8], y[k + 12], 2, 3);
        f16 x[4] = {QUARTERS(a, c, 0, 2), QUARTERS(a, c, 1, 3), QUARTERS(b, d, 0, 2), QUARTERS(b, d, 1, 3)};
        cross_sixteen(x, x + 2);
        cross_sixteen(x + 1, x + 3);
        cross_sixteen(x, x + 1);
        cross_sixteen(x + 2, x + 3);
        for (size_t l = 0; l < 4; l++) y[k + 4 * l] = x[l];
        if (k & 1) NEXT;
    }
#pragma clang loop unroll(full)
    for (size_t l = 0; l < lines; l += 4) {
        f16 *x = y + l;
        cross_sixteen(x, x + 2);
        cross_sixteen(x + 1, x + 3);
        cross_sixteen(x, x + 1);
        cross_sixteen(x + 2, x + 3);
        if (l < 8) for (size_t k = 0; k < 4; k++) store16(late + (l + k) * piece, x[k]);
        NEXT;
        for (size_t k = 0; k < 4; k += 2) {
#define AT(name) numbers[network_##name * lines + l + k + 1]
            f16 cosine = AT(cosine) + AT(cosine_slope) * time, sine = AT(sine) + AT(sine_slope) * time;
#undef AT
            f16 turned = x[k] * cosine - x[k + 1] * sine;
            x[k + 1] = x[k + 1] * cosine + x[k] * sine;
            x[k] = turned;
        }
        NEXT;
        for (size_t c = 0; c < channels; c++) {
            f16 in = numbers[(network_inputs + c) * lines + l] * load16(inputs + c * piece);
            for (size_t k = 0; k < 4; k++) x[k] = kernel_input_is_negative(c, k) ? x[k] - in : x[k] + in;
        }
        for (size_t k = 0; k < 4; k++) store16(to + (l + k) * stride, without_dust_16(x[k]));
        NEXT;
    }
#undef NEXT
}

// The network of sixteen lines for AVX-512, whose registers hold the frames of all lines. The delays and the filters are at
// rest, all lines are old enough, and `count` is a multiple of sixteen.
INLINE void sixteen_lines(
    float *ring, size_t stride, int32_t mask, int32_t position, const int32_t *delays, float *numbers, const float *inputs,
    const size_t channels, float *late, int32_t first, size_t count
) {
    enum { lines = 16 };
    const int32_t place = position & mask;
    float block[lines * piece] __attribute__((aligned(64)));
    const float *rows[lines];
    for (size_t l = 0; l < lines; l++) rows[l] = ring + l * stride + ((position - delays[l]) & mask);
#define ROW(name) load16(numbers + network_##name * lines)
    equalisers e = {
        ROW(gain), ROW(low_direct), ROW(low_feed), ROW(low_hold), ROW(low_state), ROW(high_direct), ROW(high_feed),
        ROW(high_hold), ROW(high_state),
    };
#undef ROW
    // The kernel fetches all places that no near cache has at once, instead of waiting for each in its turn.
    for (size_t l = 0; l < lines; l++)
        for (size_t i = 16; i <= count; i += 16) __builtin_prefetch(rows[l] + i);
    read_sixteen(rows, block, 0);
    for (size_t k = 0; k < 16; k++) {
        equalise_row(&e, block + k * lines);
        // Meanwhile the other frames are read.
        size_t i = 16 * (k / 5 + 1);
        if (k % 5 == 0 && i < count) read_sixteen(rows, block, i);
    }
    for (size_t i = 0; i < count; i += 16) {
#define MIXED(more) mix_sixteen( \
    ring + place + i, stride, numbers, inputs + i, channels, late + i, sixteen_times_from(first + (int32_t)i), \
    block + i * lines, &e, block + (i + 16) * lines, more)
        if (i + 16 < count) MIXED(true);
        else MIXED(false);
#undef MIXED
    }
    const bool ends = ends_block(first, count);
    store16(numbers + network_low_state * lines, ends ? without_dust_16(e.low) : e.low);
    store16(numbers + network_high_state * lines, ends ? without_dust_16(e.high) : e.high);
    if (place < piece) for (size_t l = 0; l < lines; l++) repeat(ring + l * stride + place, mask, count);
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

INLINE void network_widest(
    float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, bool fades,
    bool moves, float *numbers, const float *inputs, size_t channels, float *late, int32_t first, size_t count,
    size_t groups
) {
    bool rests = groups == 2 && !fades && !moves && count % 16 == 0 && count > 0;
    for (size_t l = 0; rests && l < 16; l++) rests = age >= delays[l];
#define SIXTEEN(channels) sixteen_lines( \
    ring, stride, mask, position, delays, numbers, inputs, channels, late, first, count)
    if (rests && channels == 2) SIXTEEN(2);
    else if (rests) SIXTEEN(channels);
    else network_body(
        ring, stride, mask, position, age, delays, fades, moves, numbers, inputs, channels, late, first, count, groups);
#undef SIXTEEN
}

KERNEL_IN_THREE(void, network, network_body, network_body, network_widest,
    (float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, bool fades,
        bool moves, float *numbers, const float *inputs, size_t channels, float *late, int32_t first, size_t count,
        size_t groups),
    ring, stride, mask, position, age, delays, fades, moves, numbers, inputs, channels, late, first, count, groups)
