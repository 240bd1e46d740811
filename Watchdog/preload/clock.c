// Time: the processor's counter, scaled to CLOCK_MONOTONIC. Half the price of clock_gettime, which a hit asks twice.

#include "preload.h"
#include "system.h"

#include <time.h>

// value = anchor + (tsc - at) * scale / 2^32; two copies, so that one is always whole.
static struct { uint64_t at, anchor, scale; } scales[2];
static _Atomic uint32_t current;   // 0: not calibrated yet, else 1 + index
static uint64_t first_tsc, first_time;
static _Atomic uint32_t measuring;

#if defined(__x86_64__)
static bool counter_is_steady(void) {
    uint32_t a = 0x80000000, b, c, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    if (a < 0x80000007) return false;
    a = 0x80000007;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    return d >> 8 & 1;   // at one rate, in all states of the processor
}
#else
static bool counter_is_steady(void) { return true; }
#endif

static uint64_t kernel_now(void) {
    struct timespec now;
    rtw_system2(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t counter(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

// The pair with the shortest time between the two readings of eight.
static void pair(uint64_t *tsc, uint64_t *time) {
    uint64_t best = ~0ull;
    for (int i = 0; i < 8; i++) {
        uint64_t before = counter(), now = kernel_now(), after = counter();
        if (after - before >= best) continue;
        best = after - before;
        *tsc = before + (after - before) / 2;
        *time = now;
    }
}

// The first call notes a point; later ones, some milliseconds after it, measure. Until then the kernel is asked.
void rtw_calibrate(void) {
    if (!first_tsc) {
        if (!counter_is_steady()) return;   // then the kernel is asked each time
        pair(&first_tsc, &first_time);
        return;
    }
    uint64_t tsc = 0, time = 0;
    pair(&tsc, &time);
    if (time - first_time < 5000000) return;
    if (!rtw_try_lock(&measuring)) return;
    uint32_t next = atomic_load(&current) == 1 ? 1 : 0;
    scales[next].at = tsc;
    scales[next].anchor = time;
    scales[next].scale = (uint64_t)(((__uint128_t)(time - first_time) << 32) / (tsc - first_tsc));
    atomic_store_explicit(&current, next + 1, memory_order_release);
    rtw_unlock(&measuring);
}

uint64_t rtw_from_tsc(uint64_t tsc) {
    uint32_t which = atomic_load_explicit(&current, memory_order_acquire);
    if (unlikely(!which)) return kernel_now();
    int64_t since = (int64_t)(tsc - scales[which - 1].at);
    return scales[which - 1].anchor + (uint64_t)(((__int128_t)since * (int64_t)scales[which - 1].scale) >> 32);
}

uint64_t rtw_now(void) { return rtw_from_tsc(counter()); }
