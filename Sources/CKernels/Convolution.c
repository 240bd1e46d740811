#include "Turning.h"

// The parts of a convolution by partitions: a complex Fourier transform whose numbers lie in two planes, and the products of
// spectra. Every loop is sixteen numbers wide.
//
// Two blocks of real samples that follow each other are one block of complex numbers, the older the real part. Turned by
// exp(i pi k / 2n) before the transform, their product with a filter that is turned too is a convolution in which what wraps
// around changes its sign (Nussbaumer, Fast Fourier Transform and Convolution Algorithms, 6.1). The newer half of it, the
// imaginary part, is what overlap-save wants: a transform of n complex numbers where a real one would have 2n, and nothing to
// tell apart behind it.

typedef struct {
    f16 re, im;
} c16;

INLINE c16 load_c(const float *re, const float *im) { return (c16){load16(re), load16(im)}; }
INLINE c16 plus(c16 a, c16 b) { return (c16){a.re + b.re, a.im + b.im}; }
INLINE c16 minus(c16 a, c16 b) { return (c16){a.re - b.re, a.im - b.im}; }
// Times -i.
INLINE c16 turned_back(c16 a) { return (c16){a.im, -a.re}; }
INLINE c16 times(c16 a, f16 re, f16 im) { return (c16){a.re * re - a.im * im, a.re * im + a.im * re}; }

typedef struct {
    c16 a, b, c, d;
} four;

INLINE four load_four(const float *re, const float *im, size_t apart) {
    return (four){
        load_c(re, im), load_c(re + apart, im + apart), load_c(re + 2 * apart, im + 2 * apart),
        load_c(re + 3 * apart, im + 3 * apart)};
}

INLINE void store_c(float *re, float *im, c16 z) {
    store16(re, z.re);
    store16(im, z.im);
}

INLINE void store_four(float *re, float *im, size_t apart, four y) {
    store_c(re, im, y.a);
    store_c(re + apart, im + apart, y.b);
    store_c(re + 2 * apart, im + 2 * apart, y.c);
    store_c(re + 3 * apart, im + 3 * apart, y.d);
}

INLINE four butterfly(four x) {
    c16 s = plus(x.a, x.c), e = minus(x.a, x.c), t = plus(x.b, x.d), u = turned_back(minus(x.b, x.d));
    return (four){plus(s, t), plus(e, u), minus(s, t), minus(e, u)};
}

INLINE four twiddled(four y, const float *w) {
    y.b = times(y.b, load16(w), load16(w + 16));
    y.c = times(y.c, load16(w + 32), load16(w + 48));
    y.d = times(y.d, load16(w + 64), load16(w + 80));
    return y;
}

// Four rows of four fours: the fours change places.
INLINE void turn_fours(f16 r[4]) {
    f16 abl = __builtin_shufflevector(r[0], r[1], 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    f16 abh = __builtin_shufflevector(r[0], r[1], 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    f16 cdl = __builtin_shufflevector(r[2], r[3], 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    f16 cdh = __builtin_shufflevector(r[2], r[3], 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    r[0] = __builtin_shufflevector(abl, cdl, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    r[1] = __builtin_shufflevector(abl, cdl, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    r[2] = __builtin_shufflevector(abh, cdh, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    r[3] = __builtin_shufflevector(abh, cdh, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}

#define TURN(how, y) \
    do { \
        f16 re[4] = {y.a.re, y.b.re, y.c.re, y.d.re}, im[4] = {y.a.im, y.b.im, y.c.im, y.d.im}; \
        how(re); \
        how(im); \
        y = (four){{re[0], im[0]}, {re[1], im[1]}, {re[2], im[2]}, {re[3], im[3]}}; \
    } while (0)

// A span of 64 numbers is transformed in registers: the rows are its quarters, then the quarters of these, then those of these.
INLINE four transformed(four y, const float *w) {
    y = twiddled(butterfly(y), w);
    TURN(turn_fours, y);
    y = twiddled(butterfly(y), w + 96);
    TURN(turn_quarters, y);
    return butterfly(y);
}

INLINE four transformed_back(four y, const float *w) {
    y = butterfly(y);
    TURN(turn_quarters, y);
    y = butterfly(twiddled(y, w + 96));
    TURN(turn_fours, y);
    return butterfly(twiddled(y, w));
}

INLINE void fourier_pass_any(
    bool back, const float *restrict w, size_t span, size_t from, size_t to, float *restrict re, float *restrict im
) {
    if (span == 64) {
        for (size_t i = 4 * from; i < 4 * to; i += 64) {
            four y = load_four(re + i, im + i, 16);
            store_four(re + i, im + i, 16, back ? transformed_back(y, w) : transformed(y, w));
        }
    } else if (__builtin_ctzl(span) % 2) {
        size_t half = span / 2;
        for (size_t i = 2 * from; i < 2 * to; i += 16) {
            c16 a = load_c(re + i, im + i), b = load_c(re + i + half, im + i + half);
            f16 wr = load16(w + 2 * i), wi = load16(w + 2 * i + 16);
            if (back) b = times(b, wr, wi);
            c16 d = minus(a, b);
            store_c(re + i, im + i, plus(a, b));
            store_c(re + i + half, im + i + half, back ? d : times(d, wr, wi));
        }
    } else {
        size_t quarter = span / 4;
        for (size_t i = from; i < to; i += 16) {
            size_t j = i & (quarter - 1);
            float *r = re + 4 * (i - j) + j, *m = im + 4 * (i - j) + j;
            four y = load_four(r, m, quarter);
            store_four(r, m, quarter, back ? butterfly(twiddled(y, w + 6 * j)) : twiddled(butterfly(y), w + 6 * j));
        }
    }
}

INLINE void fourier_pass_body(const float *w, size_t span, size_t from, size_t to, float *re, float *im) {
    fourier_pass_any(false, w, span, from, to, re, im);
}

INLINE void fourier_pass_back_body(const float *w, size_t span, size_t from, size_t to, float *re, float *im) {
    fourier_pass_any(true, w, span, from, to, re, im);
}

WIDE_KERNEL(void, fourier_pass, (const float *twiddles, size_t span, size_t from, size_t to, float *re, float *im), twiddles,
    span, from, to, re, im)
WIDE_KERNEL(void, fourier_pass_back, (const float *twiddles, size_t span, size_t from, size_t to, float *re, float *im),
    twiddles, span, from, to, re, im)

INLINE void turn_blocks_body(
    const float *restrict older, const float *restrict newer, const float *restrict turnRe, const float *restrict turnIm,
    float *restrict re, float *restrict im, size_t count
) {
    for (size_t i = 0; i < count; i += 16) {
        c16 z = times(load_c(older + i, newer + i), load16(turnRe + i), load16(turnIm + i));
        store16(re + i, z.re);
        store16(im + i, z.im);
    }
}

WIDE_KERNEL(void, turn_blocks,
    (const float *older, const float *newer, const float *turnRe, const float *turnIm, float *re, float *im, size_t count),
    older, newer, turnRe, turnIm, re, im, count)

INLINE void turn_back_body(
    const float *restrict re, const float *restrict im, const float *restrict turnRe, const float *restrict turnIm,
    float *restrict samples, size_t count
) {
    for (size_t i = 0; i < count; i += 16)
        store16(samples + i, load16(im + i) * load16(turnRe + i) - load16(re + i) * load16(turnIm + i));
}

WIDE_KERNEL(void, turn_back,
    (const float *re, const float *im, const float *turnRe, const float *turnIm, float *samples, size_t count), re, im,
    turnRe, turnIm, samples, count)

INLINE void file_spectrum_body(
    const float *restrict re, const float *restrict im, float *restrict rows, size_t parts, size_t count
) {
    for (size_t i = 0; i < count; i += 16) {
        float *row = rows + (i & ~(size_t)63) * 2 * parts + (i & 63) * 2;
        store16(row, load16(re + i));
        store16(row + 16, load16(im + i));
    }
}

WIDE_KERNEL(void, file_spectrum, (const float *re, const float *im, float *rows, size_t parts, size_t count), re, im, rows,
    parts, count)

#define EACH UNROLL for (size_t c = 0; c < columns; c++)

INLINE void add_products(size_t columns, const float *h, const float *x, size_t count, c16 *sum) {
    for (size_t k = 0; k < count; k++, x += 128, h += 128) EACH {
        c16 product = times(load_c(x + 32 * c, x + 32 * c + 16), load16(h + 32 * c), load16(h + 32 * c + 16));
        sum[c] = plus(sum[c], product);
    }
}

/// @param columns How many times sixteen bins at once: as many sums as the registers hold.
INLINE void multiply_columns(
    size_t columns, const float *restrict filter, const float *restrict history, size_t parts, size_t newest, size_t used,
    bool adds, size_t from, size_t to, float *restrict re, float *restrict im
) {
    size_t first = parts - newest < used ? parts - newest : used;
    for (size_t i = from; i < to; i += 16 * columns) {
        size_t place = (i & ~(size_t)63) * 2 * parts + (i & 63) * 2;
        const float *h = filter + place, *x = history + place;
        c16 sum[4] = {{{0}, {0}}};
        if (adds) EACH sum[c] = load_c(re + i + 16 * c, im + i + 16 * c);
        add_products(columns, h, x + 128 * newest, first, sum);
        add_products(columns, h + 128 * first, x, used - first, sum);
        EACH {
            store16(re + i + 16 * c, sum[c].re);
            store16(im + i + 16 * c, sum[c].im);
        }
    }
}

#define MULTIPLY(form, columns) \
    INLINE void multiply_spectra_##form( \
        const float *filter, const float *history, size_t parts, size_t newest, size_t used, bool adds, size_t from, \
        size_t to, float *re, float *im \
    ) { multiply_columns(columns, filter, history, parts, newest, used, adds, from, to, re, im); }

MULTIPLY(narrow, 1)
MULTIPLY(wide, 2)
MULTIPLY(widest, 4)

KERNEL_IN_THREE(void, multiply_spectra, multiply_spectra_narrow, multiply_spectra_wide, multiply_spectra_widest,
    (const float *filter, const float *history, size_t parts, size_t newest, size_t used, bool adds, size_t from,
        size_t to, float *re, float *im),
    filter, history, parts, newest, used, adds, from, to, re, im)
