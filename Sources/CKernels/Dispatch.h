// The macros that compile a kernel for several processors. For the files of this folder only.
//
// A kernel is written once, in plain C and vectors of a fixed size. KERNEL compiles it for the oldest x86-64 (SSE2) and
// for AVX2, and its public function chooses the one for this processor: a load and a branch. There is nothing to
// resolve when the program is loaded, as with `target_clones`, so that it also works without glibc and under the
// sanitizers. WIDE_KERNEL is for a kernel that AVX-512 makes faster (a loop that only loads and stores is not).
// KERNEL_OF is for one that is written in two ways, for short vectors and for longer ones, KERNEL_IN_TWO for one of these that
// AVX-512 makes slower, and KERNEL_IN_THREE for one that has a third way, for AVX-512.
//
// A processor hands a vector that was just written on to a load only if one store wrote all that is loaded. A kernel that reads 64
// bytes at once from memory that another one wrote 32 at a time waits for the cache, some 15 cycles on Intel's processors.
//
// Every form gives the same bits: a vector is only a way to write the same sums, and no product is contracted with a sum
// (FMA rounds once instead of twice, and would make the sound depend on the machine).

#ifndef CKERNELS_DISPATCH_H
#define CKERNELS_DISPATCH_H

#include "CKernels.h"

#pragma STDC FP_CONTRACT OFF
// Functions that take vectors as arguments are always inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define AVX512 __attribute__((target("arch=x86-64-v4"), min_vector_width(512)))
#define AVX2 __attribute__((target("arch=x86-64-v3")))
// Not inlined: else the public function would first make room for it, where it needs only to jump.
#define SSE2 __attribute__((noinline))
#define JUMP __attribute__((musttail)) return
#define TAKEN __atomic_load_n(&kernel_vectors, __ATOMIC_RELAXED)
#define KERNEL_IN_TWO(type, name, narrow, wide, parameters, ...) \
    AVX2 static type name##_avx2 parameters { return wide(__VA_ARGS__); } \
    SSE2 static type name##_sse2 parameters { return narrow(__VA_ARGS__); } \
    type kernel_##name parameters { \
        if (TAKEN > 0) JUMP name##_avx2(__VA_ARGS__); \
        JUMP name##_sse2(__VA_ARGS__); \
    }
#define KERNEL_IN_THREE(type, name, narrow, wide, widest, parameters, ...) \
    AVX512 static type name##_avx512 parameters { return widest(__VA_ARGS__); } \
    AVX2 static type name##_avx2 parameters { return wide(__VA_ARGS__); } \
    SSE2 static type name##_sse2 parameters { return narrow(__VA_ARGS__); } \
    type kernel_##name parameters { \
        int taken = TAKEN; \
        if (taken == 1) JUMP name##_avx2(__VA_ARGS__); \
        if (taken > 1) JUMP name##_avx512(__VA_ARGS__); \
        JUMP name##_sse2(__VA_ARGS__); \
    }
#else
#define KERNEL_IN_TWO(type, name, narrow, wide, parameters, ...) \
    type kernel_##name parameters { return narrow(__VA_ARGS__); }
#define KERNEL_IN_THREE(type, name, narrow, wide, widest, parameters, ...) \
    type kernel_##name parameters { return narrow(__VA_ARGS__); }
#endif
#define KERNEL(type, name, parameters, ...) KERNEL_IN_TWO(type, name, name##_body, name##_body, parameters, __VA_ARGS__)
#define KERNEL_OF(type, name, narrow, wide, parameters, ...) \
    KERNEL_IN_THREE(type, name, narrow, wide, wide, parameters, __VA_ARGS__)
#define WIDE_KERNEL(type, name, parameters, ...) \
    KERNEL_OF(type, name, name##_body, name##_body, parameters, __VA_ARGS__)

/// Set before `main`, and by tests. Hidden, so that its address needs no register: a small kernel takes a dozen instructions.
extern int kernel_vectors __attribute__((visibility("hidden")));

/// In a number of 32 bits the first of two integers of 16 bits is the lower half.
#define FIRST_IS_LOW (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

typedef float f4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef double d2 __attribute__((vector_size(16)));
typedef double d4 __attribute__((vector_size(32)));
typedef double d8 __attribute__((vector_size(64)));
typedef int32_t i4 __attribute__((vector_size(16)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef int32_t i16 __attribute__((vector_size(64)));
typedef int64_t l2 __attribute__((vector_size(16)));
typedef int64_t l8 __attribute__((vector_size(64)));
typedef uint32_t u4 __attribute__((vector_size(16)));
typedef uint32_t u8 __attribute__((vector_size(32)));
typedef uint32_t u16 __attribute__((vector_size(64)));
typedef int16_t s8 __attribute__((vector_size(16)));
typedef int16_t s16 __attribute__((vector_size(32)));
typedef uint64_t w8 __attribute__((vector_size(64)));

INLINE f8 load8(const float *p) {
    f8 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store8(float *p, f8 v) { __builtin_memcpy(p, &v, sizeof v); }

INLINE f16 load16(const float *p) {
    f16 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store16(float *p, f16 v) { __builtin_memcpy(p, &v, sizeof v); }

INLINE d8 load8d(const double *p) {
    d8 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store8d(double *p, d8 v) { __builtin_memcpy(p, &v, sizeof v); }

INLINE f8 low8(f16 v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7); }
INLINE f8 high8(f16 v) { return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15); }

INLINE d4 load4d(const double *p) {
    d4 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store4d(double *p, d4 v) { __builtin_memcpy(p, &v, sizeof v); }

// Four rows become columns: their first four numbers, and their last four beside them.
INLINE void transpose_halves(f8 r[4]) {
    f8 a = __builtin_shufflevector(r[0], r[1], 0, 8, 1, 9, 4, 12, 5, 13);
    f8 b = __builtin_shufflevector(r[2], r[3], 0, 8, 1, 9, 4, 12, 5, 13);
    f8 c = __builtin_shufflevector(r[0], r[1], 2, 10, 3, 11, 6, 14, 7, 15);
    f8 d = __builtin_shufflevector(r[2], r[3], 2, 10, 3, 11, 6, 14, 7, 15);
    r[0] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    r[1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    r[2] = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
    r[3] = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
}

// The sum of eight lanes: of the halves, then of every second lane.
INLINE f4 halves(f8 v) {
    return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}

INLINE float total(f8 v) {
    f4 four = halves(v);
    return (four[0] + four[2]) + (four[1] + four[3]);
}

INLINE d4 low4(f8 v) { return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3), d4); }
INLINE d4 high4(f8 v) { return __builtin_convertvector(__builtin_shufflevector(v, v, 4, 5, 6, 7), d4); }

INLINE f8 join(d4 low, d4 high) {
    f4 a = __builtin_convertvector(low, f4), b = __builtin_convertvector(high, f4);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

// A quarter turn either side of 0, -1…1, and the sign bit of the half turn that was taken away.
INLINE f16 quarter(u16 phase, u16 *half) {
    *half = (phase + 0x40000000u) & 0x80000000u;
    return __builtin_convertvector((i16)(phase - *half), f16) * 0x1p-30f;
}

// The polynomial and its use are `RenderMath.sin(phase:)`: to the nearest half turn, the rest between two quarters.
INLINE f16 sine_at(f16 q, f16 z, u16 half) {
    f16 p = z * 0.00015148511247278685f + -0.0046737665849350225f;
    p = p * z + 0.0796896789306073f;
    p = p * z + -0.6459637105972021f;
    p = p * z + 0.5707963184479123f;
    return (f16)((u16)(q + q * p) ^ half);
}

INLINE f8 spread8(float v) { return (f8){v, v, v, v, v, v, v, v}; }
INLINE f16 spread16(float v) { return (f16){v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v}; }
INLINE d4 spread4(double v) { return (d4){v, v, v, v}; }

#endif
