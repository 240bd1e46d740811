#include "CRender.h"

#if defined(__x86_64__)

// Flush results to zero (bit 15), take denormal operands for zero (bit 6).
static const uint64_t bits = 0x8040;

static uint64_t read_word(void) { return __builtin_ia32_stmxcsr(); }
static void write_word(uint64_t word) { __builtin_ia32_ldmxcsr((unsigned)word); }

#elif defined(__aarch64__)

// FZ, bit 24: both operands and results.
static const uint64_t bits = 1u << 24;

static uint64_t read_word(void) {
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}

static void write_word(uint64_t word) { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }

#else

static const uint64_t bits = 0;

static uint64_t read_word(void) { return 0; }
static void write_word(uint64_t word) { (void)word; }

#endif

uint64_t crender_denormals_off(void) {
    uint64_t word = read_word();
    write_word(word | bits);
    return word;
}

void crender_denormals_restore(uint64_t word) { write_word((read_word() & ~bits) | (word & bits)); }

uint64_t crender_denormals_word(void) { return read_word(); }

#if defined(__x86_64__)

// MXCSR without the sticky flags, which arithmetic sets; above it the x87 control word, which libc asks how to round.
static const uint64_t kept = 0xffc0;

static uint16_t read_x87(void) {
    uint16_t word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

uint64_t crender_rounding_word(void) { return (uint64_t)read_x87() << 32 | (read_word() & kept); }

void crender_rounding_restore(uint64_t word) {
    uint64_t now = read_word();
    uint16_t x87 = (uint16_t)(word >> 32);
    if ((now & kept) != (word & kept)) write_word((now & ~kept) | (word & kept));
    if (read_x87() != x87) __asm__ volatile("fldcw %0" : : "m"(x87));
}

#else

uint64_t crender_rounding_word(void) { return read_word(); }

void crender_rounding_restore(uint64_t word) {
    if (read_word() != word) write_word(word);
}

#endif
