// For the base of the processor's family, as the compiler does it without a flag.
#define NAME(x) plain_##x
#define BENCH_NAME "C"
#include "Kernels.h"

const struct bench_kernels *bench_plain(void) { return &plain_table; }
