#include "Dispatch.h"

// Loops over samples that lie one after the other: sums, gains, integers, a sine. Plain C, of which the compiler makes
// vectors, but for the sine.

INLINE void copy_body(float *restrict target, const float *restrict source, size_t count) {
    for (size_t i = 0; i < count; i++) target[i] = source[i];
}

KERNEL(void, copy, (float *target, const float *source, size_t count), target, source, count)

// The most frequent operations of the stack are written out for 64 frames at a time, which many a cycle has: in a loop
// that the compiler unrolls, half of the instructions would find out how long it is. `i` is where the rest begins.
#define BLOCKS(count, i, ...) \
    size_t i = 0; \
    if (count == 64) { \
        _Pragma("clang loop unroll(full)") for (size_t lane = 0; lane < 64; lane += 16) __VA_ARGS__ \
        return; \
    } \
    for (; i + 64 <= count; i += 64) \
        _Pragma("clang loop unroll(full)") for (size_t lane = 0; lane < 64; lane += 16) __VA_ARGS__

INLINE void add_body(float *restrict sum, const float *restrict a, size_t count) {
    BLOCKS(count, i, store16(sum + i + lane, load16(sum + i + lane) + load16(a + i + lane));)
    for (; i < count; i++) sum[i] += a[i];
}

WIDE_KERNEL(void, add, (float *sum, const float *a, size_t count), sum, a, count)

INLINE void add_three_body(
    float *restrict sum, const float *restrict a, const float *restrict b, const float *restrict c, size_t count
) {
    BLOCKS(count, i, store16(sum + i + lane,
        ((load16(sum + i + lane) + load16(a + i + lane)) + load16(b + i + lane)) + load16(c + i + lane));)
    for (; i < count; i++) sum[i] = ((sum[i] + a[i]) + b[i]) + c[i];
}

WIDE_KERNEL(void, add_three, (float *sum, const float *a, const float *b, const float *c, size_t count), sum, a, b, c, count)

INLINE void add_scaled_body(float *restrict sum, const float *restrict a, float gain, size_t count) {
    f16 gains = spread16(gain);
    BLOCKS(count, i, store16(sum + i + lane, load16(sum + i + lane) + load16(a + i + lane) * gains);)
    for (; i < count; i++) sum[i] += a[i] * gain;
}

WIDE_KERNEL(void, add_scaled, (float *sum, const float *a, float gain, size_t count), sum, a, gain, count)

INLINE void scale_body(float *samples, float gain, size_t count) {
    f16 gains = spread16(gain);
    BLOCKS(count, i, store16(samples + i + lane, load16(samples + i + lane) * gains);)
    for (; i < count; i++) samples[i] *= gain;
}

WIDE_KERNEL(void, scale, (float *samples, float gain, size_t count), samples, gain, count)

INLINE void scale_in_turn_body(float *samples, float a, float b, float c, float d, size_t count) {
    f16 first = spread16(a), second = spread16(b), third = spread16(c), fourth = spread16(d);
    BLOCKS(count, i,
        store16(samples + i + lane, (((load16(samples + i + lane) * first) * second) * third) * fourth);)
    for (; i < count; i++) samples[i] = (((samples[i] * a) * b) * c) * d;
}

WIDE_KERNEL(void, scale_in_turn, (float *samples, float a, float b, float c, float d, size_t count),
    samples, a, b, c, d, count)

INLINE void fill_body(float *samples, float value, size_t count) {
    f16 values = spread16(value);
    BLOCKS(count, i, store16(samples + i + lane, values);)
    for (; i < count; i++) samples[i] = value;
}

WIDE_KERNEL(void, fill, (float *samples, float value, size_t count), samples, value, count)

INLINE void spread_body(float *restrict left, float *restrict right, float leftGain, float rightGain, size_t count) {
    f16 leftGains = spread16(leftGain), rightGains = spread16(rightGain);
    BLOCKS(count, i, {
        f16 samples = load16(left + i + lane);
        store16(left + i + lane, samples * leftGains);
        store16(right + i + lane, samples * rightGains);
    })
    for (; i < count; i++) {
        float sample = left[i];
        left[i] = sample * leftGain;
        right[i] = sample * rightGain;
    }
}

WIDE_KERNEL(void, spread, (float *left, float *right, float leftGain, float rightGain, size_t count),
    left, right, leftGain, rightGain, count)

// Zero times a number is zero. Times what is infinite, or no number, it is no number, and stays it. Where a sum starts with
// the samples, it is zero plus them: -0 becomes 0 there, as it would in a sum that was cleared.
INLINE bool finite(const float *restrict samples, size_t count, bool starts, float *restrict sum) {
    f16 first = {0}, second = {0};
    f8 few = {0};
    float rest = 0;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        f16 one = load16(samples + i), two = load16(samples + i + 16);
        if (starts) store16(sum + i, one + 0.0f);
        if (starts) store16(sum + i + 16, two + 0.0f);
        first *= one;
        second *= two;
    }
    for (; i + 8 <= count; i += 8) {
        f8 one = load8(samples + i);
        if (starts) store8(sum + i, one + 0.0f);
        few *= one;
    }
    for (; i < count; i++) {
        float one = samples[i];
        if (starts) sum[i] = one + 0.0f;
        rest *= one;
    }
    first += second;
    return total((low8(first) + high8(first)) + few) + rest == 0;
}

INLINE bool is_finite_body(const float *samples, size_t count) { return finite(samples, count, false, NULL); }

WIDE_KERNEL(bool, is_finite, (const float *samples, size_t count), samples, count)

INLINE bool start_sum_body(float *sum, const float *a, size_t count) { return finite(a, count, true, sum); }

WIDE_KERNEL(bool, start_sum, (float *sum, const float *a, size_t count), sum, a, count)

INLINE void from_int16_body(const int16_t *restrict integers, float *restrict samples, size_t count) {
    for (size_t i = 0; i < count; i++) samples[i] = (float)integers[i] * 0x1p-15f;
}

KERNEL(void, from_int16, (const int16_t *integers, float *samples, size_t count), integers, samples, count)

INLINE void from_int16_pairs_body(
    const int16_t *restrict pairs, float *restrict left, float *restrict right, size_t count
) {
    size_t i = 0;
    if (FIRST_IS_LOW)
        for (; i + 8 <= count; i += 8) {
            // Eight pairs in 32 bits each. The integers become the upper halves of wider ones, which are exact as floats too.
            u8 both;
            __builtin_memcpy(&both, pairs + 2 * i, sizeof both);
            store8(left + i, __builtin_convertvector((i8)(both << 16), f8) * 0x1p-31f);
            store8(right + i, __builtin_convertvector((i8)(both & 0xffff0000u), f8) * 0x1p-31f);
        }
    for (; i < count; i++) {
        left[i] = (float)pairs[2 * i] * 0x1p-15f;
        right[i] = (float)pairs[2 * i + 1] * 0x1p-15f;
    }
}

WIDE_KERNEL(void, from_int16_pairs, (const int16_t *pairs, float *left, float *right, size_t count),
    pairs, left, right, count)

// Rounds to even as the processor adds: 1.5 · 2²³ leaves no bits for fractions, and the lowest bits are the integer. A
// sample that is not a number passes neither comparison, and becomes 0.
INLINE int32_t integer(float sample, int32_t *within) {
    float scaled = sample * 32768, lower = scaled > -32768 ? scaled : (scaled <= -32768 ? -32768 : 0);
    float held = (lower < 32767 ? lower : 32767) + 12582912;
    int32_t bits;
    __builtin_memcpy(&bits, &held, sizeof bits);
    *within += __builtin_fabsf(sample) <= 1;
    return bits;
}

INLINE size_t to_int16_body(const float *restrict samples, int16_t *restrict integers, size_t count) {
    int32_t within = 0;
    for (size_t i = 0; i < count; i++) integers[i] = (int16_t)integer(samples[i], &within);
    return count - (size_t)within;
}

WIDE_KERNEL(size_t, to_int16, (const float *samples, int16_t *integers, size_t count), samples, integers, count)

INLINE size_t to_int16_pairs_body(
    const float *restrict left, const float *restrict right, int16_t *restrict pairs, size_t count
) {
    int32_t within = 0;
    for (size_t i = 0; i < count; i++) {
        pairs[2 * i] = (int16_t)integer(left[i], &within);
        pairs[2 * i + 1] = (int16_t)integer(right[i], &within);
    }
    return 2 * count - (size_t)within;
}

WIDE_KERNEL(size_t, to_int16_pairs, (const float *left, const float *right, int16_t *pairs, size_t count),
    left, right, pairs, count)

typedef uint64_t w4 __attribute__((vector_size(32)));
#define EACH _Pragma("clang loop unroll(full)") for (size_t b = 0; b < vectors; b++)

// The sines of 32 or 64 frames, as `sine_at` computes them. A polynomial waits for itself from term to term: vectors side by
// side fill that time, which the processor cannot do by itself, because the next frames lie too far ahead. `low` and `high`
// are the phases of the next eight frames, whose upper halves one shuffle puts in order. Twice a phase has lost the half turn,
// and differs from the phase in its sign where there was one: so the half turn is taken away and back by few operations, and
// costs no register until the end.
INLINE void sines(size_t vectors, w4 *low, w4 *high, w4 eight, float level, float *samples) {
    f8 q[8], z[8], p[8];
    EACH {
        u8 at = (u8)__builtin_shufflevector((u8)*low, (u8)*high, 1, 3, 9, 11, 5, 7, 13, 15), twice = at + at;
        *low += eight;
        *high += eight;
        q[b] = (f8)((u8)(__builtin_convertvector((i8)twice, f8) * 0x1p-31f) ^ ((at ^ twice) & 0x80000000u));
        z[b] = q[b] * q[b];
    }
    EACH p[b] = z[b] * 0.00015148511247278685f + -0.0046737665849350225f;
    EACH p[b] = p[b] * z[b] + 0.0796896789306073f;
    EACH p[b] = p[b] * z[b] + -0.6459637105972021f;
    EACH p[b] = p[b] * z[b] + 0.5707963184479123f;
    EACH store8(samples + 8 * b, (q[b] + q[b] * p[b]) * level);
}

INLINE void sine_body(uint64_t phase, uint64_t step, float level, float *samples, size_t count) {
    w4 low = (w4){0, 1, 4, 5} * step + phase, high = low + 2 * step, eight = (w4){0} + 8 * step;
    size_t i = 0;
    for (; i + 64 <= count; i += 64) sines(8, &low, &high, eight, level, samples + i);
    for (; i + 32 <= count; i += 32) sines(4, &low, &high, eight, level, samples + i);
    if (i < count) {
        float rest[32];
        sines(4, &low, &high, eight, level, rest);
        for (size_t k = 0; i + k < count; k++) samples[i + k] = rest[k];
    }
}

WIDE_KERNEL(void, sine, (uint64_t phase, uint64_t step, float level, float *samples, size_t count),
    phase, step, level, samples, count)

// MARK: - The choice

int kernel_vectors = 0;

int kernel_use_vectors(int wanted) {
    int most = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    // The features behind `arch=x86-64-v3` and `arch=x86-64-v4`, as far as the kernels can use them.
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
        && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("popcnt")
        && __builtin_cpu_supports("movbe") && __builtin_cpu_supports("f16c");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    most = avx2 ? (avx512 ? 2 : 1) : 0;
#endif
    int taken = wanted < most ? wanted : most;
    __atomic_store_n(&kernel_vectors, taken, __ATOMIC_RELAXED);
    return taken;
}

/// Before `main`, and so before any thread.
__attribute__((constructor)) static void choose(void) { kernel_use_vectors(2); }
