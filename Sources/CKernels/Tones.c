#include "Dispatch.h"

// The sharp waves of a tone, and what rounds their edges off. Phases count 2^64 to the turn.

typedef uint32_t u8 __attribute__((vector_size(32)));
typedef uint64_t t8 __attribute__((vector_size(64)));

// The phases of eight frames, 2^32 to the turn.
INLINE u8 eight_phases(uint64_t phase, uint64_t step) {
    t8 frames = {0, 1, 2, 3, 4, 5, 6, 7};
    return __builtin_convertvector((frames * step + phase) >> 32, u8);
}

INLINE float saw_at(uint32_t phase) { return (float)(int32_t)phase * 0x1p-31f; }

INLINE void saw_body(uint64_t phase, uint64_t step, float *samples, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8, phase += 8 * step) {
        store8(samples + i, __builtin_convertvector((i8)eight_phases(phase, step), f8) * 0x1p-31f);
    }
    for (; i < count; i++, phase += step) samples[i] = saw_at((uint32_t)(phase >> 32));
}

KERNEL(void, saw, (uint64_t phase, uint64_t step, float *samples, size_t count), phase, step, samples, count)

// As far from 1 as the phase is from the crest.
INLINE float triangle_at(uint32_t phase) {
    float way = (float)(int32_t)(phase - (1u << 30)) * 0x1p-30f;
    return 1 - (way < 0 ? -way : way);
}

INLINE void triangle_body(uint64_t phase, uint64_t step, float *samples, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8, phase += 8 * step) {
        f8 way = __builtin_convertvector((i8)(eight_phases(phase, step) - (1u << 30)), f8) * 0x1p-30f;
        store8(samples + i, 1 - (f8)((u8)way & 0x7fffffffu));
    }
    for (; i < count; i++, phase += step) samples[i] = triangle_at((uint32_t)(phase >> 32));
}

KERNEL(void, triangle, (uint64_t phase, uint64_t step, float *samples, size_t count), phase, step, samples, count)

INLINE void pulse_body(uint64_t phase, uint64_t step, uint32_t width, float low, float *samples, size_t count) {
    size_t i = 0;
    float high = low + 2;
    uint32_t low_bits, high_bits;
    __builtin_memcpy(&low_bits, &low, sizeof low);
    __builtin_memcpy(&high_bits, &high, sizeof high);
    for (; i + 8 <= count; i += 8, phase += 8 * step) {
        u8 is_high = (u8)(eight_phases(phase, step) < width);
        store8(samples + i, (f8)((is_high & high_bits) | (~is_high & low_bits)));
    }
    for (; i < count; i++, phase += step) samples[i] = (uint32_t)(phase >> 32) < width ? high : low;
}

KERNEL(void, pulse, (uint64_t phase, uint64_t step, uint32_t width, float low, float *samples, size_t count),
    phase, step, width, low, samples, count)

// Four rows of a table, each with its weight, one `apart` numbers behind the other.
INLINE void edge_body(
    const float *rows, size_t apart, float a, float b, float c, float d, float *samples, size_t count
) {
    const float *second = rows + apart, *third = second + apart, *fourth = third + apart;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        f8 sum = load8(rows + i) * a + load8(second + i) * b;
        sum = sum + load8(third + i) * c;
        store8(samples + i, load8(samples + i) + (sum + load8(fourth + i) * d));
    }
    for (; i < count; i++) {
        float sum = rows[i] * a + second[i] * b;
        sum = sum + third[i] * c;
        samples[i] = samples[i] + (sum + fourth[i] * d);
    }
}

KERNEL(void, edge,
    (const float *rows, size_t apart, float a, float b, float c, float d, float *samples, size_t count),
    rows, apart, a, b, c, d, samples, count)
