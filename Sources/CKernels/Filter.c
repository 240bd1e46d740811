#include "Turning.h"

// A second-order filter at rest, eight frames at once.
//
// From one frame to the next a recursive filter waits for itself: three operations, some twelve cycles. Over a block of
// eight it is one step of the same length: what comes out is the answer to the state at the start of the block (a row of
// `cu` and `cw` for each frame) and to the frames of the block (the impulse response `h`). In double precision, as the
// frame-by-frame form; what differs between the two lies at 1e-16.

struct filter {
    // The first of the zeros is not read: it is the caller's.
    double zeros[4], h[8], cu[8], cw[8], bu[8], bw[8], a[4];
};

INLINE d8 spread8d(double v) { return (d8){v, v, v, v, v, v, v, v}; }

// The state behind a block that begins with a state `s`.
INLINE d2 next_state(const struct filter *f, d4 x, d4 z, d2 s) {
    d4 p = x * load4d(f->bu) + z * load4d(f->bu + 4);
    d4 q = x * load4d(f->bw) + z * load4d(f->bw + 4);
    d4 even = __builtin_shufflevector(p, q, 0, 4, 2, 6), odd = __builtin_shufflevector(p, q, 1, 5, 3, 7);
    // Half of it is a number of its own for the compiler, which would make of all this the processor's sum of neighbours: that
    // takes twice as many steps.
    d2 half = __builtin_shufflevector(even, even, 0, 1);
#if defined(__x86_64__)
    __asm__("" : "+x"(half));
#endif
    d4 sums = __builtin_shufflevector(__builtin_shufflevector(half, half, 0, 1, -1, -1), even, 0, 1, 6, 7) + odd;
    d2 pq = __builtin_shufflevector(sums, sums, 0, 1), rs = __builtin_shufflevector(sums, sums, 2, 3);
    d2 u = __builtin_shufflevector(s, s, 0, 0), w = __builtin_shufflevector(s, s, 1, 1);
    return ((d2){f->a[0], f->a[1]} * u + (d2){f->a[2], f->a[3]} * w) + (pq + rs);
}

// Blocks that follow one another: each row of numbers is read once for all of them.
INLINE void filter_blocks_in_turn(
    const struct filter *f, const f8 *input, f8 *output, size_t blocks, d2 *state, bool isWide
) {
    // A row of `h` may begin with zeros: those that stand before it.
    const double *h = (const double *)f + 4;
    double frames[2][8];
    d8 sums[2];
#pragma clang loop unroll(full)
    for (size_t b = 0; b < blocks; b++) {
        d2 s = *state;
        d4 x = low4(input[b]), z = high4(input[b]);
        store4d(frames[b], x);
        store4d(frames[b] + 4, z);
        sums[b] = load8d(f->cu) * spread8d(s[0]) + load8d(f->cw) * spread8d(s[1]);
        *state = next_state(f, x, z, s);
    }
    // Through memory, which the compiler would avoid: from there a number is spread at no cost where vectors are long.
    if (isWide) __asm__("" : "+m"(frames));
    // Frame i hears frame j through h[i - j].
    for (int j = 0; j < 4; j++) {
        d8 row = load8d(h - j);
        for (size_t b = 0; b < blocks; b++) sums[b] += spread8d(frames[b][j]) * row;
    }
    d4 first[2], second[2];
    for (size_t b = 0; b < blocks; b++) {
        first[b] = __builtin_shufflevector(sums[b], sums[b], 0, 1, 2, 3);
        second[b] = __builtin_shufflevector(sums[b], sums[b], 4, 5, 6, 7);
    }
    // The rows are read again: the compiler would rather put them together from parts of those above.
    const double *again = h;
    if (isWide) __asm__("" : "+r"(again));
    for (int j = 0; j < 4; j++) {
        d4 row = load4d(again - j);
        for (size_t b = 0; b < blocks; b++) second[b] += spread4(frames[b][4 + j]) * row;
    }
    for (size_t b = 0; b < blocks; b++) output[b] = join(first[b], second[b]);
}

INLINE f8 filter_block(const struct filter *f, f8 input, d2 *state, bool isWide) {
    f8 output;
    filter_blocks_in_turn(f, &input, &output, 1, state, isWide);
    return output;
}

INLINE void filter_body(
    const double *numbers, double *u, double *w, float *pending, size_t pendingCount, float *samples,
    size_t count, bool isWide
) {
    const struct filter *f = (const struct filter *)numbers;
    d2 state = {*u, *w};
    if (pendingCount > 0) {
        size_t taken = count < 8 - pendingCount ? count : 8 - pendingCount;
        for (size_t i = 0; i < taken; i++) pending[pendingCount + i] = samples[i];
        for (size_t i = pendingCount + taken; i < 8; i++) pending[i] = 0;
        d2 kept = state;
        float out[8];
        store8(out, filter_block(f, load8(pending), &state, isWide));
        for (size_t i = 0; i < taken; i++) samples[i] = out[pendingCount + i];
        if (pendingCount + taken < 8) state = kept;
        samples += taken;
        count -= taken;
    }
    size_t i = 0;
    for (; isWide && i + 16 <= count; i += 16) {
        f8 frames[2] = {load8(samples + i), load8(samples + i + 8)};
        filter_blocks_in_turn(f, frames, frames, 2, &state, isWide);
        store8(samples + i, frames[0]);
        store8(samples + i + 8, frames[1]);
    }
    for (; i + 8 <= count; i += 8) store8(samples + i, filter_block(f, load8(samples + i), &state, isWide));
    *u = state[0];
    *w = state[1];
    if (i < count) {
        for (size_t k = 0; k < 8; k++) pending[k] = i + k < count ? samples[i + k] : 0;
        float out[8];
        store8(out, filter_block(f, load8(pending), &state, isWide));
        for (size_t k = 0; i + k < count; k++) samples[i + k] = out[k];
    }
}

INLINE void filter_wide_body(
    const double *numbers, double *u, double *w, float *pending, size_t pendingCount, float *samples, size_t count
) {
    filter_body(numbers, u, w, pending, pendingCount, samples, count, true);
}

INLINE void filter_narrow_body(
    const double *numbers, double *u, double *w, float *pending, size_t pendingCount, float *samples, size_t count
) {
    filter_body(numbers, u, w, pending, pendingCount, samples, count, false);
}

KERNEL_IN_TWO(void, filter, filter_narrow_body, filter_wide_body,
    (const double *numbers, double *u, double *w, float *pending, size_t pendingCount, float *samples, size_t count),
    numbers, u, w, pending, pendingCount, samples, count)

// Eight channels, one in each lane: the same sums in the same order. So it is done where a register has eight numbers of double
// precision.

INLINE d8 drive(const double b[8], const d8 x[8]) {
    d8 p = x[0] * b[0] + x[4] * b[4], q = x[1] * b[1] + x[5] * b[5];
    d8 r = x[2] * b[2] + x[6] * b[6], s = x[3] * b[3] + x[7] * b[7];
    return (p + q) + (r + s);
}

// Frames of eight channels become what comes out.
INLINE void filter_blocks(const struct filter *f, f8 rows[8], d8 *u, d8 *w) {
    d8 x[8];
    turn_eight(rows);
    for (int i = 0; i < 8; i++) x[i] = __builtin_convertvector(rows[i], d8);
    // A row of the triangle is as long as its number: the compiler leaves that a loop unless told.
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++) {
        d8 sum = f->cu[i] * *u + f->cw[i] * *w;
#pragma clang loop unroll(full)
        for (int j = 0; j <= i; j++) sum += x[j] * f->h[i - j];
        rows[i] = __builtin_convertvector(sum, f8);
    }
    turn_eight(rows);
    d8 next = (f->a[0] * *u + f->a[2] * *w) + drive(f->bu, x);
    *w = (f->a[1] * *u + f->a[3] * *w) + drive(f->bw, x);
    *u = next;
}

INLINE void filter_eight_body(
    const double *numbers, double *u, double *w, float *pending, size_t pendingCount, float *const *channels,
    size_t offset, size_t count
) {
    const struct filter *f = (const struct filter *)numbers;
    float *samples[8];
    for (int c = 0; c < 8; c++) samples[c] = channels[c] + offset;
    d8 left = load8d(u), right = load8d(w);
    size_t done = 0;
    while (done < count) {
        f8 rows[8];
        size_t taken = count - done < 8 - pendingCount ? count - done : 8 - pendingCount;
        if (taken == 8) {
            for (int c = 0; c < 8; c++) rows[c] = load8(samples[c] + done);
            filter_blocks(f, rows, &left, &right);
            for (int c = 0; c < 8; c++) store8(samples[c] + done, rows[c]);
        } else {
            for (int c = 0; c < 8; c++) {
                for (size_t i = pendingCount; i < 8; i++)
                    pending[8 * c + i] = i - pendingCount < taken ? samples[c][done + i - pendingCount] : 0;
                rows[c] = load8(pending + 8 * c);
            }
            d8 keptLeft = left, keptRight = right;
            filter_blocks(f, rows, &left, &right);
            for (int c = 0; c < 8; c++) {
                float out[8];
                store8(out, rows[c]);
                for (size_t i = 0; i < taken; i++) samples[c][done + i] = out[pendingCount + i];
            }
            if (pendingCount + taken < 8) {
                left = keptLeft;
                right = keptRight;
            }
        }
        done += taken;
        pendingCount = 0;
    }
    store8d(u, left);
    store8d(w, right);
}

// Where a register has four, four channels go through a block, and then the other four, so that each number that they are
// multiplied by is read from memory as a part of the product.
struct filter_spread {
    d4 h[8], cu[8], cw[8], bu[8], bw[8], a[4];
};

// Four channels on their way through blocks. A block's frames and results lie in the order 0, 4, 1, 5, 2, 6, 3, 7.
struct filter_four {
    f4 frames[8], results[8];
    d4 u, w;
};

INLINE size_t place_of(size_t frame) { return 2 * (frame & 3) + (frame >> 2); }

// What stands before this is done and written before what follows. The compiler would move operations to where they wait for
// one another, and would run out of registers.
#define IN_ORDER(memory) __asm__ volatile("" : "+m"(memory) : : "memory")

INLINE void take_block(struct filter_four *four, float *const samples[4], size_t place) {
    f8 rows[4];
    for (int c = 0; c < 4; c++) rows[c] = load8(samples[c] + place);
    transpose_halves(rows);
    for (int k = 0; k < 4; k++) __builtin_memcpy(four->frames + 2 * k, rows + k, sizeof(f8));
    IN_ORDER(four->frames);
}

INLINE void give_block(const struct filter_four *four, float *const samples[4], size_t place) {
    f8 rows[4];
    for (int k = 0; k < 4; k++) __builtin_memcpy(rows + k, four->results + 2 * k, sizeof(f8));
    transpose_halves(rows);
    for (int c = 0; c < 4; c++) store8(samples[c] + place, rows[c]);
}

INLINE d4 drive4(const d4 b[8], const d4 x[8]) {
    d4 p = x[0] * b[0] + x[4] * b[4], q = x[1] * b[1] + x[5] * b[5];
    d4 r = x[2] * b[2] + x[6] * b[6], s = x[3] * b[3] + x[7] * b[7];
    return (p + q) + (r + s);
}

// A frame goes into all sums that hear it before the next one does, so that a sum seldom waits for itself.
INLINE void filter_block_of_four(const struct filter_spread *f, struct filter_four *four) {
    d4 x[8], sums[8], u = four->u, w = four->w;
    d4 ownU = f->a[0] * u + f->a[2] * w, ownW = f->a[1] * u + f->a[3] * w;
    for (size_t k = 0; k < 8; k++) sums[k] = f->cu[k] * u + f->cw[k] * w;
#pragma clang loop unroll(full)
    for (size_t j = 0; j < 8; j++) {
        x[j] = __builtin_convertvector(four->frames[place_of(j)], d4);
#pragma clang loop unroll(full)
        for (size_t k = j; k < 8; k++) sums[k] += x[j] * f->h[k - j];
        four->results[place_of(j)] = __builtin_convertvector(sums[j], f4);
        IN_ORDER(four->results[place_of(j)]);
    }
    four->u = ownU + drive4(f->bu, x);
    four->w = ownW + drive4(f->bw, x);
}

// Whole blocks of eight channels. The frames of four channels are taken before the other four are filtered, and their results
// are given behind that: by then both are through the memory, and nothing waits for them.
INLINE void filter_fours(
    const struct filter_spread *f, float *const *channels, size_t offset, size_t count, double *u, double *w
) {
    float *samples[8];
    for (int c = 0; c < 8; c++) samples[c] = channels[c] + offset;
    struct filter_four one = {.u = load4d(u), .w = load4d(w)}, two = {.u = load4d(u + 4), .w = load4d(w + 4)};
    take_block(&one, samples, 0);
    for (size_t i = 0; i < count; i += 8) {
        take_block(&two, samples + 4, i);
        filter_block_of_four(f, &one);
        if (i > 0) give_block(&two, samples + 4, i - 8);
        if (i + 8 < count) take_block(&one, samples, i + 8);
        filter_block_of_four(f, &two);
        give_block(&one, samples, i);
    }
    give_block(&two, samples + 4, count - 8);
    store4d(u, one.u);
    store4d(u + 4, two.u);
    store4d(w, one.w);
    store4d(w + 4, two.w);
}

INLINE void filter_fours_body(
    const double *numbers, double *u, double *w, float *pending, size_t pendingCount, float *const *channels,
    size_t offset, size_t count
) {
    const struct filter *f = (const struct filter *)numbers;
    // The parts of blocks at both ends go the way of each channel by itself.
    if (pendingCount > 0) {
        size_t taken = count < 8 - pendingCount ? count : 8 - pendingCount;
        for (int c = 0; c < 8; c++)
            filter_body(numbers, u + c, w + c, pending + 8 * c, pendingCount, channels[c] + offset, taken, true);
        offset += taken;
        count -= taken;
    }
    size_t whole = count & ~(size_t)7;
    if (whole > 0) {
        struct filter_spread spread;
        for (int i = 0; i < 8; i++) {
            spread.h[i] = spread4(f->h[i]);
            spread.cu[i] = spread4(f->cu[i]);
            spread.cw[i] = spread4(f->cw[i]);
            spread.bu[i] = spread4(f->bu[i]);
            spread.bw[i] = spread4(f->bw[i]);
        }
        for (int i = 0; i < 4; i++) spread.a[i] = spread4(f->a[i]);
        // In memory, which the compiler would avoid.
        __asm__("" : "+m"(spread));
        filter_fours(&spread, channels, offset, whole, u, w);
    }
    if (whole < count) {
        for (int c = 0; c < 8; c++)
            filter_body(numbers, u + c, w + c, pending + 8 * c, 0, channels[c] + offset + whole, count - whole, true);
    }
}

// The way for short vectors, for which lanes do not pay.
INLINE void filter_each_body(
    const double *numbers, double *u, double *w, float *pending, size_t pendingCount, float *const *channels,
    size_t offset, size_t count
) {
    for (int c = 0; c < 8; c++)
        filter_body(numbers, u + c, w + c, pending + 8 * c, pendingCount, channels[c] + offset, count, false);
}

KERNEL_IN_THREE(void, filter_eight, filter_each_body, filter_fours_body, filter_eight_body,
    (const double *numbers, double *u, double *w, float *pending, size_t pendingCount, float *const *channels,
        size_t offset, size_t count),
    numbers, u, w, pending, pendingCount, channels, offset, count)
