// The table of symbols.h as data.

#include "preload.h"

#define BLOCKS RTWATCH_BLOCKS
#define MAY_BLOCK RTWATCH_MAY_BLOCK
#define NOTE RTWATCH_NOTE
#define SYMBOL(name, tier, family, how, judge) {#name, tier, RTWATCH_##family, HOW_##how, JUDGE_##judge},
const struct rtw_symbol_entry rtw_symbols[SYMBOL_COUNT] = {
#include "symbols.h"
};
#undef SYMBOL

_Static_assert(SYMBOL_COUNT < RTWATCH_NAMES, "the channel has a place for every name");

uint8_t rtw_tiers[SYMBOL_COUNT];
uint8_t rtw_owner[SYMBOL_COUNT];
uint8_t rtw_waits;
uint8_t rtw_has_xsave;
#if !defined(__x86_64__)
void *rtw_real[SYMBOL_COUNT];   // with no trampolines, only what the library looks up for itself
#endif
