// Functions without call frame information and without a frame pointer: what calls nothing that throws may have neither
// (the C++ and Swift of libswiftDispatch, for one). Their frame is found by its return address: a word on the stack,
// above the stack pointer and below the frame pointer, behind a call instruction that leads to the very function. The
// distance to it is the same each time at this place, so it is kept as a rule.

#include "preload.h"

#include <dlfcn.h>
#include <link.h>

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

enum { SLOTS = 24, LONGEST_FUNCTION = 1024, HOPS = 3 };

struct code { uint64_t low, high; };

// The executable segment that `pc` is in.
static struct code code_around(uint64_t pc) {
    struct dl_find_object object;
    struct code code = {0, 0};
    if (!rtw_object_at(pc, &object)) return code;
    const ElfW(Ehdr) *header = object.dlfo_map_start;
    if (*(const uint32_t *)header->e_ident != 0x464c457f || header->e_phoff > 4096) return code;
    const ElfW(Phdr) *segments = (const void *)((const uint8_t *)header + header->e_phoff);
    uint64_t bias = object.dlfo_link_map->l_addr;
    for (int i = 0; i < header->e_phnum; i++) {
        uint64_t low = bias + segments[i].p_vaddr, high = low + segments[i].p_memsz;
        if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X && segments[i].p_flags & PF_R && low <= pc &&
            pc < high) code = (struct code){low, high};
    }
    return code;
}

static uint64_t relative(uint64_t at) { return at + 4 + (uint64_t)(int64_t)*(const int32_t *)at; }

// Returns the target of a jump, also through a linker's stub; 0 if this is no jump.
static uint64_t jump_target(uint64_t at) {
    const uint8_t *bytes = (const uint8_t *)at;
    if (bytes[0] == 0xf3 && bytes[1] == 0x0f && bytes[2] == 0x1e && bytes[3] == 0xfa) bytes += 4;   // endbr64
    if (bytes[0] == 0xf2) bytes++;                                                                  // bnd
    if (bytes[0] == 0xe9) return relative((uint64_t)(bytes + 1));
    if (bytes[0] == 0xff && bytes[1] == 0x25) return *(const uint64_t *)relative((uint64_t)(bytes + 2));
    return 0;
}

// Does the call before `address` lead to the function that `pc` is in?
static bool called_from(uint64_t address, uint64_t pc) {
    struct code there = code_around(address);
    if (address < there.low + 5 || address >= there.high || *(const uint8_t *)(address - 5) != 0xe8) return false;
    uint64_t target = relative(address - 4);
    for (int hop = 0; hop < HOPS; hop++) {
        struct code code = code_around(target);
        if (target < code.low || target + 16 > code.high) return false;
        if (target <= pc && pc - target < LONGEST_FUNCTION) return true;
        target = jump_target(target);
    }
    return false;
}

struct rtw_rule rtw_guess_rule(uint64_t pc, uint64_t cfa, uint64_t rbp, const struct rtw_window *window) {
    struct rtw_rule rule = {0};
    if (!rtw_code_stays(pc)) return rule;
    for (uint64_t slot = cfa; slot < cfa + 8 * SLOTS && slot != rbp && slot + 8 <= window->high; slot += 8) {
        uint64_t address = *(const uint64_t *)(slot + (uint64_t)window->bias);
        if (address < 4096 || !called_from(address, pc)) continue;
        rule = (struct rtw_rule){.base = BASE_RSP, .cfa = (int32_t)(slot + 8 - cfa), .ra = -8};
        rtw_keep_rule(pc, rule);
        return rule;
    }
    // A function with a frame pointer, most likely. (Copies of a stack are cut off: from them nothing is concluded.)
    if (window->bias == 0) rtw_keep_rule(pc, (struct rtw_rule){.base = BASE_NOT_GUESSED});
    return rule;
}

#else

struct rtw_rule rtw_guess_rule(uint64_t pc, uint64_t cfa, uint64_t rbp, const struct rtw_window *window) {
    (void)pc, (void)cfa, (void)rbp, (void)window;
    return (struct rtw_rule){0};
}

#endif
