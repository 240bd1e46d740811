#include "tails.h"

#include "buffer.h"
#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A mapped file, and by their addresses the slots through which it calls other files' functions.
struct slot { uint64_t at; const char *name; };
struct code {
    const char *path;
    const uint8_t *bytes;
    size_t size;
    struct slot *slots;
    size_t slot_count;
};
static struct code *codes;
static size_t code_count;

static int by_address(const void *a, const void *b) {
    const struct slot *one = a, *other = b;
    return one->at < other->at ? -1 : one->at > other->at;
}

static bool inside(const struct code *code, uint64_t offset, uint64_t size) {
    return offset <= code->size && size <= code->size - offset;
}

static void read_slots(struct code *code) {
    const Elf64_Ehdr *head = (const void *)code->bytes;
    if (!inside(code, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr))) return;
    const Elf64_Shdr *sections = (const void *)(code->bytes + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *relocations = &sections[i];
        if (relocations->sh_type != SHT_RELA || relocations->sh_link >= head->e_shnum) continue;
        const Elf64_Shdr *symbols = &sections[relocations->sh_link];
        if (symbols->sh_type != SHT_DYNSYM || symbols->sh_link >= head->e_shnum) continue;
        const Elf64_Shdr *strings = &sections[symbols->sh_link];
        if (!inside(code, relocations->sh_offset, relocations->sh_size)
            || !inside(code, symbols->sh_offset, symbols->sh_size) || !inside(code, strings->sh_offset, strings->sh_size))
            continue;
        const Elf64_Rela *list = (const void *)(code->bytes + relocations->sh_offset);
        const Elf64_Sym *table = (const void *)(code->bytes + symbols->sh_offset);
        const char *text = (const char *)(code->bytes + strings->sh_offset);
        for (size_t j = 0; j < relocations->sh_size / sizeof *list; j++) {
            uint64_t type = ELF64_R_TYPE(list[j].r_info), index = ELF64_R_SYM(list[j].r_info);
            if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
            if (index >= symbols->sh_size / sizeof *table || table[index].st_name >= strings->sh_size) continue;
            size_t room = strings->sh_size - table[index].st_name;
            const char *name = text + table[index].st_name;
            if (code->slot_count % 1024 == 0)
                code->slots = reallocate(code->slots, (code->slot_count + 1024) * sizeof *code->slots);
            code->slots[code->slot_count++] = (struct slot){list[j].r_offset, intern_part(name, strnlen(name, room))};
        }
    }
    if (code->slot_count) qsort(code->slots, code->slot_count, sizeof *code->slots, by_address);
}

static struct code *code_of(const char *path) {
    for (size_t i = 0; i < code_count; i++)
        if (codes[i].path == path) return &codes[i];
    codes = reallocate(codes, (code_count + 1) * sizeof *codes);
    struct code *code = &codes[code_count++];
    *code = (struct code){.path = path};
    int file = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat status;
    if (file >= 0 && !fstat(file, &status) && S_ISREG(status.st_mode) && status.st_size > (off_t)sizeof(Elf64_Ehdr)) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        const Elf64_Ehdr *head = bytes;
        if (bytes != MAP_FAILED && !memcmp(head->e_ident, ELFMAG, SELFMAG) && head->e_ident[EI_CLASS] == ELFCLASS64
            && head->e_machine == EM_X86_64) {
            code->bytes = bytes;
            code->size = (size_t)status.st_size;
            read_slots(code);
        }
    }
    if (file >= 0) close(file);
    return code;
}

// The code at an address of the file's own; NULL if it is not `size` bytes of code.
static const uint8_t *code_at(const struct code *code, uint64_t address, uint64_t size) {
    const Elf64_Ehdr *head = (const void *)code->bytes;
    if (!head || !inside(code, head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr))) return NULL;
    const Elf64_Phdr *segments = (const void *)(code->bytes + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || address < segment->p_vaddr) continue;
        uint64_t from = address - segment->p_vaddr;
        if (from > segment->p_filesz || size > segment->p_filesz - from) continue;
        return inside(code, segment->p_offset + from, size) ? code->bytes + segment->p_offset + from : NULL;
    }
    return NULL;
}

static uint64_t relative(const uint8_t *bytes, uint64_t behind) {
    int32_t distance;
    memcpy(&distance, bytes, 4);
    return behind + (uint64_t)(int64_t)distance;
}

static const char *slot_name(const struct code *code, uint64_t address) {
    struct slot wanted = {address, NULL};
    const struct slot *found =
        code->slot_count ? bsearch(&wanted, code->slots, code->slot_count, sizeof wanted, by_address) : NULL;
    return found ? found->name : NULL;
}

// The other file's function that the linker's stub at this address leads to, or NULL.
static const char *stub_name(const struct code *code, uint64_t address) {
    const uint8_t *bytes = code_at(code, address, 16);
    if (!bytes) return NULL;
    int skip = !memcmp(bytes, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
    if (bytes[skip] == 0xf2) skip++;
    if (bytes[skip] != 0xff || bytes[skip + 1] != 0x25) return NULL;
    return slot_name(code, relative(bytes + skip + 2, address + (uint64_t)skip + 6));
}

static bool one_of(const char *name, const char *const *names, int count) {
    for (int i = 0; name && i < count; i++)
        if (names[i] && !strcmp(name, names[i])) return true;
    return false;
}

struct wanted { uint64_t start; const char *const *names; int name_count; };   // start: of the inner function, or 0

// A jump out of a function: its target in this file, or the other file's function.
struct jump { uint64_t at, target; const char *name; };

static bool next_jump(const struct code *code, const struct symbol *symbol, uint64_t *from, struct jump *jump) {
    for (uint64_t at = *from; at + 2 <= symbol->end; at++) {
        const uint8_t *bytes = code_at(code, at, 2);
        bool whole = at + 5 <= symbol->end;
        if (!bytes || (whole && !code_at(code, at, 6))) return false;
        *jump = (struct jump){.at = at};
        if (bytes[0] == 0xeb || (bytes[0] & 0xf0) == 0x70) {
            jump->target = at + 2 + (uint64_t)(int64_t)(int8_t)bytes[1];
        } else if (whole && bytes[0] == 0xe9) {
            jump->target = relative(bytes + 1, at + 5);
        } else if (whole && bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80) {
            jump->target = relative(bytes + 2, at + 6);
        } else if (whole && bytes[0] == 0xff && bytes[1] == 0x25) {
            jump->name = slot_name(code, relative(bytes + 2, at + 6));
        }
        if (jump->target >= symbol->start && jump->target < symbol->end) jump->target = 0;
        if (jump->target) jump->name = stub_name(code, jump->target);
        *from = at + 1;
        if (jump->name || jump->target) return true;
    }
    return false;
}

// The way from a function to what is wanted, by its last jumps; how many functions, 0 if there is none.
static int follow(const struct code *code, const struct symbol *symbol, const struct wanted *wanted, uint64_t *ways,
                  int room) {
    uint64_t from = symbol->start, limit = symbol->start + 65536;
    struct jump jump;
    if (room <= 0 || symbol->end > limit) return 0;
    while (next_jump(code, symbol, &from, &jump)) {
        bool there = jump.name ? one_of(jump.name, wanted->names, wanted->name_count)
                               : wanted->start && jump.target == wanted->start;
        if (!there) continue;
        ways[0] = jump.at;
        return 1;
    }
    from = symbol->start;
    while (next_jump(code, symbol, &from, &jump)) {
        if (jump.name) continue;
        struct symbol next = symbol_in(code->path, jump.target);
        if (!next.name || next.start != jump.target || next.start == symbol->start) continue;
        int more = follow(code, &next, wanted, ways, room - 1);
        if (!more) continue;
        ways[more] = jump.at;
        return more + 1;
    }
    return 0;
}

// The only jump to another file, if there is one only: through a library's own aliases the names need not be the same.
static uint64_t only_way_out(const struct code *code, const struct symbol *symbol) {
    uint64_t from = symbol->start, found = 0;
    struct jump jump;
    while (symbol->end - symbol->start < 65536 && next_jump(code, symbol, &from, &jump)) {
        if (!jump.name) continue;
        if (found) return 0;
        found = jump.at;
    }
    return found;
}

static bool is_part_of(const char *part, const char *whole) {
    size_t length = strlen(whole);
    return part && !strncmp(part, whole, length) && (part[length] == '.' || !part[length]);
}

// An indirect call of 2 to 7 bytes ends here.
static bool is_indirect_call(const struct code *code, uint64_t behind) {
    for (uint64_t size = 2; size <= 7; size++) {
        const uint8_t *bytes = code_at(code, behind - size, size);
        if (bytes && bytes[0] == 0xff && (bytes[1] >> 3 & 7) == 2) return true;
    }
    return false;
}

struct tails tails_between(struct process *process, uint64_t inner, uint64_t outer, const char *const *names,
                           int name_count) {
    struct tails tails = {0};
    uint64_t bias, inner_bias = 0;
    const char *path = module_path(process, outer, &bias), *inner_path = NULL;
    struct code *code = path ? code_of(path) : NULL;
    uint64_t behind = outer - bias;
    const uint8_t *call = code && code->bytes ? code_at(code, behind - 6, 6) : NULL;
    if (!call) return tails;
    if (inner) inner_path = module_path(process, inner, &inner_bias);
    struct symbol within = inner_path ? symbol_in(inner_path, inner - inner_bias - 1) : (struct symbol){0};
    if (call[1] != 0xe8) {
        bool named = call[0] == 0xff && call[1] == 0x15 && slot_name(code, relative(call + 2, behind));
        tails.only_caller = !named && is_indirect_call(code, behind);
        return tails;
    }
    uint64_t target = relative(call + 2, behind);
    if (stub_name(code, target)) return tails;
    struct symbol symbol = symbol_in(path, target);
    if (!symbol.name || symbol.start != target) return tails;
    if (inner_path == path && (is_part_of(within.name, symbol.name)
        || (inner - inner_bias - 1 >= symbol.start && inner - inner_bias - 1 < symbol.end))) return tails;
    // Two names of one piece of code.
    if (inner_path == path && within.start == symbol.start) return tails;
    const char *all[64];
    int count = 0;
    for (int i = 0; i < name_count && count < 62; i++) all[count++] = names[i];
    all[count++] = within.name;
    struct wanted wanted = {inner_path == path ? within.start : 0, all, count};
    uint64_t ways[MOST_TAILS];
    tails.count = follow(code, &symbol, &wanted, ways, MOST_TAILS);
    if (!tails.count) {
        uint64_t way = only_way_out(code, &symbol);
        ways[tails.count++] = way ? way : symbol.start;
    }
    for (int i = 0; i < tails.count; i++) tails.at[i] = ways[i] + bias + 1;
    return tails;
}
