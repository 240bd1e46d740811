// Where the intercepted functions really are: the first definition behind this library in the loader's list.
//
// The symbol tables are read here and not with dlsym, because the first calls come while the process is still being put
// together (the loader itself calls malloc), dlsym may allocate, and it stands for our own name too.

#include "preload.h"

#include <elf.h>
#include <link.h>

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

struct symbol_table {
    const ElfW(Sym) *symbols;
    const char *strings;
    const uint32_t *gnu_hash, *hash;
    const ElfW(Half) *versions;
};

static struct symbol_table table_of(const struct link_map *map) {
    struct symbol_table table = {0};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = entry->d_un.d_ptr;
        if (address < map->l_addr) address += map->l_addr;   // most loaders have relocated it in place
        const void *at = (const void *)address;
        switch (entry->d_tag) {
        case DT_SYMTAB: table.symbols = at; break;
        case DT_STRTAB: table.strings = at; break;
        case DT_GNU_HASH: table.gnu_hash = at; break;
        case DT_HASH: table.hash = at; break;
        case DT_VERSYM: table.versions = at; break;
        }
    }
    return table;
}

// A definition of the default version, of a function or data.
static bool defines(const struct symbol_table *table, uint32_t index, const char *name) {
    const ElfW(Sym) *symbol = &table->symbols[index];
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0) return false;
    if (table->versions && (table->versions[index] & 0x8000)) return false;
    return rtw_equal(table->strings + symbol->st_name, name);
}

static const ElfW(Sym) *find_gnu(const struct symbol_table *table, const char *name) {
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) hash = hash * 33 + *c;
    const uint32_t *header = table->gnu_hash;
    uint32_t bucket_count = header[0], offset = header[1], bloom_size = header[2], shift = header[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(header + 4);
    const uint32_t *buckets = (const uint32_t *)(bloom + bloom_size), *chain = buckets + bucket_count;
    if (!bucket_count || !bloom_size) return NULL;
    ElfW(Addr) word = bloom[(hash / 64) % bloom_size];
    if (!(word >> (hash % 64) & word >> ((hash >> shift) % 64) & 1)) return NULL;
    uint32_t index = buckets[hash % bucket_count];
    if (index < offset) return NULL;
    for (;; index++) {
        uint32_t other = chain[index - offset];
        if ((other | 1) == (hash | 1) && defines(table, index, name)) return &table->symbols[index];
        if (other & 1) return NULL;
    }
}

static const ElfW(Sym) *find_plain(const struct symbol_table *table, const char *name) {
    for (uint32_t index = 0; index < table->hash[1]; index++)
        if (defines(table, index, name)) return &table->symbols[index];
    return NULL;
}

static void *find_in(const struct link_map *map, const char *name) {
    struct symbol_table table = table_of(map);
    if (!table.symbols || !table.strings) return NULL;
    const ElfW(Sym) *symbol = table.gnu_hash ? find_gnu(&table, name) : table.hash ? find_plain(&table, name) : NULL;
    if (!symbol) return NULL;
    uintptr_t address = map->l_addr + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) address = ((uintptr_t(*)(void))address)();
    return (void *)address;
}

struct link_map *rtw_own_map(void) {
    struct link_map *map = _r_debug.r_map;
    while (map && map->l_ld != _DYNAMIC) map = map->l_next;
    return map;
}

static void *find(const char *name, bool behind_us, struct link_map **where) {
    struct link_map *own = rtw_own_map();
    for (struct link_map *map = behind_us && own ? own->l_next : _r_debug.r_map; map; map = map->l_next) {
        void *found = map == own ? NULL : find_in(map, name);
        if (!found) continue;
        *where = map;
        return found;
    }
    return NULL;
}

void *rtw_find(const char *name, bool behind_us) {
    struct link_map *where;
    return find(name, behind_us, &where);
}

// A program's own functions come before this library's.
bool rtw_program_defines(const char *name) { return _r_debug.r_map && find_in(_r_debug.r_map, name); }

static bool is_libc(const struct link_map *map) {
    static const char *const names[] = {"libc.so", "libc-", "libpthread", "librt", "libdl", "ld-"};
    const char *base = map->l_name;
    for (const char *at = base; *at; at++)
        if (*at == '/') base = at + 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = 0;
        while (names[i][n] && names[i][n] == base[n]) n++;
        if (!names[i][n]) return true;
    }
    return false;
}

// Called only through a weak reference that this library made look defined: the program would have found it null.
static void missing(void) {
    rtw_say("a function was called that no library of the program defines");
    __builtin_trap();
}

void *rtw_resolve(uint32_t symbol) {
    struct link_map *where = NULL;
    void *found = find(rtw_symbols[symbol].name, true, &where);
    if (!found) return (void *)missing;
    // Some library's own function of that name (`error`, `connect`): not ours to judge. An allocator is, whosever it is.
    uint8_t family = rtw_symbols[symbol].family;
    bool foreign = family > RTWATCH_MEMORY && family < RTWATCH_SWIFT && !is_libc(where);
    rtw_owner[symbol] = foreign ? OWNER_OTHER : OWNER_KNOWN;
    rtw_real[symbol] = found;
    return found;
}
