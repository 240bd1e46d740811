#include "Dispatch.h"

// A fixed ratio of sample rates, as a file has it on its way to the ear. Every output frame has one of `up` rows of taps;
// those that have the same row lie `up` frames apart, and `down` in the input. So sixteen of them are computed at once, a
// lane for each, from an input that is laid out in sixteen lanes before: each tap is one number for all lanes, and each
// row of lanes is read once for several rows of taps, whose windows begin a few frames apart. (Taps in lanes, as the live
// resampler has them, wait for loads that straddle cache lines: twice as slow.)
//
// A lane is two plain sums, from either end of a row to its middle, so that vectors of any width give the same bits.
// Taps far from the middle are small: a single sum from end to end would round the second half of them beside the whole
// result, which cost 8 dB (134 instead of 142). Rows have zeros before, between and behind their halves.

/// Sixteen parts of a channel, `stride` frames apart, as rows of lanes; or, from rows of lanes, back.
INLINE void lay_out(const float *restrict from, size_t stride, float *restrict lanes, size_t count) {
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        for (size_t lane = 0; lane < 16; lane += 4) {
            f4 a, b, c, d;
            const float *at = from + lane * stride + j;
            __builtin_memcpy(&a, at, 16);
            __builtin_memcpy(&b, at + stride, 16);
            __builtin_memcpy(&c, at + 2 * stride, 16);
            __builtin_memcpy(&d, at + 3 * stride, 16);
            f4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), AB = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            f4 cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
            c = __builtin_shufflevector(AB, CD, 0, 1, 4, 5), d = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
            float *to = lanes + 16 * j + lane;
            __builtin_memcpy(to, &a, 16);
            __builtin_memcpy(to + 16, &b, 16);
            __builtin_memcpy(to + 32, &c, 16);
            __builtin_memcpy(to + 48, &d, 16);
        }
    }
    for (; j < count; j++)
        for (size_t lane = 0; lane < 16; lane++) lanes[16 * j + lane] = from[lane * stride + j];
}

INLINE void lay_back(const float *restrict lanes, float *restrict to, size_t stride, size_t count) {
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        for (size_t lane = 0; lane < 16; lane += 4) {
            f4 a, b, c, d;
            const float *at = lanes + 16 * j + lane;
            __builtin_memcpy(&a, at, 16);
            __builtin_memcpy(&b, at + 16, 16);
            __builtin_memcpy(&c, at + 32, 16);
            __builtin_memcpy(&d, at + 48, 16);
            f4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), AB = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            f4 cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
            c = __builtin_shufflevector(AB, CD, 0, 1, 4, 5), d = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
            float *out = to + lane * stride + j;
            __builtin_memcpy(out, &a, 16);
            __builtin_memcpy(out + stride, &b, 16);
            __builtin_memcpy(out + 2 * stride, &c, 16);
            __builtin_memcpy(out + 3 * stride, &d, 16);
        }
    }
    for (; j < count; j++)
        for (size_t lane = 0; lane < 16; lane++) to[lane * stride + j] = lanes[16 * j + lane];
}

#define UNROLL _Pragma("clang loop unroll(full)")
#define TWICE _Pragma("clang loop unroll_count(2)")

/// Lays out the input of all lanes. A lane goes on where the next one begins, so only its first frames are collected from
/// afar: the rest are those of the lanes above it, moved down by one.
INLINE void lay_out_input(const struct kernel_ratio *ratio, const float *restrict from, float *restrict lanes) {
    size_t advance = ratio->advance, own = (advance + 3) / 4 * 4;
    lay_out(from, advance, lanes, own);
    for (size_t j = own; j < ratio->columns; j++) {
        store16(lanes + 16 * j, load16(lanes + 16 * (j - advance) + 1));
        lanes[16 * j + 15] = from[15 * advance + j];
    }
}

/// @param width How many rows of taps at once, of each channel: as many as the processor has room for.
/// @param channels One or two, whose samples meet the same taps.
INLINE void resample_fixed_body(
    size_t width, size_t channels, const struct kernel_ratio *ratio, const float *const samples[2],
    float *restrict scratch, float *const output[2]
) {
    size_t apart = 16 * ratio->columns;
    float *restrict input = scratch, *restrict sums = scratch + channels * apart;
    UNROLL for (size_t c = 0; c < channels; c++) lay_out_input(ratio, samples[c], input + c * apart);
    size_t phase = 0, start = 0;
    for (size_t first = 0; first < ratio->rows; first += width) {
        const float *taps[8];
        size_t shift = 0;
        UNROLL for (size_t row = 0; row < width; row++) {
            taps[row] = ratio->table + phase * ratio->stride - shift;
            phase += ratio->down;
            if (row + 1 < width)
                for (; phase >= ratio->up; phase -= ratio->up) shift++;
        }
        const f16 *from[2];
        f16 sum[2][8], *result[2];
        UNROLL for (size_t c = 0; c < channels; c++) {
            from[c] = (const f16 *)(input + c * apart) + start;
            result[c] = (f16 *)(sums + 16 * c * ratio->rows) + first;
            UNROLL for (size_t row = 0; row < width; row++) sum[c][row] = (f16){0};
        }
        size_t half = ratio->taps / 2 + shift;
        TWICE for (size_t j = 0; j < half; j++)
            UNROLL for (size_t c = 0; c < channels; c++)
                UNROLL for (size_t row = 0; row < width; row++) sum[c][row] += taps[row][j] * from[c][j];
        // In memory meanwhile: not every processor has registers for both.
        UNROLL for (size_t c = 0; c < channels; c++)
            UNROLL for (size_t row = 0; row < width; row++) {
                result[c][row] = sum[c][row];
                sum[c][row] = (f16){0};
            }
        TWICE for (size_t j = ratio->taps + shift; j-- > ratio->taps / 2;)
            UNROLL for (size_t c = 0; c < channels; c++)
                UNROLL for (size_t row = 0; row < width; row++) sum[c][row] += taps[row][j + 16] * from[c][j];
        UNROLL for (size_t c = 0; c < channels; c++)
            UNROLL for (size_t row = 0; row < width; row++) result[c][row] += sum[c][row];
        for (start += shift; phase >= ratio->up; phase -= ratio->up) start++;
    }
    UNROLL for (size_t c = 0; c < channels; c++)
        lay_back(sums + 16 * c * ratio->rows, output[c], ratio->rows, ratio->rows);
}

INLINE void resample_fixed_two(
    const struct kernel_ratio *ratio, const float *samples, float *scratch, float *output
) {
    resample_fixed_body(2, 1, ratio, &samples, scratch, &output);
}

INLINE void resample_fixed_four(
    const struct kernel_ratio *ratio, const float *samples, float *scratch, float *output
) {
    resample_fixed_body(4, 1, ratio, &samples, scratch, &output);
}

INLINE void resample_fixed_eight(
    const struct kernel_ratio *ratio, const float *samples, float *scratch, float *output
) {
    resample_fixed_body(8, 1, ratio, &samples, scratch, &output);
}

KERNEL_IN_THREE(void, resample_fixed, resample_fixed_two, resample_fixed_four, resample_fixed_eight,
    (const struct kernel_ratio *ratio, const float *samples, float *scratch, float *output),
    ratio, samples, scratch, output)

#if defined(__x86_64__)
// Two rows of taps for two channels begin closer together than four rows for one, so that fewer zeros are weighed, and each
// tap is spread over the lanes once for both channels.
AVX2 static void resample_fixed_pair_avx2(
    const struct kernel_ratio *ratio, const float *const samples[2], float *scratch, float *const output[2]
) {
    resample_fixed_body(2, 2, ratio, samples, scratch, output);
}
#endif

void kernel_resample_fixed_pair(
    const struct kernel_ratio *ratio, const float *left, const float *right, float *scratch, float *leftOutput,
    float *rightOutput
) {
#if defined(__x86_64__)
    if (TAKEN == 1) {
        const float *const samples[2] = {left, right};
        float *const output[2] = {leftOutput, rightOutput};
        return resample_fixed_pair_avx2(ratio, samples, scratch, output);
    }
#endif
    kernel_resample_fixed(ratio, left, scratch, leftOutput);
    kernel_resample_fixed(ratio, right, scratch, rightOutput);
}
