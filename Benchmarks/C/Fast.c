// For AVX2 with FMA, chosen when the program runs.
#include "CBench.h"

#if defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#pragma clang fp contract(fast)
#define NAME(x) fast_##x
#define BENCH_NAME "C, AVX2"
#include "Kernels.h"
#pragma clang attribute pop

const struct bench_kernels *bench_fast(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &fast_table : 0;
}
#else
const struct bench_kernels *bench_fast(void) { return 0; }
#endif
