#include "split.h"

#include "buffer.h"
#include "dwarf.h"

#include <stdlib.h>
#include <string.h>

// A stretch of a function's code, or of what is inlined into it; in the order of the entries, so outer ones first.
struct span { uint64_t low, high, entry; bool inlined; };
struct unit {
    uint64_t id, low, address_base, ranges_base, lines;
    int version;
    const char *name, *folder;
    bool has_lines, read;
    struct span *spans;               // of its functions, once `read`
    size_t span_count;
    struct space space;
    struct span *codes;               // the unit's own code
    size_t code_count;
};
struct program {
    const char *path, *missing;
    struct part parts[SECTIONS], package[SECTIONS];
    struct unit *units;
    size_t unit_count;
    bool package_known;
};
static struct program **programs;
static size_t program_count;

struct list { struct span *spans; size_t count; uint64_t entry; bool inlined; };

static void add_span(void *data, uint64_t low, uint64_t high) {
    struct list *list = data;
    if (list->count % 64 == 0) list->spans = reallocate(list->spans, (list->count + 64) * sizeof *list->spans);
    list->spans[list->count++] = (struct span){low, high, list->entry, list->inlined};
}

static void read_skeletons(struct program *program) {
    struct space space = {0};
    memcpy(space.parts, program->parts, sizeof space.parts);
    for (uint64_t at = 0; at < space.parts[INFO].size && read_unit(&space, at); at = space.end) {
        struct entry root;
        space.string_base = space.address_base = space.lists_base = space.ranges_base = space.low = 0;
        // Names and addresses may stand before what they are counted from.
        for (int again = 0; again < 2; again++) {
            if (!read_entry(&space, space.first, &root)) break;
            space.string_base = root.string_base, space.address_base = root.address_base;
            space.lists_base = root.lists_base, space.low = root.low;
        }
        if (root.other_file) {
            struct list codes = {0};
            visit_ranges(&space, &root, add_span, &codes);
            program->units = reallocate(program->units, (program->unit_count + 1) * sizeof *program->units);
            program->units[program->unit_count++] = (struct unit){.id = space.version >= 5 ? space.id : root.id,
                .low = root.low, .address_base = root.address_base, .ranges_base = root.ranges_base, .lines = root.lines,
                .version = space.version, .name = intern(root.other_file), .folder = root.folder ? intern(root.folder) : NULL,
                .has_lines = root.has_lines, .codes = codes.spans, .code_count = codes.count};
        }
        forget_unit(&space);
        if (space.end <= at) break;
    }
}

static struct program *program_of(const char *path) {
    for (size_t i = 0; i < program_count; i++)
        if (programs[i]->path == path) return programs[i];
    programs = reallocate(programs, (program_count + 1) * sizeof *programs);
    struct program *program = programs[program_count++] = allocate(sizeof *program);
    program->path = path;
    if (read_sections(path, false, program->parts)) read_skeletons(program);
    return program;
}

// The unit's share of the package's sections.
static bool find_in_package(struct program *program, const struct unit *unit, struct part parts[SECTIONS]) {
    if (!program->package_known) {
        char *path = format("%s.dwp", program->path);
        read_sections(path, true, program->package);
        program->package_known = true;
        free(path);
    }
    struct part index = program->package[INDEX];
    uint64_t version = number_at(index, 0, 4), columns = number_at(index, 4, 4), units = number_at(index, 8, 4);
    uint64_t slots = number_at(index, 12, 4), row = 0;
    bool fifth = (version & 0xffff) == 5;
    if ((!fifth && version != 2) || !slots || slots & (slots - 1) || columns > 16) return false;
    uint64_t at = unit->id & (slots - 1), step = (unit->id >> 32 & (slots - 1)) | 1;
    for (uint64_t i = 0; i < slots && !row; i++, at = (at + step) & (slots - 1)) {
        uint64_t there = number_at(index, 16 + at * 8, 8), number = number_at(index, 16 + slots * 8 + at * 4, 4);
        if (there == unit->id) row = number;
        else if (!there && !number) return false;
    }
    if (!row || row > units) return false;
    static const int columns_of[2][9] = {{-1, INFO, -1, ABBREVIATIONS, LINES, -1, STRING_OFFSETS, -1, -1},
        {-1, INFO, -1, ABBREVIATIONS, LINES, -1, STRING_OFFSETS, -1, LISTS}};
    uint64_t table = 16 + slots * 12;
    memset(parts, 0, SECTIONS * sizeof *parts);
    for (uint64_t i = 0; i < columns; i++) {
        uint64_t column = number_at(index, table + i * 4, 4);
        int section = column < 9 ? columns_of[fifth][column] : -1;
        if (section < 0) continue;
        uint64_t offset = number_at(index, table + (row * columns + i) * 4, 4);
        uint64_t size = number_at(index, table + ((units + row) * columns + i) * 4, 4);
        struct part whole = program->package[section];
        if (offset > whole.size || size > whole.size - offset) return false;
        parts[section] = (struct part){whole.start + offset, size};
    }
    parts[STRINGS] = program->package[STRINGS];
    return parts[INFO].start;
}

// Looks where the compiler put the file, and beside the program.
static bool find_beside(const struct program *program, const struct unit *unit, struct part parts[SECTIONS]) {
    char *paths[] = {unit->name[0] == '/' || !unit->folder ? format("%s", unit->name) : format("%s/%s", unit->folder, unit->name),
        format("%.*s%s", (int)(base_name(program->path) - program->path), program->path, base_name(unit->name))};
    bool found = false;
    for (int i = 0; i < 2; i++) {
        found = found || (read_sections(paths[i], true, parts) && parts[INFO].start);
        free(paths[i]);
    }
    return found;
}

static bool is_its_own(struct unit *unit) {
    struct space *space = &unit->space;
    struct entry root;
    // Of several in one file, the one of that number.
    for (uint64_t at = 0; at < space->parts[INFO].size && read_unit(space, at); at = space->end) {
        bool read = read_entry(space, space->first, &root);
        uint64_t id = space->version >= 5 ? space->id : root.id;
        if (read && root.tag == TAG_UNIT && id == unit->id) return true;
        forget_unit(space);
        if (space->end <= at) break;
    }
    return false;
}

static void read_functions(struct unit *unit) {
    struct list list = {0};
    struct entry entry;
    for (uint64_t at = unit->space.first; at < unit->space.end; at = entry.behind) {
        if (!read_entry(&unit->space, at, &entry)) break;
        list.entry = at;
        list.inlined = entry.tag == TAG_INLINED;
        if (entry.tag == TAG_FUNCTION || list.inlined) visit_ranges(&unit->space, &entry, add_span, &list);
    }
    unit->spans = list.spans;
    unit->span_count = list.count;
}

static void read_split(struct program *program, struct unit *unit) {
    unit->read = true;
    struct space *space = &unit->space;
    bool found = find_in_package(program, unit, space->parts) || find_beside(program, unit, space->parts);
    // Addresses, and in DWARF 4 ranges, stayed in the program.
    space->parts[ADDRESSES] = program->parts[ADDRESSES];
    if (unit->version < 5) space->parts[RANGES] = program->parts[RANGES];
    space->address_base = unit->address_base;
    space->ranges_base = unit->ranges_base;
    space->low = unit->low;
    // Behind the heads of their tables.
    space->string_base = unit->version >= 5 ? 8 : 0;
    space->lists_base = 12;
    if (found && is_its_own(unit)) read_functions(unit);
    else if (!program->missing) program->missing = unit->name;
}

static const char *name_of(const struct unit *unit, uint64_t at) {
    const char *plain = NULL;
    for (int i = 0; i < 8 && at; i++) {
        struct entry entry;
        if (!read_entry(&unit->space, at, &entry)) break;
        if (entry.linkage_name) return intern(entry.linkage_name);
        if (!plain) plain = entry.name;
        at = entry.origin;
    }
    return plain ? intern(plain) : NULL;
}

static bool covers(const struct span *spans, size_t count, uint64_t address) {
    for (size_t i = 0; i < count; i++)
        if (address >= spans[i].low && address < spans[i].high) return true;
    return false;
}

static int functions_in(struct program *program, struct unit *unit, uint64_t address, struct split_function *list, int room) {
    int count = 0;
    if (!unit->read) read_split(program, unit);
    for (size_t i = unit->span_count; i-- > 0 && count < room;) {
        const struct span *span = &unit->spans[i];
        if (address < span->low || address >= span->high) continue;
        list[count] = (struct split_function){.symbol = name_of(unit, span->entry)};
        struct entry entry;
        if (span->inlined && read_entry(&unit->space, span->entry, &entry)) {
            list[count].call_line = (int)entry.call_line;
            if (unit->has_lines) list[count].call_file = source_file(program->parts, unit->lines, entry.call_file, unit->folder);
        }
        count++;
        if (!span->inlined) break;
    }
    return count;
}

int split_functions(const char *path, uint64_t address, struct split_function *list, int room) {
    struct program *program = program_of(path);
    for (size_t i = 0; i < program->unit_count; i++) {
        struct unit *unit = &program->units[i];
        if (!covers(unit->codes, unit->code_count, address)) continue;
        int count = functions_in(program, unit, address, list, room);
        if (count) return count;
    }
    return 0;
}

const char *missing_split_file(const char *path) { return program_of(path)->missing; }
