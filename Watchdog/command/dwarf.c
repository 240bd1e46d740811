#include "dwarf.h"

#include "buffer.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct abbreviation { uint64_t code; uint32_t tag; bool children; uint64_t at; };   // at: its first attribute

static bool holds(struct part part, uint64_t at, uint64_t size) { return at <= part.size && size <= part.size - at; }

static void name_section(const char *name, bool other, struct part part, struct part sections[SECTIONS]) {
    static const char *const names[SECTIONS] = {"info", "abbrev", "str", "str_offsets", "rnglists", "ranges", "addr", "line",
        "line_str", "cu_index"};
    if (!starts_with(name, ".debug_")) return;
    name += strlen(".debug_");
    size_t length = strlen(name);
    bool marked = ends_with(name, ".dwo");
    for (int i = 0; i < SECTIONS; i++)
        if (strlen(names[i]) == length - (marked ? 4 : 0) && !strncmp(name, names[i], strlen(names[i]))
            && (marked == other || i == INDEX)) sections[i] = part;
}

bool read_sections(const char *path, bool other, struct part sections[SECTIONS]) {
    memset(sections, 0, SECTIONS * sizeof *sections);
    int file = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    struct stat status;
    struct part whole = {0};
    if (file >= 0 && !fstat(file, &status) && S_ISREG(status.st_mode) && status.st_size > (off_t)sizeof(Elf64_Ehdr)) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) whole = (struct part){bytes, (uint64_t)status.st_size};
    }
    if (file >= 0) close(file);
    const Elf64_Ehdr *head = (const void *)whole.start;
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64
        || head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_shentsize != sizeof(Elf64_Shdr) || head->e_shoff % 8
        || !holds(whole, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr)) || head->e_shstrndx >= head->e_shnum)
        return false;
    const Elf64_Shdr *list = (const void *)(whole.start + head->e_shoff), *names = &list[head->e_shstrndx];
    if (!holds(whole, names->sh_offset, names->sh_size)) return false;
    const char *text = (const char *)whole.start + names->sh_offset;
    for (int i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *section = &list[i];
        if (section->sh_type == SHT_NOBITS || section->sh_flags & SHF_COMPRESSED || section->sh_name >= names->sh_size
            || !memchr(text + section->sh_name, 0, names->sh_size - section->sh_name)
            || !holds(whole, section->sh_offset, section->sh_size)) continue;
        name_section(text + section->sh_name, other, (struct part){whole.start + section->sh_offset, section->sh_size}, sections);
    }
    return true;
}

// The position of the reading; `at` stands behind the end once something did not fit.
struct cursor { struct part part; uint64_t at; };

static bool broken(const struct cursor *cursor) { return cursor->at > cursor->part.size; }

static const uint8_t *take(struct cursor *cursor, uint64_t size) {
    if (broken(cursor) || !holds(cursor->part, cursor->at, size)) {
        cursor->at = cursor->part.size + 1;
        return NULL;
    }
    cursor->at += size;
    return cursor->part.start + cursor->at - size;
}

static uint64_t number(struct cursor *cursor, int size) {
    const uint8_t *bytes = take(cursor, (uint64_t)size);
    uint64_t value = 0;
    for (int i = 0; bytes && i < size; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static uint64_t short_number(struct cursor *cursor, bool is_signed) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        const uint8_t *byte = take(cursor, 1);
        if (!byte) return 0;
        if (shift < 64) value |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte & 0x80) continue;
        if (is_signed && *byte & 0x40 && shift < 57) value |= ~0ull << (shift + 7);
        return value;
    }
}

static const char *text_at(struct part part, uint64_t at) {
    return at < part.size && memchr(part.start + at, 0, part.size - at) ? (const char *)part.start + at : NULL;
}

uint64_t number_at(struct part part, uint64_t at, int size) {
    struct cursor cursor = {part, at};
    return number(&cursor, size);
}

bool read_unit(struct space *space, uint64_t start) {
    struct cursor cursor = {space->parts[INFO], start};
    uint64_t length = number(&cursor, 4), abbreviations;
    if (broken(&cursor) || length >= 0xfffffff0) return false;   // 64-bit DWARF: of files beyond 4 GB
    space->start = start;
    space->end = cursor.at + length;
    space->version = (int)number(&cursor, 2);
    space->type = space->version >= 5 ? (int)number(&cursor, 1) : 0;
    space->id = 0;
    uint64_t address_size = space->version >= 5 ? number(&cursor, 1) : 0;
    abbreviations = number(&cursor, 4);
    if (space->version < 5) address_size = number(&cursor, 1);
    if (space->type == UNIT_SKELETON || space->type == UNIT_SPLIT) space->id = number(&cursor, 8);
    if (space->type == 2 || space->type == 6) take(&cursor, 12);   // type units
    space->first = cursor.at;
    space->abbreviations = NULL;
    space->abbreviation_count = 0;
    if (broken(&cursor) || space->end > space->parts[INFO].size || space->version < 2 || space->version > 5 || address_size != 8)
        return !broken(&cursor) && space->end <= space->parts[INFO].size;
    struct cursor list = {space->parts[ABBREVIATIONS], abbreviations};
    for (uint64_t code; (code = short_number(&list, false)) && !broken(&list);) {
        struct abbreviation one = {.code = code, .tag = (uint32_t)short_number(&list, false), .children = number(&list, 1)};
        one.at = list.at;
        for (;;) {
            uint64_t name = short_number(&list, false), form = short_number(&list, false);
            if (form == 0x21) short_number(&list, true);
            if ((!name && !form) || broken(&list)) break;
        }
        if (space->abbreviation_count % 64 == 0)
            space->abbreviations =
                reallocate(space->abbreviations, (space->abbreviation_count + 64) * sizeof *space->abbreviations);
        space->abbreviations[space->abbreviation_count++] = one;
    }
    return true;
}

void forget_unit(struct space *space) {
    free(space->abbreviations);
    space->abbreviations = NULL;
    space->abbreviation_count = 0;
}

struct value { uint64_t number; const char *text; bool is_address, is_index; };

static const char *indexed_text(const struct space *space, uint64_t index) {
    return text_at(space->parts[STRINGS], number_at(space->parts[STRING_OFFSETS], space->string_base + index * 4, 4));
}

static uint64_t indexed_address(const struct space *space, uint64_t index) {
    return number_at(space->parts[ADDRESSES], space->address_base + index * 8, 8);
}

static struct value read_value(const struct space *space, struct cursor *cursor, uint64_t form, uint64_t constant) {
    switch (form) {
    case 0x01: return (struct value){.number = number(cursor, 8), .is_address = true};
    case 0x03: take(cursor, number(cursor, 2)); return (struct value){0};
    case 0x04: take(cursor, number(cursor, 4)); return (struct value){0};
    case 0x09: case 0x18: take(cursor, short_number(cursor, false)); return (struct value){0};
    case 0x0a: take(cursor, number(cursor, 1)); return (struct value){0};
    case 0x1e: take(cursor, 16); return (struct value){0};
    case 0x0b: case 0x0c: return (struct value){.number = number(cursor, 1)};
    case 0x05: return (struct value){.number = number(cursor, 2)};
    case 0x06: case 0x17: case 0x1c: case 0x1d: case 0x1f20: case 0x1f21: case 0x10:
        return (struct value){.number = number(cursor, 4)};
    case 0x07: case 0x20: case 0x24: return (struct value){.number = number(cursor, 8)};
    case 0x0d: return (struct value){.number = short_number(cursor, true)};
    case 0x0f: return (struct value){.number = short_number(cursor, false)};
    case 0x22: return (struct value){.number = short_number(cursor, false)};
    case 0x23: return (struct value){.number = short_number(cursor, false), .is_index = true};
    case 0x19: return (struct value){.number = 1};
    case 0x21: return (struct value){.number = constant};
    case 0x11: return (struct value){.number = space->start + number(cursor, 1)};
    case 0x12: return (struct value){.number = space->start + number(cursor, 2)};
    case 0x13: return (struct value){.number = space->start + number(cursor, 4)};
    case 0x14: return (struct value){.number = space->start + number(cursor, 8)};
    case 0x15: return (struct value){.number = space->start + short_number(cursor, false)};
    case 0x08: {
        const char *text = broken(cursor) ? NULL : text_at(cursor->part, cursor->at);
        take(cursor, text ? strlen(text) + 1 : UINT64_MAX);
        return (struct value){.text = text};
    }
    case 0x0e: return (struct value){.text = text_at(space->parts[STRINGS], number(cursor, 4))};
    case 0x1f: return (struct value){.text = text_at(space->parts[LINE_STRINGS], number(cursor, 4))};
    case 0x1a: case 0x1f02: return (struct value){.text = indexed_text(space, short_number(cursor, false))};
    case 0x25: case 0x26: case 0x27: case 0x28:
        return (struct value){.text = indexed_text(space, number(cursor, (int)form - 0x24))};
    case 0x1b: case 0x1f01: return (struct value){.number = indexed_address(space, short_number(cursor, false)), .is_address = true};
    case 0x29: case 0x2a: case 0x2b: case 0x2c:
        return (struct value){.number = indexed_address(space, number(cursor, (int)form - 0x28)), .is_address = true};
    case 0x16: return read_value(space, cursor, short_number(cursor, false) % 0x16, constant);   // not twice
    default: cursor->at = cursor->part.size + 1; return (struct value){0};
    }
}

static void set(struct entry *entry, uint64_t attribute, struct value value) {
    switch (attribute) {
    case 0x03: entry->name = value.text; break;
    case 0x10: entry->lines = value.number, entry->has_lines = true; break;
    case 0x11: entry->low = value.number, entry->has_low = true; break;
    case 0x12: entry->high = value.number, entry->high_is_size = !value.is_address; break;
    case 0x1b: entry->folder = value.text; break;
    case 0x31: case 0x47: entry->origin = value.number; break;
    case 0x55: entry->ranges = value.number, entry->has_ranges = true, entry->ranges_by_index = value.is_index; break;
    case 0x58: entry->call_file = value.number; break;
    case 0x59: entry->call_line = value.number; break;
    case 0x6e: case 0x2007: entry->linkage_name = value.text; break;
    case 0x72: entry->string_base = value.number; break;
    case 0x73: case 0x2133: entry->address_base = value.number, entry->has_address_base = true; break;
    case 0x74: entry->lists_base = value.number; break;
    case 0x2132: entry->ranges_base = value.number; break;
    case 0x76: case 0x2130: entry->other_file = value.text; break;
    case 0x2131: entry->id = value.number; break;
    }
}

bool read_entry(const struct space *space, uint64_t at, struct entry *entry) {
    struct part part = space->parts[INFO];
    if (part.size > space->end) part.size = space->end;
    struct cursor cursor = {part, at};
    *entry = (struct entry){.at = at};
    uint64_t code = short_number(&cursor, false);
    entry->behind = cursor.at;
    if (broken(&cursor) || !code) return !broken(&cursor);
    const struct abbreviation *found = NULL, *list = space->abbreviations;
    if (code <= space->abbreviation_count && list[code - 1].code == code) found = &list[code - 1];
    for (uint64_t i = 0; i < space->abbreviation_count && !found; i++)
        if (list[i].code == code) found = &list[i];
    if (!found) return false;
    entry->tag = found->tag;
    entry->children = found->children;
    struct cursor shape = {space->parts[ABBREVIATIONS], found->at};
    for (;;) {
        uint64_t name = short_number(&shape, false), form = short_number(&shape, false);
        uint64_t constant = form == 0x21 ? short_number(&shape, true) : 0;
        if ((!name && !form) || broken(&shape)) break;
        set(entry, name, read_value(space, &cursor, form, constant));
    }
    entry->behind = cursor.at;
    return !broken(&cursor);
}

static void visit_list(const struct space *space, uint64_t at, void (*visit)(void *, uint64_t, uint64_t), void *data) {
    struct cursor cursor = {space->parts[LISTS], at};
    uint64_t base = space->low, low, high;
    while (!broken(&cursor)) {
        switch (number(&cursor, 1)) {
        case 1: base = indexed_address(space, short_number(&cursor, false)); continue;
        case 2:
            low = indexed_address(space, short_number(&cursor, false));
            high = indexed_address(space, short_number(&cursor, false));
            break;
        case 3:
            low = indexed_address(space, short_number(&cursor, false));
            high = low + short_number(&cursor, false);
            break;
        case 4: low = base + short_number(&cursor, false), high = base + short_number(&cursor, false); break;
        case 5: base = number(&cursor, 8); continue;
        case 6: low = number(&cursor, 8), high = number(&cursor, 8); break;
        case 7: low = number(&cursor, 8), high = low + short_number(&cursor, false); break;
        default: return;
        }
        if (!broken(&cursor) && low < high) visit(data, low, high);
    }
}

void visit_ranges(const struct space *space, const struct entry *entry, void (*visit)(void *, uint64_t, uint64_t), void *data) {
    if (!entry->has_ranges) {
        uint64_t high = entry->high_is_size ? entry->low + entry->high : entry->high;
        if (entry->has_low && entry->low < high) visit(data, entry->low, high);
    } else if (space->version >= 5) {
        uint64_t at = entry->ranges;
        if (entry->ranges_by_index) at = space->lists_base + number_at(space->parts[LISTS], space->lists_base + at * 4, 4);
        visit_list(space, at, visit, data);
    } else {
        struct cursor cursor = {space->parts[RANGES], space->ranges_base + entry->ranges};
        for (uint64_t base = space->low;;) {
            uint64_t low = number(&cursor, 8), high = number(&cursor, 8);
            if (broken(&cursor) || (!low && !high)) return;
            if (low == UINT64_MAX) base = high;
            else if (low < high) visit(data, base + low, base + high);
        }
    }
}

static const char *joined(const char *folder, const char *name) {
    if (!name || name[0] == '/' || !folder) return name ? intern(name) : NULL;
    char *whole = format("%s/%s", folder, name);
    const char *kept = intern(whole);
    free(whole);
    return kept;
}

// A table of folders or files, of DWARF 5: the n-th entry's name, and the number of its folder.
static const char *listed(const struct space *space, struct cursor *cursor, uint64_t wanted, uint64_t *folder) {
    uint64_t forms[32][2], form_count = number(cursor, 1);
    const char *found = NULL;
    if (form_count > 32) cursor->at = cursor->part.size + 1;
    for (uint64_t i = 0; i < form_count && !broken(cursor); i++)
        forms[i][0] = short_number(cursor, false), forms[i][1] = short_number(cursor, false);
    uint64_t count = short_number(cursor, false);
    for (uint64_t i = 0; i < count && !broken(cursor); i++)
        for (uint64_t j = 0; j < form_count && !broken(cursor); j++) {
            struct value value = read_value(space, cursor, forms[j][1], 0);
            if (i == wanted && forms[j][0] == 1) found = value.text;
            if (i == wanted && forms[j][0] == 2 && folder) *folder = value.number;
        }
    return found;
}

const char *source_file(const struct part parts[SECTIONS], uint64_t lines, uint64_t wanted, const char *unit_folder) {
    struct space space = {0};
    memcpy(space.parts, parts, sizeof space.parts);
    struct cursor cursor = {parts[LINES], lines};
    uint64_t length = number(&cursor, 4), folder = 0;
    if (broken(&cursor) || length >= 0xfffffff0) return NULL;
    uint64_t version = number(&cursor, 2);
    if (version >= 5) take(&cursor, 2);
    take(&cursor, 4);
    take(&cursor, version >= 4 ? 5 : 4);
    uint64_t operations = number(&cursor, 1);
    take(&cursor, operations ? operations - 1 : 0);
    if (version >= 5) {
        struct cursor folders = cursor;
        listed(&space, &cursor, UINT64_MAX, NULL);
        const char *name = listed(&space, &cursor, wanted, &folder);
        const char *where = listed(&space, &folders, folder, NULL);
        return name ? joined(where, name) : NULL;
    }
    const char *folders[256] = {unit_folder};
    for (int i = 1;; i++) {
        const char *text = read_value(&space, &cursor, 0x08, 0).text;
        if (!text || !*text) break;
        if (i < 256) folders[i] = text;
    }
    for (uint64_t i = 1;; i++) {
        const char *name = read_value(&space, &cursor, 0x08, 0).text;
        folder = short_number(&cursor, false);
        short_number(&cursor, false), short_number(&cursor, false);
        if (!name || !*name || broken(&cursor)) return NULL;
        if (i == wanted) return joined(folder < 256 ? folders[folder] : NULL, name);
    }
}
