#include "Dispatch.h"

// A feedback delay network, up to 64 frames at a time, and the lines before it. The rings of these lines have a length that is
// a power of two, and behind it room for 64 samples more, which repeat the first: a piece of up to 64 is never cut. (Lines of a
// network have eight more, since they are written eight frames at a time, of which the last may be none yet.) A ring that
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

INLINE void write_lines(
    float *ring, size_t stride, int32_t mask, int32_t position, const float *block, size_t lines, size_t count
) {
    int32_t place = position & mask;
    for (size_t i = 0; i < count; i += 8) {
        f8 r[8];
        for (size_t k = 0; k < 8; k++) r[k] = load8(block + (i + k) * lines);
        turn_eight(r);
        for (size_t l = 0; l < 8; l++) {
            float *to = ring + l * stride + place + i;
            store8(to, r[l]);
            if (place < piece) store8(to + mask + 1, r[l]);
        }
    }
}

// Sums and differences of all, by three butterflies.
INLINE f8 mix_eight(f8 x) {
    const f8 a = {1, 1, 1, 1, -1, -1, -1, -1}, b = {1, 1, -1, -1, 1, 1, -1, -1}, c = {1, -1, 1, -1, 1, -1, 1, -1};
    x = x * a + __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x = x * b + __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    return x * c + __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
}

INLINE f8 without_dust(f8 x) {
    i8 size = (i8)x & 0x7fffffff;
    return (f8)((i8)x & (i8)((f8)size > 1e-12f));
}

INLINE void turn_network(
    float *numbers, const float *inputs, size_t channels, float *block, float *late, int32_t first, size_t count,
    const size_t groups, const bool moves
) {
    const size_t lines = groups * 8;
    f8 low[4], high[4];
    for (size_t g = 0; g < groups; g++) {
        low[g] = load8(numbers + network_low_state * lines + g * 8);
        high[g] = load8(numbers + network_high_state * lines + g * 8);
    }
#define ROW(name) load8(numbers + network_##name * lines + g * 8)
#define MOVED(name) (moves ? ROW(name) + ROW(name##_slope) * time : ROW(name))
    for (size_t i = 0; i < count; i++) {
        float *row = block + i * lines;
        f8 time = spread8((float)(first + (int32_t)i)), x[4];
        for (size_t g = 0; g < groups; g++) {
            f8 in = load8(row + g * 8) * (ROW(gain) + ROW(gain_slope) * time);
            f8 middle = MOVED(low_direct) * in + low[g];
            low[g] = MOVED(low_feed) * in + MOVED(low_hold) * low[g];
            x[g] = MOVED(high_direct) * middle + high[g];
            high[g] = MOVED(high_feed) * middle + MOVED(high_hold) * high[g];
        }
        if (groups == 4) {
            for (int g = 0; g < 2; g++) {
                f8 sum = x[g] + x[g + 2];
                x[g + 2] = x[g] - x[g + 2];
                x[g] = sum;
            }
        }
        if (groups > 1) {
            for (size_t g = 0; g < groups; g += 2) {
                f8 sum = x[g] + x[g + 1];
                x[g + 1] = x[g] - x[g + 1];
                x[g] = sum;
            }
        }
        for (size_t g = 0; g < groups; g++) {
            f8 y = mix_eight(x[g]);
            if (g == 0) store8(late + i * 8, y);
            f8 neighbour = __builtin_shufflevector(y, y, 1, 0, 3, 2, 5, 4, 7, 6);
            y = y * (ROW(cosine) + ROW(cosine_slope) * time) + neighbour * (ROW(sine) + ROW(sine_slope) * time);
            for (size_t c = 0; c < channels; c++) {
                y += load8(numbers + (network_inputs + c) * lines + g * 8) * spread8(inputs[c * piece + i]);
            }
            store8(row + g * 8, without_dust(y));
        }
    }
#undef MOVED
#undef ROW
    for (size_t g = 0; g < groups; g++) {
        store8(numbers + network_low_state * lines + g * 8, without_dust(low[g]));
        store8(numbers + network_high_state * lines + g * 8, without_dust(high[g]));
    }
}

INLINE void network_of(
    float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, bool fades,
    bool moves, float *numbers, const float *inputs, size_t channels, float *block, float *late, int32_t first, size_t count,
    const size_t groups
) {
    const size_t lines = groups * 8;
    for (size_t g = 0; g < groups; g++) {
        read_lines(
            ring + g * 8 * stride, stride, mask, position, age, delays + g * 8, delays + lines + g * 8,
            numbers + network_fade * lines + g * 8, numbers + network_fade_slope * lines + g * 8, fades, block + g * 8,
            lines, first, count);
    }
    if (moves) turn_network(numbers, inputs, channels, block, late, first, count, groups, true);
    else if (channels == 2) turn_network(numbers, inputs, 2, block, late, first, count, groups, false);
    else turn_network(numbers, inputs, channels, block, late, first, count, groups, false);
    for (size_t g = 0; g < groups; g++) {
        write_lines(ring + g * 8 * stride, stride, mask, position, block + g * 8, lines, count);
    }
}

INLINE void network_body(
    float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, bool fades,
    bool moves, float *numbers, const float *inputs, size_t channels, float *block, float *late, int32_t first, size_t count,
    size_t groups
) {
#define NETWORK(g) network_of( \
    ring, stride, mask, position, age, delays, fades, moves, numbers, inputs, channels, block, late, first, count, g)
    if (groups == 1) NETWORK(1);
    else if (groups == 2) NETWORK(2);
    else NETWORK(4);
#undef NETWORK
}

KERNEL(void, network,
    (float *ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *delays, bool fades,
        bool moves, float *numbers, const float *inputs, size_t channels, float *block, float *late, int32_t first, size_t count,
        size_t groups),
    ring, stride, mask, position, age, delays, fades, moves, numbers, inputs, channels, block, late, first, count, groups)

INLINE void diffuse_body(
    float *restrict ring, int32_t mask, int32_t position, int32_t age, int32_t delay, float gain, float slope,
    int32_t first, float *restrict samples, size_t count
) {
    float held[piece];
    recall(ring, mask, position, age, delay, held, count);
    float *to = ring + (position & mask);
    for (size_t i = 0; i < count; i++) {
        float g = gain + slope * (float)(first + (int32_t)i);
        float in = samples[i] + g * held[i];
        in = __builtin_fabsf(in) > 1e-12f ? in : 0;
        samples[i] = held[i] - g * in;
        held[i] = in;
    }
    for (size_t i = 0; i < count; i++) to[i] = held[i];
    if ((position & mask) < piece) for (size_t i = 0; i < count; i++) to[i + mask + 1] = held[i];
}

KERNEL(void, diffuse,
    (float *ring, int32_t mask, int32_t position, int32_t age, int32_t delay, float gain, float slope, int32_t first,
        float *samples, size_t count),
    ring, mask, position, age, delay, gain, slope, first, samples, count)

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
    const float *restrict ring, int32_t mask, int32_t position, int32_t age, int32_t delay, float gain, float slope,
    int32_t first, float *restrict sum, size_t count
) {
    const float *from = ring + ((position - delay) & mask);
    size_t begin = age >= delay ? 0 : (size_t)(delay - age);
    for (size_t i = begin; i < count; i++) sum[i] += from[i] * (gain + slope * (float)(first + (int32_t)i));
}

KERNEL(void, add_past,
    (const float *ring, int32_t mask, int32_t position, int32_t age, int32_t delay, float gain, float slope, int32_t first,
        float *sum, size_t count),
    ring, mask, position, age, delay, gain, slope, first, sum, count)
