// As much of DWARF 4 and 5 as split debug information needs: entries and their attributes, ranges, names of source files.
// Lines, and files that are not split, are libbacktrace's business. Nothing is trusted: data that do not fit end the
// reading.

#ifndef COMMAND_DWARF_H
#define COMMAND_DWARF_H

#include <stdbool.h>
#include <stdint.h>

struct part { const uint8_t *start; uint64_t size; };   // a section, or one unit's share of it

enum section { INFO, ABBREVIATIONS, STRINGS, STRING_OFFSETS, LISTS, RANGES, ADDRESSES, LINES, LINE_STRINGS, INDEX, SECTIONS };

// The debug sections of a file; `other`: those that are meant for another file (.dwo). false: it is not there, or is none.
bool read_sections(const char *path, bool other, struct part sections[SECTIONS]);

// The tables to which the attributes of one unit refer. The head of a unit fills in the first line.
struct space {
    uint64_t start, end, first, id;       // in INFO: the unit, its first entry
    int version, type;
    struct part parts[SECTIONS];
    uint64_t string_base, address_base, lists_base, ranges_base, low;
    struct abbreviation *abbreviations;
    uint64_t abbreviation_count;
};

enum { UNIT_SKELETON = 4, UNIT_SPLIT = 5 };
enum { TAG_UNIT = 0x11, TAG_INLINED = 0x1d, TAG_FUNCTION = 0x2e, TAG_SKELETON = 0x4a };

struct entry {
    uint64_t at, behind;                  // in INFO
    uint32_t tag;                         // 0: the end of a list of children
    bool children, has_low, high_is_size, has_ranges, ranges_by_index, has_lines, has_address_base;
    const char *name, *linkage_name, *other_file, *folder;
    uint64_t origin;                      // 0: none
    uint64_t low, high, ranges, call_file, call_line, lines, id;
    uint64_t string_base, address_base, lists_base, ranges_base;
};

bool read_unit(struct space *space, uint64_t start);    // the head, and the abbreviations
bool read_entry(const struct space *space, uint64_t at, struct entry *entry);
void forget_unit(struct space *space);                  // its abbreviations

// Each stretch of code of an entry.
void visit_ranges(const struct space *space, const struct entry *entry, void (*visit)(void *, uint64_t low, uint64_t high),
                  void *data);

// The name of a unit's n-th source file, as libbacktrace has it; NULL if there is none.
const char *source_file(const struct part parts[SECTIONS], uint64_t lines, uint64_t number, const char *folder);

uint64_t number_at(struct part part, uint64_t at, int size);   // 0 outside

#endif
