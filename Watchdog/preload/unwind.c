// The call frame information that compilers leave for exceptions (.eh_frame) tells for each place in the code where the
// caller's frame is, with or without frame pointers. Reading it takes a microsecond or two; so what was found is kept,
// and a known place costs a few nanoseconds.
//
// Nothing here allocates, locks or asks the kernel: the loader's _dl_find_object is made for signal handlers.

#include "preload.h"

#include <dlfcn.h>
#include <link.h>

#if defined(__x86_64__)
enum { REGISTER_SP = 7, REGISTER_FP = 6, REGISTER_RA = 16 };
#else
enum { REGISTER_SP = 31, REGISTER_FP = 29, REGISTER_RA = 30 };
#endif

#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

// The loader's own code uses vector registers; here arguments may be in them.
bool rtw_object_at(uint64_t pc, struct dl_find_object *object) {
    return _dl_find_object && (int)rtw_apart((void *)_dl_find_object, (void *)pc, object) == 0;
}
#endif

// The known rules, by place: the key, and a rule in one word with a few bits of the key again, so that a word that two
// threads wrote at once is not taken for another's.
struct rtw_known rtw_known[RTW_KNOWN];

static inline uint64_t mixed(uint64_t pc) { return pc * 0x9e3779b97f4a7c15ull; }

static uint64_t packed(struct rtw_rule rule, uint64_t pc) {
    return (uint64_t)(rule.flags & 15) | (uint64_t)(rule.base & 3) << 4 | (uint64_t)(rule.cfa & 0xffffff) << 6 |
           (uint64_t)(rule.rbp / 8 & 0xfff) << 30 | (uint64_t)(rule.ra / 8 & 0xff) << 42 |
           (mixed(pc) >> 37 & 0x3fff) << 50;
}

static struct rtw_rule unpacked(uint64_t word) {
    struct rtw_rule rule = {.flags = word & 15, .base = word >> 4 & 3};
    rule.cfa = (int32_t)((uint32_t)(word >> 6 & 0xffffff) << 8) >> 8;
    rule.rbp = (int16_t)(((int16_t)((word >> 30 & 0xfff) << 4) >> 4) * 8);
    rule.ra = (int16_t)((int8_t)(word >> 42 & 0xff) * 8);
    return rule;
}

uint32_t rtw_permanent_modules;
static __thread bool careful __attribute__((tls_model("initial-exec")));

void rtw_walks_others_stacks(void) { careful = true; }

// Returns whether the code at `pc` cannot go: a library that a thread runs in stays, one that it was in a moment ago
// may not.
static bool stays_mapped(uint64_t pc) {
    const struct rtwatch_channel *channel = rtw_channel;
    for (uint32_t i = 0; channel && i < rtw_permanent_modules; i++)
        if (pc >= channel->modules[i].start && pc < channel->modules[i].end) return true;
    return false;
}

bool rtw_code_stays(uint64_t pc) { return !careful || stays_mapped(pc); }

void rtw_forget_code(void) {
    for (int i = 0; i < RTW_KNOWN; i++) atomic_store_explicit(&rtw_known[i].pc, 0, memory_order_relaxed);
}

// Reading DWARF.

struct reader { const uint8_t *at, *end; };

static uint64_t fixed(struct reader *r, unsigned size) {
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < size) {
        r->at = r->end;
        return 0;
    }
    for (unsigned i = 0; i < size; i++) value |= (uint64_t)r->at[i] << (8 * i);
    r->at += size;
    return value;
}

static uint64_t unsigned_leb(struct reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) break;
    }
    return value;
}

static int64_t signed_leb(struct reader *r) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    while (r->at < r->end) {
        byte = *r->at++;
        if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
        shift += 7;
        if (!(byte & 128)) break;
    }
    if (shift < 64 && byte & 64) value |= ~0ull << shift;
    return (int64_t)value;
}

// A pointer in one of the encodings of .eh_frame; `base` is what data-relative ones count from.
static uint64_t encoded(struct reader *r, uint8_t encoding, uint64_t base) {
    if (encoding == 0xff) return 0;
    uint64_t place = (uint64_t)(uintptr_t)r->at, value;
    switch (encoding & 15) {
    case 0: case 4: case 12: value = fixed(r, 8); break;
    case 1: value = unsigned_leb(r); break;
    case 2: value = fixed(r, 2); break;
    case 3: value = fixed(r, 4); break;
    case 9: value = (uint64_t)signed_leb(r); break;
    case 10: value = (uint64_t)(int64_t)(int16_t)fixed(r, 2); break;
    case 11: value = (uint64_t)(int64_t)(int32_t)fixed(r, 4); break;
    default: return 0;
    }
    if ((encoding & 0x70) == 0x10) value += place;
    if ((encoding & 0x70) == 0x30) value += base;
    return value;
}

struct unwind_state {
    uint32_t cfa_register;
    int64_t cfa_offset;
    int64_t fp_offset, ra_offset;
    bool fp_saved, ra_undefined, odd;   // odd: an expression, or a register that is not followed here
};

struct common {
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool signal, augmented;
    struct reader instructions;
};

static bool read_common(const uint8_t *at, struct common *common) {
    struct reader r = {at, at + 4};
    uint64_t length = fixed(&r, 4);
    if (length == 0 || length == 0xffffffff) return false;
    r.end = r.at + length;
    if (fixed(&r, 4) != 0) return false;
    uint8_t version = (uint8_t)fixed(&r, 1);
    const char *augmentation = (const char *)r.at;
    while (r.at < r.end && *r.at++) {}
    if (version >= 4) fixed(&r, 2);
    common->code_align = unsigned_leb(&r);
    common->data_align = signed_leb(&r);
    if (version == 1) fixed(&r, 1);
    else unsigned_leb(&r);
    common->pointer_encoding = 0;
    common->signal = false;
    common->augmented = augmentation[0] == 'z';
    if (common->augmented) {
        uint64_t size = unsigned_leb(&r);
        const uint8_t *after = r.at + size;
        for (const char *c = augmentation + 1; *c; c++) {
            if (*c == 'R') common->pointer_encoding = (uint8_t)fixed(&r, 1);
            else if (*c == 'L') fixed(&r, 1);
            else if (*c == 'S') common->signal = true;
            else if (*c == 'P') encoded(&r, (uint8_t)fixed(&r, 1), 0);
        }
        r.at = after;
    } else if (augmentation[0]) {
        return false;
    }
    common->instructions = r;
    return true;
}

static void save(struct unwind_state *state, uint64_t number, int64_t offset) {
    if (number == REGISTER_FP) {
        state->fp_saved = true;
        state->fp_offset = offset;
    } else if (number == REGISTER_RA) {
        state->ra_undefined = false;
        state->ra_offset = offset;
    }
}

static void restore(struct unwind_state *state, const struct unwind_state *initial, uint64_t number) {
    if (number == REGISTER_FP) {
        state->fp_saved = initial->fp_saved;
        state->fp_offset = initial->fp_offset;
    }
}

// Runs the instructions up to `target`, counted from the start of the function.
static void run(struct reader r, const struct common *common, uint64_t target, struct unwind_state *state,
                const struct unwind_state *initial) {
    struct unwind_state stack[8];
    uint32_t depth = 0;
    uint64_t location = 0;
    while (r.at < r.end) {
        uint8_t code = *r.at++, low = code & 63;
        uint64_t number;
        switch (code >> 6) {
        case 1:
            location += low * common->code_align;
            if (location > target) return;
            continue;
        case 2: save(state, low, (int64_t)unsigned_leb(&r) * common->data_align); continue;
        case 3: restore(state, initial, low); continue;
        }
        switch (code) {
        case 0x00: break;
        case 0x01: return;   // set_loc: no compiler emits it here
        case 0x02: case 0x03: case 0x04:
            location += fixed(&r, code == 2 ? 1 : code == 3 ? 2 : 4) * common->code_align;
            if (location > target) return;
            break;
        case 0x05:
            number = unsigned_leb(&r);
            save(state, number, (int64_t)unsigned_leb(&r) * common->data_align);
            break;
        case 0x06: restore(state, initial, unsigned_leb(&r)); break;
        case 0x07: if (unsigned_leb(&r) == REGISTER_RA) state->ra_undefined = true; break;
        case 0x08: unsigned_leb(&r); break;                      // same value
        case 0x09: if (unsigned_leb(&r) == REGISTER_RA) state->odd = true; unsigned_leb(&r); break;
        case 0x0a: if (depth < 8) stack[depth] = *state; depth++; break;
        case 0x0b: if (depth && --depth < 8) *state = stack[depth]; break;
        case 0x0c: state->cfa_register = (uint32_t)unsigned_leb(&r); state->cfa_offset = (int64_t)unsigned_leb(&r);
            state->odd = false; break;
        case 0x0d: state->cfa_register = (uint32_t)unsigned_leb(&r); break;
        case 0x0e: state->cfa_offset = (int64_t)unsigned_leb(&r); break;
        case 0x0f: number = unsigned_leb(&r); r.at += number; state->odd = true; break;
        case 0x10: case 0x16: {
            uint64_t which = unsigned_leb(&r);
            number = unsigned_leb(&r);
            r.at += number;
            if (which == REGISTER_FP || which == REGISTER_RA) state->odd = true;
            break;
        }
        case 0x11: number = unsigned_leb(&r); save(state, number, signed_leb(&r) * common->data_align); break;
        case 0x12: state->cfa_register = (uint32_t)unsigned_leb(&r);
            state->cfa_offset = signed_leb(&r) * common->data_align; break;
        case 0x13: state->cfa_offset = signed_leb(&r) * common->data_align; break;
        case 0x14: unsigned_leb(&r); unsigned_leb(&r); break;
        case 0x15: unsigned_leb(&r); signed_leb(&r); break;
        case 0x2e: unsigned_leb(&r); break;                      // size of the arguments
        case 0x2d: break;
        default: state->odd = true; return;
        }
    }
}

// The entry of the sorted table behind .eh_frame_hdr for `pc`; 0 if there is none.
static const uint8_t *description_of(const uint8_t *header, uint64_t pc) {
    if (header[0] != 1 || header[3] != 0x3b) return NULL;
    uint64_t base = (uint64_t)(uintptr_t)header;
    struct reader r = {header + 4, header + 64};
    encoded(&r, header[1], base);
    uint64_t count = encoded(&r, header[2], base);
    const struct { int32_t place, description; } *table = (const void *)r.at;
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (base + (uint64_t)(int64_t)table[middle].place <= pc) low = middle + 1;
        else high = middle;
    }
    return low ? (const uint8_t *)(base + (uint64_t)(int64_t)table[low - 1].description) : NULL;
}

static struct rtw_rule computed(uint64_t pc) {
    struct rtw_rule rule = {0};
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object object;
    if (!rtw_object_at(pc, &object) || !object.dlfo_eh_frame) return rule;
    const uint8_t *description = description_of(object.dlfo_eh_frame, pc);
    if (!description) return rule;
    struct reader r = {description, description + 8};
    uint64_t length = fixed(&r, 4);
    const uint8_t *pointer = r.at;
    uint64_t back = fixed(&r, 4);
    struct common common;
    if (!length || length == 0xffffffff || !back || !read_common(pointer - back, &common)) return rule;
    r.end = description + 4 + length;
    uint64_t start = encoded(&r, common.pointer_encoding, 0);
    uint64_t size = encoded(&r, common.pointer_encoding & 15, 0);
    if (pc < start || pc >= start + size) return rule;
    if (common.augmented) {
        uint64_t skip = unsigned_leb(&r);
        r.at += skip;
    }
    struct unwind_state state = {.ra_offset = -8}, initial;
    run(common.instructions, &common, ~0ull, &state, &state);
    initial = state;
    run(r, &common, pc - start, &state, &initial);
    if (common.signal) rule.flags |= RULE_SIGNAL;
    if (state.ra_undefined) rule.flags |= RULE_END;
    if (state.odd || state.cfa_offset < -0x7fffff || state.cfa_offset > 0x7fffff) return rule;
    if (state.fp_offset < -16000 || state.fp_offset > 16000 || state.fp_offset % 8 || state.ra_offset % 8 ||
        state.ra_offset < -1000 || state.ra_offset > 1000) return rule;
    rule.base = state.cfa_register == REGISTER_SP ? BASE_RSP : state.cfa_register == REGISTER_FP ? BASE_RBP : BASE_NONE;
    rule.cfa = (int32_t)state.cfa_offset;
    rule.ra = (int16_t)state.ra_offset;
    rule.rbp = (int16_t)state.fp_offset;
    if (state.fp_saved) rule.flags |= RULE_RBP_SAVED;
    bool plain = rule.base == BASE_RBP && rule.cfa == 16 && rule.rbp == -16 && rule.ra == -8;
    if (plain && rule.flags == RULE_RBP_SAVED) rule.flags |= RULE_PLAIN;
#else
    (void)pc;
#endif
    return rule;
}

void rtw_keep_rule(uint64_t pc, struct rtw_rule rule) {
    struct rtw_known *known = &rtw_known[rtw_known_index(pc)];
    atomic_store_explicit(&known->pc, 0, memory_order_relaxed);
    atomic_store_explicit(&known->rule, packed(rule, pc), memory_order_release);
    atomic_store_explicit(&known->pc, pc, memory_order_release);
}

struct rtw_rule rtw_rule_at(uint64_t pc) {
    uint64_t hash = mixed(pc), index = rtw_known_index(pc);
    if (likely(atomic_load_explicit(&rtw_known[index].pc, memory_order_acquire) == pc)) {
        uint64_t word = atomic_load_explicit(&rtw_known[index].rule, memory_order_relaxed);
        if (likely(word >> 50 == (hash >> 37 & 0x3fff))) return unpacked(word);
    }
    if (!rtw_code_stays(pc)) return (struct rtw_rule){0};
    struct rtw_rule rule = computed(pc);
    rtw_keep_rule(pc, rule);
    return rule;
}
