// Finds the real functions behind the intercepted ones: the first definition behind this library in the loader's list.
// They are looked up at the start, all at once.
//
// The symbol tables are read here and not with dlsym, because the first calls come while the process is still being put
// together (the loader itself calls malloc), dlsym may allocate, and it stands for our own name too.

#include "preload.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

struct symbol_table {
    const ElfW(Sym) *symbols;
    const char *strings;
    const uint32_t *gnu_hash, *hash;
    const ElfW(Half) *versions;
};

struct object { ElfW(Addr) base; const ElfW(Dyn) *dynamic; const char *name; };

static struct symbol_table table_of(const struct object *object) {
    struct symbol_table table = {0};
    for (const ElfW(Dyn) *entry = object->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = entry->d_un.d_ptr;
        if (address < object->base) address += object->base;   // most loaders have relocated it in place
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

static void *find_in(const struct object *object, const char *name) {
    struct symbol_table table = table_of(object);
    if (!table.symbols || !table.strings) return NULL;
    const ElfW(Sym) *symbol = table.gnu_hash ? find_gnu(&table, name) : table.hash ? find_plain(&table, name) : NULL;
    if (!symbol) return NULL;
    uintptr_t address = object->base + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) address = ((uintptr_t(*)(void))address)();
    return (void *)address;
}

// Libraries in the loader's order. While another thread may unload one, the list is the loader's to walk: it holds its
// lock meanwhile. Before the constructors there is one thread, and in a forked child its parent's thread may hold that
// lock forever.
static bool settled;

struct search { const char *name; bool behind_us, passed_us; void *found; struct object where; };

static bool look(struct search *search, const struct object *object) {
    bool own = object->dynamic == _DYNAMIC;
    search->passed_us = search->passed_us || own;
    if (own || (search->behind_us && !search->passed_us)) return false;
    search->found = find_in(object, search->name);
    if (search->found) search->where = *object;
    return search->found != NULL;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *pointer) {
    (void)size;
    struct object object = {info->dlpi_addr, NULL, info->dlpi_name ? info->dlpi_name : ""};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            object.dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return object.dynamic && look(pointer, &object);
}

static struct search find(const char *name, bool behind_us) {
    struct search search = {.name = name, .behind_us = behind_us};
    int (*visit)(int (*)(struct dl_phdr_info *, size_t, void *), void *) = rtw_real[SYMBOL_dl_iterate_phdr];
    if (settled && *rtw_alive && !rtw_forked) {
        visit(look_at, &search);
        return search;
    }
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        struct object object = {map->l_addr, map->l_ld, map->l_name};
        if (look(&search, &object)) break;
    }
    return search;
}

void *rtw_find(const char *name, bool behind_us) { return find(name, behind_us).found; }

// A program's own functions come before this library's.
bool rtw_program_defines(const char *name) {
    struct link_map *program = _r_debug.r_map;   // first, and never unloaded
    struct object object = program ? (struct object){program->l_addr, program->l_ld, ""} : (struct object){0};
    return program && find_in(&object, name);
}

static bool is_one_of(const char *path, const char *const *names, size_t count) {
    const char *base = path;
    for (const char *at = base; *at; at++)
        if (*at == '/') base = at + 1;
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        while (names[i][n] && names[i][n] == base[n]) n++;
        if (!names[i][n]) return true;
    }
    return false;
}

static const char *const libc_names[] = {"libc.so", "libc-", "libpthread", "librt", "libdl", "ld-"};
static const char *const cpp_names[] = {"libstdc++", "libc++"};
#define IS_ONE_OF(path, names) is_one_of(path, names, sizeof names / sizeof *names)

// Is this function not the watchdog's to judge? Not some library's own of that name (`error`, `connect`). An allocator is,
// whosever it is; but C++'s own operators call malloc and free, which say the same.
static bool is_foreign(uint32_t symbol, const char *library) {
    uint8_t family = rtw_symbols[symbol].family;
    const char *name = rtw_symbols[symbol].name;
    if (family == RTWATCH_MEMORY) return name[0] == '_' && name[1] == 'Z' && IS_ONE_OF(library, cpp_names);
    return family < RTWATCH_SWIFT && !IS_ONE_OF(library, libc_names);
}

// Called only through a weak reference that this library made look defined: the program would have found it null.
static void missing(void) {
    rtw_say("a function was called that no library of the program defines");
    __builtin_trap();
}

void *rtw_resolve(uint32_t symbol) {
    struct search search = find(rtw_symbols[symbol].name, true);
    if (!search.found) return (void *)missing;
    rtw_owner[symbol] = is_foreign(symbol, search.where.name) ? OWNER_OTHER : OWNER_KNOWN;
    rtw_real[symbol] = search.found;
    return search.found;
}

static void *libc;
void *rtw_libc(void) { return libc; }

// Runs at the start, while there is one thread. A function that only a library defines that is opened later is looked
// up when it is first called.
void rtw_resolve_all(void) {
    for (uint32_t symbol = 0; symbol < SYMBOL_COUNT; symbol++) rtw_resolve(symbol);
    // The loader prepares what it opens by name, and only that, to be asked for symbols.
    void *(*open)(const char *, int) = rtw_real[SYMBOL_dlopen];
    if (rtw_owner[SYMBOL_dlopen] == OWNER_KNOWN) libc = open("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    settled = rtw_owner[SYMBOL_dl_iterate_phdr] != OWNER_UNKNOWN;
}
