// Decides whether a call counts at all, by its arguments.

#include "preload.h"

// A page that cannot be read is the program's own fault to have: the function itself reads these words next.
uint8_t rtw_judge(uint32_t symbol, const struct rtw_frame *frame) {
    uint8_t tier = rtw_tiers[symbol];
    switch (rtw_symbols[symbol].judge) {
    case JUDGE_ALWAYS:
        return tier;
    case JUDGE_POINTER:      // free(NULL), a retain of nothing: neither does anything
        return frame->rdi ? tier : 0;
    case JUDGE_PTHREAD_ONCE: // done: one load (glibc: bit 1 says so)
        return frame->rdi && *(const volatile int *)frame->rdi == 2 ? (tier ? RTWATCH_NOTE : 0) : tier;
    case JUDGE_SWIFT_ONCE:   // done: negative (libstdc++'s and the runtime's own once_flag)
        return frame->rdi && *(const volatile int *)frame->rdi < 0 ? (tier ? RTWATCH_NOTE : 0) : tier;
    case JUDGE_DISPATCH_ONCE:
        return frame->rdi && *(const volatile long *)frame->rdi == -1 ? (tier ? RTWATCH_NOTE : 0) : tier;
    case JUDGE_CLOCK: {      // most are read from a page that the kernel keeps; those of the processor's time are not
        uint32_t clock = (uint32_t)frame->rdi;
        return tier && (clock == 2 || clock == 3 || clock == 8 || clock == 9 || clock > 11) ? RTWATCH_BLOCKS : tier;
    }
    case JUDGE_BLOCK:        // a global block is not copied; bit 28 of its flags says so
        return frame->rdi && *(const volatile int *)(frame->rdi + 8) & 1 << 28 ? 0 : tier;
    }
    return tier;
}
