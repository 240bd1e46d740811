// For AVX2 without FMA, with filters in double precision, as RenderStack's kernels are: those give the same bits on every
// processor, which fused sums and products would not.
#include "CBench.h"

#if defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#pragma clang fp contract(off)
#define NAME(x) exact_##x
#define REAL double
#define BENCH_NAME "C, AVX2, as exact"
#include "Kernels.h"
#pragma clang attribute pop

const struct bench_kernels *bench_exact(void) { return __builtin_cpu_supports("avx2") ? &exact_table : 0; }
#else
const struct bench_kernels *bench_exact(void) { return 0; }
#endif
