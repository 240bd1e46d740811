#include "Dispatch.h"

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

INLINE f16 zip_low(f16 a, f16 b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
INLINE f16 zip_high(f16 a, f16 b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// Four rows of sixteen, as sixteen neighbours of four.
INLINE void store_columns(float *y, f16 a, f16 b, f16 c, f16 d) {
    f16 acl = zip_low(a, c), ach = zip_high(a, c), bdl = zip_low(b, d), bdh = zip_high(b, d);
    store16(y, zip_low(acl, bdl));
    store16(y + 16, zip_high(acl, bdl));
    store16(y + 32, zip_low(ach, bdh));
    store16(y + 48, zip_high(ach, bdh));
}

// Four rows of four fours: the fours change places.
INLINE void store_fours(float *y, f16 a, f16 b, f16 c, f16 d) {
    f16 abl = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    f16 abh = __builtin_shufflevector(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    f16 cdl = __builtin_shufflevector(c, d, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    f16 cdh = __builtin_shufflevector(c, d, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    store16(y, __builtin_shufflevector(abl, cdl, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23));
    store16(y + 16, __builtin_shufflevector(abl, cdl, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31));
    store16(y + 32, __builtin_shufflevector(abh, cdh, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23));
    store16(y + 48, __builtin_shufflevector(abh, cdh, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31));
}

typedef struct {
    c16 a, b, c, d;
} four;

INLINE four butterfly(const float *xr, const float *xi, size_t apart) {
    c16 a = load_c(xr, xi), b = load_c(xr + apart, xi + apart);
    c16 c = load_c(xr + 2 * apart, xi + 2 * apart), d = load_c(xr + 3 * apart, xi + 3 * apart);
    c16 s = plus(a, c), e = minus(a, c), t = plus(b, d), u = turned_back(minus(b, d));
    return (four){plus(s, t), plus(e, u), minus(s, t), minus(e, u)};
}

INLINE four twiddled(four y, const float *w, size_t apart) {
    y.b = times(y.b, load16(w), load16(w + apart));
    y.c = times(y.c, load16(w + 2 * apart), load16(w + 3 * apart));
    y.d = times(y.d, load16(w + 4 * apart), load16(w + 5 * apart));
    return y;
}

INLINE void fourier_pass_body(
    const float *w, size_t count, size_t stride, size_t from, size_t to, const float *restrict xr,
    const float *restrict xi, float *restrict yr, float *restrict yi
) {
    size_t quarter = count / 4, length = count / stride;
    if (length == 2) {
        for (size_t i = 2 * from; i < 2 * to; i += 16) {
            c16 a = load_c(xr + i, xi + i), b = load_c(xr + i + stride, xi + i + stride);
            c16 s = plus(a, b), d = minus(a, b);
            store16(yr + i, s.re);
            store16(yi + i, s.im);
            store16(yr + i + stride, d.re);
            store16(yi + i + stride, d.im);
        }
    } else if (stride == 1) {
        for (size_t i = from; i < to; i += 16) {
            four y = twiddled(butterfly(xr + i, xi + i, quarter), w + i, quarter);
            store_columns(yr + 4 * i, y.a.re, y.b.re, y.c.re, y.d.re);
            store_columns(yi + 4 * i, y.a.im, y.b.im, y.c.im, y.d.im);
        }
    } else if (stride == 4) {
        for (size_t i = from; i < to; i += 16) {
            four y = twiddled(butterfly(xr + i, xi + i, quarter), w + i, quarter);
            store_fours(yr + 4 * i, y.a.re, y.b.re, y.c.re, y.d.re);
            store_fours(yi + 4 * i, y.a.im, y.b.im, y.c.im, y.d.im);
        }
    } else {
        size_t i = from;
        while (i < to) {
            size_t p = i / stride, end = (p + 1) * stride, last = end < to ? end : to;
            float *zr = yr + 3 * stride * p, *zi = yi + 3 * stride * p;
            if (length == 4) {
                for (; i < last; i += 16) {
                    four y = butterfly(xr + i, xi + i, quarter);
                    store16(zr + i, y.a.re);
                    store16(zi + i, y.a.im);
                    store16(zr + i + stride, y.b.re);
                    store16(zi + i + stride, y.b.im);
                    store16(zr + i + 2 * stride, y.c.re);
                    store16(zi + i + 2 * stride, y.c.im);
                    store16(zr + i + 3 * stride, y.d.re);
                    store16(zi + i + 3 * stride, y.d.im);
                }
                continue;
            }
            const float *v = w + 6 * p;
            f16 br = spread16(v[0]), bi = spread16(v[1]), cr = spread16(v[2]), ci = spread16(v[3]);
            f16 dr = spread16(v[4]), di = spread16(v[5]);
            for (; i < last; i += 16) {
                four y = butterfly(xr + i, xi + i, quarter);
                c16 b = times(y.b, br, bi), c = times(y.c, cr, ci), d = times(y.d, dr, di);
                store16(zr + i, y.a.re);
                store16(zi + i, y.a.im);
                store16(zr + i + stride, b.re);
                store16(zi + i + stride, b.im);
                store16(zr + i + 2 * stride, c.re);
                store16(zi + i + 2 * stride, c.im);
                store16(zr + i + 3 * stride, d.re);
                store16(zi + i + 3 * stride, d.im);
            }
        }
    }
}

WIDE_KERNEL(void, fourier_pass,
    (const float *twiddles, size_t count, size_t stride, size_t from, size_t to, const float *xr, const float *xi,
        float *yr, float *yi),
    twiddles, count, stride, from, to, xr, xi, yr, yi)

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
        float *row = rows + i * 2 * parts;
        store16(row, load16(re + i));
        store16(row + 16, load16(im + i));
    }
}

WIDE_KERNEL(void, file_spectrum, (const float *re, const float *im, float *rows, size_t parts, size_t count), re, im, rows,
    parts, count)

INLINE void multiply_spectra_body(
    const float *restrict filter, const float *restrict history, size_t parts, size_t newest, size_t used, bool adds,
    size_t from, size_t to, float *restrict re, float *restrict im
) {
    size_t first = parts - newest < used ? parts - newest : used;
    for (size_t i = from; i < to; i += 16) {
        const float *h = filter + i * 2 * parts, *row = history + i * 2 * parts, *x = row + 32 * newest;
        f16 rr = {0}, ii = {0}, ri = {0}, ir = {0};
        for (size_t k = 0; k < used; k++) {
            if (k == first) x = row;
            f16 a = load16(x), b = load16(x + 16), c = load16(h), d = load16(h + 16);
            rr += a * c;
            ii += b * d;
            ri += a * d;
            ir += b * c;
            x += 32;
            h += 32;
        }
        f16 sumRe = rr - ii, sumIm = ri + ir;
        if (adds) {
            sumRe += load16(re + i);
            sumIm += load16(im + i);
        }
        store16(re + i, sumRe);
        store16(im + i, sumIm);
    }
}

WIDE_KERNEL(void, multiply_spectra,
    (const float *filter, const float *history, size_t parts, size_t newest, size_t used, bool adds, size_t from,
        size_t to, float *re, float *im),
    filter, history, parts, newest, used, adds, from, to, re, im)
