#include "Turning.h"

// A fixed ratio of sample rates, as a file has it on its way to the ear. Every output frame has one of `up` rows of taps;
// those that have the same row lie `up` frames apart, and `down` in the input. So sixteen of them are computed at once, a
// lane for each, from an input that is laid out in sixteen lanes before: each tap is one number for all lanes, and each
// row of lanes is read once for several rows of taps, whose windows begin a few frames apart. (Taps in lanes, as the live
// resampler has them, wait for loads that straddle cache lines: twice as slow.)
//
// A lane is two plain sums, from either end of a row to its middle, so that vectors of any width give the same bits.
// Taps far from the middle are small: a single sum from end to end would round the second half of them beside the whole
// result, which cost 8 dB (134 instead of 142). Rows have zeros before, between and behind their halves.

#define TWICE _Pragma("clang loop unroll_count(2)")

// The steps of a resampler, each in forms of its own, and for this file alone. What is laid out are sixteen parts of a channel as
// rows of lanes. A lane goes on where the next one begins, so only its first frames are collected from afar: the rest are those
// of the lanes above it, moved down by one.
#pragma GCC visibility push(hidden)

/// Returns how many rows of lanes are collected from afar.
INLINE size_t collected(const struct kernel_ratio *ratio) { return (ratio->advance + 3) / 4 * 4; }

/// Makes a row of lanes from one that is there already, and from the last lane's own frame.
INLINE void move_down(const struct kernel_ratio *ratio, float *lanes, size_t row, float last) {
    store16(lanes + 16 * row, load16(lanes + 16 * (row - ratio->advance) + 1));
    lanes[16 * row + 15] = last;
}

/// Makes four rows of lanes at once, in registers: no load straddles a cache line, and each row is written by one store.
INLINE void move_four_down(const struct kernel_ratio *ratio, float *lanes, size_t row, f4 last) {
    f16 ends = __builtin_shufflevector(last, last, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    float *to = lanes + 16 * row, *from = to - 16 * ratio->advance;
#define MOVE_DOWN(k) store16(to + 16 * (k), __builtin_shufflevector(load16(from + 16 * (k)), ends, \
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 + (k)))
    MOVE_DOWN(0);
    MOVE_DOWN(1);
    MOVE_DOWN(2);
    MOVE_DOWN(3);
}

INLINE void lay_out_body(const struct kernel_ratio *ratio, const float *restrict from, float *restrict lanes) {
    size_t advance = ratio->advance, own = collected(ratio);
    for (size_t j = 0; j < own; j += 4)
        for (size_t lane = 0; lane < 16; lane += 4) {
            f4 r[4];
            load_turned(from + lane * advance + j, advance, r);
            UNROLL for (size_t k = 0; k < 4; k++) store4(lanes + 16 * (j + k) + lane, r[k]);
        }
    for (size_t j = own; j < ratio->columns; j++) move_down(ratio, lanes, j, from[15 * advance + j]);
}

INLINE void lay_out_wide(const struct kernel_ratio *ratio, const float *restrict from, float *restrict lanes) {
    size_t advance = ratio->advance, own = collected(ratio), j = 0;
    for (; j < own; j += 4) {
        f16 r[4];
        load_turned_wide(from + j, advance, r);
        UNROLL for (size_t k = 0; k < 4; k++) store16(lanes + 16 * (j + k), r[k]);
    }
    for (; j + 4 <= ratio->columns; j += 4) {
        f4 last;
        __builtin_memcpy(&last, from + 15 * advance + j, 16);
        move_four_down(ratio, lanes, j, last);
    }
    for (; j < ratio->columns; j++) move_down(ratio, lanes, j, from[15 * advance + j]);
}

KERNEL_IN_THREE(void, lay_out, lay_out_body, lay_out_body, lay_out_wide,
    (const struct kernel_ratio *ratio, const float *from, float *lanes), ratio, from, lanes)

/// Lays out two channels from pairs of 16-bit integers, which are turned as one number of 32 bits.
INLINE void lay_out_pairs_body(
    const struct kernel_ratio *ratio, const int16_t *restrict pairs, float *restrict left, float *restrict right
) {
    size_t advance = ratio->advance, own = collected(ratio);
    const float *from = (const float *)(const void *)pairs;
    for (size_t j = 0; j < own; j += 4)
        for (size_t lane = 0; lane < 16; lane += 4) {
            f4 r[4];
            load_turned(from + lane * advance + j, advance, r);
            UNROLL for (size_t k = 0; k < 4; k++) {
                u4 both = (u4)r[k];
                // The integers become the upper halves of wider ones, which are exact as floats too.
                f4 low = __builtin_convertvector((i4)(both << 16), f4) * 0x1p-31f;
                f4 high = __builtin_convertvector((i4)(both & 0xffff0000u), f4) * 0x1p-31f;
                store4(left + 16 * (j + k) + lane, FIRST_IS_LOW ? low : high);
                store4(right + 16 * (j + k) + lane, FIRST_IS_LOW ? high : low);
            }
        }
    for (size_t j = own; j < ratio->columns; j++) {
        const int16_t *last = pairs + 2 * (15 * advance + j);
        move_down(ratio, left, j, (float)last[0] * 0x1p-15f);
        move_down(ratio, right, j, (float)last[1] * 0x1p-15f);
    }
}

/// Makes rows of lanes from a row of pairs.
INLINE void store_pairs(u16 both, float *left, float *right) {
    f16 low = __builtin_convertvector((i16)(both << 16), f16) * 0x1p-31f;
    f16 high = __builtin_convertvector((i16)(both & 0xffff0000u), f16) * 0x1p-31f;
    store16(left, FIRST_IS_LOW ? low : high);
    store16(right, FIRST_IS_LOW ? high : low);
}

INLINE void lay_out_pairs_wide(
    const struct kernel_ratio *ratio, const int16_t *restrict pairs, float *restrict left, float *restrict right
) {
    size_t advance = ratio->advance, own = collected(ratio), j = 0;
    const float *from = (const float *)(const void *)pairs;
    for (; j < own; j += 4) {
        f16 r[4];
        load_turned_wide(from + j, advance, r);
        UNROLL for (size_t k = 0; k < 4; k++) store_pairs((u16)r[k], left + 16 * (j + k), right + 16 * (j + k));
    }
    for (; j + 4 <= ratio->columns; j += 4) {
        u4 both;
        __builtin_memcpy(&both, from + 15 * advance + j, 16);
        f4 low = __builtin_convertvector((i4)(both << 16), f4) * 0x1p-31f;
        f4 high = __builtin_convertvector((i4)(both & 0xffff0000u), f4) * 0x1p-31f;
        move_four_down(ratio, left, j, FIRST_IS_LOW ? low : high);
        move_four_down(ratio, right, j, FIRST_IS_LOW ? high : low);
    }
    for (; j < ratio->columns; j++) {
        const int16_t *last = pairs + 2 * (15 * advance + j);
        move_down(ratio, left, j, (float)last[0] * 0x1p-15f);
        move_down(ratio, right, j, (float)last[1] * 0x1p-15f);
    }
}

KERNEL_IN_THREE(void, lay_out_pairs, lay_out_pairs_body, lay_out_pairs_body, lay_out_pairs_wide,
    (const struct kernel_ratio *ratio, const int16_t *pairs, float *left, float *right), ratio, pairs, left, right)

/// Makes the frames of a channel of rows of lanes.
INLINE void lay_back_body(const float *restrict lanes, float *restrict to, size_t count) {
    for (size_t j = 0; j < count; j += 4)
        for (size_t lane = 0; lane < 16; lane += 4) {
            f4 r[4];
            load_turned(lanes + 16 * j + lane, 16, r);
            UNROLL for (size_t k = 0; k < 4; k++) store4(to + (lane + k) * count + j, r[k]);
        }
}

KERNEL(void, lay_back, (const float *lanes, float *to, size_t count), lanes, to, count)

/// Weighs the input of one channel.
///
/// @param width How many rows of taps at once: as many as the processor has room for.
INLINE void weigh_lanes_body(size_t width, const struct kernel_ratio *ratio, const float *input, float *sums) {
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
        const f16 *from = (const f16 *)input + start;
        f16 sum[8], *result = (f16 *)sums + first;
        UNROLL for (size_t row = 0; row < width; row++) sum[row] = (f16){0};
        size_t half = ratio->taps / 2 + shift;
        TWICE for (size_t j = 0; j < half; j++)
            UNROLL for (size_t row = 0; row < width; row++) sum[row] += taps[row][j] * from[j];
        // In memory meanwhile: not every processor has registers for both.
        UNROLL for (size_t row = 0; row < width; row++) {
            result[row] = sum[row];
            sum[row] = (f16){0};
        }
        TWICE for (size_t j = ratio->taps + shift - 1; j >= ratio->taps / 2; j--)
            UNROLL for (size_t row = 0; row < width; row++) sum[row] += taps[row][j + 16] * from[j];
        UNROLL for (size_t row = 0; row < width; row++) result[row] += sum[row];
        for (start += shift; phase >= ratio->up; phase -= ratio->up) start++;
    }
}

INLINE void weigh_lanes_two(const struct kernel_ratio *ratio, const float *restrict input, float *restrict sums) {
    weigh_lanes_body(2, ratio, input, sums);
}

INLINE void weigh_lanes_four(const struct kernel_ratio *ratio, const float *restrict input, float *restrict sums) {
    weigh_lanes_body(4, ratio, input, sums);
}

INLINE void weigh_lanes_eight(const struct kernel_ratio *ratio, const float *restrict input, float *restrict sums) {
    weigh_lanes_body(8, ratio, input, sums);
}

KERNEL_IN_THREE(void, weigh_lanes, weigh_lanes_two, weigh_lanes_four, weigh_lanes_eight,
    (const struct kernel_ratio *ratio, const float *input, float *sums), ratio, input, sums)

#pragma GCC visibility pop

#if defined(__x86_64__)
// Two rows of taps for two channels begin closer together than four rows for one, so that fewer zeros are weighed, and each
// tap is spread over the lanes once for both channels. The taps of both rows lie side by side, in the order in which they are
// weighed: the processor fetches them ahead.

/// Weighs eight lanes with a tap of each row. These instructions are written out, because the compiler puts each sum right behind
/// its product: on Zen 3 all of it then takes 1.07 times as long.
#define WEIGH(lanes, tap, next, sum, nextSum) do { \
        f8 kept, product; \
        __asm__("vmovaps %[from], %[kept]\n\t" \
                "vmulps %[kept], %[a], %[product]\n\t" \
                "vmulps %[kept], %[b], %[kept]\n\t" \
                "vaddps %[product], %[first], %[first]\n\t" \
                "vaddps %[kept], %[second], %[second]" \
            : [first] "+x"(sum), [second] "+x"(nextSum), [kept] "=&x"(kept), [product] "=&x"(product) \
            : [from] "m"(lanes), [a] "x"(tap), [b] "x"(next)); \
    } while (0)

/// Weighs a frame of both channels, two vectors of eight lanes each, with one tap of each row.
INLINE AVX2 void weigh_frame(const float *taps, const f8 *const from[2], ptrdiff_t frame, f8 sum[2][4]) {
    // Less nothing, a number becomes a vector of it, whatever its sign.
    f8 tap = taps[0] - (f8){0}, next = taps[1] - (f8){0};
    UNROLL for (size_t c = 0; c < 2; c++)
        UNROLL for (size_t part = 0; part < 2; part++)
            WEIGH(from[c][2 * frame + (ptrdiff_t)part], tap, next, sum[c][part], sum[c][part + 2]);
}

/// Weighs frames with half of the taps, one after the other. Returns the taps that come next.
///
/// @param direction 1 where the frames lie behind `start`, and -1 where they lie before it.
INLINE AVX2 const float *weigh_half(
    const float *taps, size_t half, size_t extra, const f8 *const start[2], ptrdiff_t direction, f8 sum[2][4]
) {
    const f8 *from[2] = {start[0], start[1]};
    UNROLL for (size_t k = 0; k < 8; k++) sum[k / 4][k % 4] = (f8){0};
    for (const float *end = taps + 2 * half; taps < end; taps += 16) {
        UNROLL for (ptrdiff_t k = 0; k < 8; k++) weigh_frame(taps + 2 * k, from, direction * k, sum);
        from[0] += 16 * direction;
        from[1] += 16 * direction;
    }
    for (size_t k = 0; k < extra; k++, taps += 2) weigh_frame(taps, from, direction * (ptrdiff_t)k, sum);
    return taps;
}

/// Weighs the input of two channels, which lies in `scratch`.
AVX2 static void weigh_both_avx2(const struct kernel_ratio *ratio, const float *scratch, float *sums) {
    const f8 *input[2] = {(const f8 *)scratch, (const f8 *)(scratch + 16 * ratio->columns)};
    f8 *result[2] = {(f8 *)sums, (f8 *)(sums + 16 * ratio->rows)};
    size_t half = ratio->taps / 2, phase = 0, extra = ratio->extra;
    const float *taps = ratio->pairs, *end = taps + ratio->pairCount * 4 * (half + extra);
    for (size_t row = 0; row < ratio->rows; row += 2) {
        if (taps == end) taps = ratio->pairs;
        size_t width = 2 * (ratio->taps + extra - 1);
        const f8 *last[2] = {input[0] + width, input[1] + width};
        f8 sum[2][4];
        taps = weigh_half(taps, half, extra, input, 1, sum);
        UNROLL for (size_t k = 0; k < 8; k++) result[k / 4][k % 4] = sum[k / 4][k % 4];
        taps = weigh_half(taps, half, extra, last, -1, sum);
        UNROLL for (size_t k = 0; k < 8; k++) result[k / 4][k % 4] += sum[k / 4][k % 4];
        size_t start = 0;
        for (phase += 2 * ratio->down; phase >= ratio->up; phase -= ratio->up) start += 2;
        UNROLL for (size_t c = 0; c < 2; c++) {
            input[c] += start;
            result[c] += 4;
        }
    }
}

// With AVX-512 four rows for both channels keep all sums in registers. Rows that begin later end later too, so that the last frames
// need only some of them. Their frames go from the registers to where they are heard, while the processor weighs on.

/// Weighs a frame of both channels with a tap of each row from `first` on.
INLINE AVX512 void weigh_frame_wide(
    const float *const taps[4], const f16 *const from[2], ptrdiff_t frame, size_t first, f16 sum[2][4]
) {
    UNROLL for (size_t row = first; row < 4; row++) {
        f16 tap = taps[row][frame] - (f16){0};
        UNROLL for (size_t c = 0; c < 2; c++) sum[c][row] += tap * from[c][frame];
    }
}

/// Weighs frames with half of the taps, one after the other.
///
/// @param start The taps that go with the first frame, of the row that begins first and of those after it.
/// @param direction 1 where the frames lie behind `input`, and -1 where they lie before it.
INLINE AVX512 void weigh_half_wide(
    const struct kernel_ratio *ratio, const float *const start[4], const f16 *const input[2], ptrdiff_t direction,
    f16 sum[2][4]
) {
    const float *taps[4] = {start[0], start[1], start[2], start[3]};
    const f16 *from[2] = {input[0], input[1]};
    UNROLL for (size_t k = 0; k < 8; k++) sum[k / 4][k % 4] = (f16){0};
    for (size_t j = 0; j < ratio->taps / 2; j += 8) {
        UNROLL for (ptrdiff_t k = 0; k < 8; k++) weigh_frame_wide(taps, from, direction * k, 0, sum);
        UNROLL for (size_t row = 0; row < 4; row++) taps[row] += 8 * direction;
        UNROLL for (size_t c = 0; c < 2; c++) from[c] += 8 * direction;
    }
    // At most 1.1 input frames go by for each output frame. So of four rows each begins at most one frame after the one before it,
    // and where more than 1 go by, one more frame later in all.
    for (size_t k = 1; k < ratio->extra; k++) {
        weigh_frame_wide(taps, from, 0, 0, sum);
        UNROLL for (size_t row = 0; row < 4; row++) taps[row] += direction;
        UNROLL for (size_t c = 0; c < 2; c++) from[c] += direction;
    }
    UNROLL for (ptrdiff_t k = 0; k < 3; k++) weigh_frame_wide(taps, from, direction * k, (size_t)k + 1, sum);
}

/// Weighs the input of two channels, which lies in `scratch`, and gives out their frames.
AVX512 static void weigh_both_avx512(const struct kernel_ratio *ratio, const float *scratch, float *left, float *right) {
    const f16 *input[2] = {(const f16 *)scratch, (const f16 *)scratch + ratio->columns};
    size_t phase = 0;
    for (size_t first = 0; first < ratio->rows; first += 4) {
        const float *taps[4], *ends[4];
        size_t shift = 0;
        UNROLL for (size_t row = 0; row < 4; row++) {
            taps[row] = ratio->table + phase * ratio->stride - shift;
            phase += ratio->down;
            if (row < 3)
                for (; phase >= ratio->up; phase -= ratio->up) shift++;
        }
        size_t width = ratio->taps + shift - 1;
        const f16 *last[2] = {input[0] + width, input[1] + width};
        // From the end the last row begins first.
        UNROLL for (size_t row = 0; row < 4; row++) ends[row] = taps[3 - row] + width + 16;
        f16 sum[2][4], rest[2][4];
        weigh_half_wide(ratio, taps, input, 1, sum);
        weigh_half_wide(ratio, ends, last, -1, rest);
        UNROLL for (size_t k = 0; k < 8; k++) sum[k / 4][k % 4] += rest[k / 4][3 - k % 4];
        store_turned(sum[0], left + first, ratio->rows);
        store_turned(sum[1], right + first, ratio->rows);
        for (; phase >= ratio->up; phase -= ratio->up) shift++;
        UNROLL for (size_t c = 0; c < 2; c++) input[c] += shift;
    }
}
#endif

/// Weighs the input of two channels and gives out their frames.
static void weigh_both(const struct kernel_ratio *ratio, float *scratch, float *left, float *right) {
    float *sums = scratch + 32 * ratio->columns, *rightSums = sums + 16 * ratio->rows;
#if defined(__x86_64__)
    int taken = TAKEN;
    if (taken > 1) {
        weigh_both_avx512(ratio, scratch, left, right);
        return;
    }
    if (taken == 1) {
        weigh_both_avx2(ratio, scratch, sums);
    } else
#endif
    {
        kernel_weigh_lanes(ratio, scratch, sums);
        kernel_weigh_lanes(ratio, scratch + 16 * ratio->columns, rightSums);
    }
    kernel_lay_back(sums, left, ratio->rows);
    kernel_lay_back(rightSums, right, ratio->rows);
}

void kernel_resample_fixed(const struct kernel_ratio *ratio, const float *samples, float *scratch, float *output) {
    float *sums = scratch + 16 * ratio->columns;
    kernel_lay_out(ratio, samples, scratch);
    kernel_weigh_lanes(ratio, scratch, sums);
    kernel_lay_back(sums, output, ratio->rows);
}

void kernel_resample_fixed_pair(
    const struct kernel_ratio *ratio, const float *left, const float *right, float *scratch, float *leftOutput,
    float *rightOutput
) {
    kernel_lay_out(ratio, left, scratch);
    kernel_lay_out(ratio, right, scratch + 16 * ratio->columns);
    weigh_both(ratio, scratch, leftOutput, rightOutput);
}

void kernel_resample_fixed_int16_pairs(
    const struct kernel_ratio *ratio, const int16_t *pairs, float *scratch, float *leftOutput, float *rightOutput
) {
    kernel_lay_out_pairs(ratio, pairs, scratch, scratch + 16 * ratio->columns);
    weigh_both(ratio, scratch, leftOutput, rightOutput);
}
