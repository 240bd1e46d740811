#include "symbols.h"

#include "buffer.h"
#include "demangle.h"
#include "origin.h"
#include "split.h"

#include <backtrace.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// One file's debug information, read when the first address in it is asked for.
struct image { const char *path; struct backtrace_state *state; };

static struct image *images;
static size_t image_count;
static struct { uint64_t *keys; struct frames *values; size_t count, capacity; } cache;
static struct frame **unnamed;
static size_t unnamed_count, unnamed_capacity;
static const char *swift_library;

// libbacktrace asks the dynamic linker where the program's own file lies. It gets to see a single one at address 0
// (the linker's --wrap sends its call here), and so a state can be made for any file, with the file's own addresses.
int __wrap_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data);
int __wrap_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data) {
    struct dl_phdr_info info = {.dlpi_name = ""};
    return visit(&info, sizeof info, data);
}

// "No debug info" and the like: the names are then simply not there.
static void ignore(void *data, const char *message, int number) { (void)data, (void)message, (void)number; }

static struct backtrace_state *state_of(const char *path) {
    for (size_t i = 0; i < image_count; i++)
        if (images[i].path == path) return images[i].state;
    images = reallocate(images, (image_count + 1) * sizeof *images);
    // An unreadable path would make libbacktrace read rtwatch's own file.
    bool readable = path[0] == '/' && !access(path, R_OK);
    images[image_count] = (struct image){path, readable ? backtrace_create_state(path, 0, ignore, NULL) : NULL};
    return images[image_count++].state;
}

static const struct rtwatch_module *module_at(const struct process *process, uint64_t address) {
    struct rtwatch_channel *channel = process->channel;
    // A forked child that ended before it listed its files has those of the program.
    if (!channel->module_count && process->index) return module_at(process_at(0), address);
    uint32_t count = __atomic_load_n(&channel->module_count, __ATOMIC_ACQUIRE);
    if (count > RTWATCH_MODULES) count = RTWATCH_MODULES;
    // The newest first: a library that was unloaded may have left its place to another one.
    for (uint32_t i = count; i-- > 0;)
        if (address >= channel->modules[i].start && address < channel->modules[i].end) return &channel->modules[i];
    return NULL;
}

struct lookup { struct frame *list; int count; const char *module; uint64_t offset; };

static int take_line(void *data, uintptr_t pc, const char *file, int line, const char *function) {
    struct lookup *lookup = data;
    (void)pc;
    if (!file && !function) return 0;
    lookup->list = reallocate(lookup->list, (size_t)(lookup->count + 1) * sizeof *lookup->list);
    lookup->list[lookup->count++] = (struct frame){
        .symbol = intern(function), .file = intern(file), .line = line,
        .module = lookup->module, .offset = lookup->offset};
    return 0;
}

static void take_symbol(void *data, uintptr_t pc, const char *name, uintptr_t value, uintptr_t size) {
    (void)pc;
    *(struct symbol *)data = (struct symbol){intern(name), value, value + size};
}

struct symbol symbol_in(const char *path, uint64_t address) {
    struct backtrace_state *state = state_of(path);
    struct symbol symbol = {0};
    if (state) backtrace_syminfo(state, address, take_symbol, ignore, &symbol);
    return symbol;
}

const char *module_path(const struct process *process, uint64_t address, uint64_t *bias) {
    const struct rtwatch_module *module = module_at(process, address);
    *bias = module ? module->bias : 0;
    return module ? intern_part(module->path, strnlen(module->path, sizeof module->path)) : NULL;
}

static bool has_line(const struct frame *frame) {
    return frame->file && frame->line > 0 && !strstr(frame->file, "<compiler-generated>");
}

// Code that the compiler made inside a function carries line 0. The nearest earlier instruction of the same function
// that has a line is what a person would point at; failing that the nearest later one.
static void find_near_line(struct backtrace_state *state, struct frame *frame, uint64_t address,
                           const struct symbol *within) {
    for (int way = -1; way <= 1; way += 2)
        for (int distance = 1; distance <= 1024; distance++) {
            struct lookup near = {0};
            uint64_t at = address + (uint64_t)(way * distance);
            if (at < within->start || at >= within->end) break;
            backtrace_pcinfo(state, at, take_line, ignore, &near);
            bool found = false;
            for (int i = 0; i < near.count && !found; i++)
                if (near.list[i].symbol == frame->symbol && has_line(&near.list[i])) {
                    frame->file = near.list[i].file;
                    frame->line = near.list[i].line;
                    found = true;
                }
            free(near.list);
            if (found) return;
        }
}

// With split debug information a line has no function around it: that and what is inlined are read here.
static void add_split_functions(struct lookup *lookup, uint64_t address) {
    struct split_function list[64];
    int count = lookup->count > 1 || (lookup->count && lookup->list[0].symbol)
        ? 0 : split_functions(lookup->module, address, list, 64);
    if (!count) return;
    struct frame innermost = lookup->count ? lookup->list[0] : (struct frame){0};
    lookup->list = reallocate(lookup->list, (size_t)count * sizeof *lookup->list);
    for (int i = 0; i < count; i++)
        lookup->list[i] = (struct frame){.symbol = list[i].symbol, .module = lookup->module, .offset = lookup->offset,
            .file = i ? list[i - 1].call_file : innermost.file, .line = i ? list[i - 1].call_line : innermost.line};
    lookup->count = count;
}

static struct frames look_up(struct process *process, uint64_t address) {
    const struct rtwatch_module *module = module_at(process, address);
    struct lookup lookup = {0};
    if (module) {
        char path[sizeof module->path + 1] = {0};
        memcpy(path, module->path, sizeof module->path);
        lookup.module = intern(path);
        lookup.offset = address - module->bias;
    } else {
        lookup.offset = address;
    }
    struct backtrace_state *state = lookup.module ? state_of(lookup.module) : NULL;
    uint64_t asked = lookup.offset - 1;
    struct symbol symbol = {0};
    if (state) {
        backtrace_pcinfo(state, asked, take_line, ignore, &lookup);
        add_split_functions(&lookup, asked);
        backtrace_syminfo(state, asked, take_symbol, ignore, &symbol);
    }
    if (!lookup.count) {
        lookup.list = allocate(sizeof *lookup.list);
        lookup.list[lookup.count++] = (struct frame){.module = lookup.module, .offset = lookup.offset};
    }
    for (int i = 0; i < lookup.count; i++) {
        struct frame *frame = &lookup.list[i];
        frame->inlined = i + 1 < lookup.count;
        if (!frame->inlined && !frame->symbol) frame->symbol = symbol.name;
        if (frame->symbol && frame->file && !has_line(frame)) find_near_line(state, frame, asked, &symbol);
        if (frame->file && !has_line(frame)) frame->file = NULL, frame->line = 0;
    }
    return (struct frames){lookup.list, lookup.count};
}

static void wait_for_name(struct frames *frames) {
    for (int i = 0; i < frames->count; i++) {
        if (unnamed_count == unnamed_capacity) {
            unnamed_capacity = unnamed_capacity ? unnamed_capacity * 2 : 256;
            unnamed = reallocate(unnamed, unnamed_capacity * sizeof *unnamed);
        }
        unnamed[unnamed_count++] = &frames->list[i];
    }
}

static size_t cache_slot(uint64_t key) {
    size_t at = (key * 0x9E3779B97F4A7C15u >> 20) & (cache.capacity - 1);
    while (cache.keys[at] && cache.keys[at] != key) at = (at + 1) & (cache.capacity - 1);
    return at;
}

static void grow_cache(void) {
    size_t before = cache.capacity;
    uint64_t *keys = cache.keys;
    struct frames *values = cache.values;
    cache.capacity = before ? before * 2 : 4096;
    cache.keys = allocate(cache.capacity * sizeof *cache.keys);
    cache.values = allocate(cache.capacity * sizeof *cache.values);
    for (size_t i = 0; i < before; i++) {
        if (!keys[i]) continue;
        size_t at = cache_slot(keys[i]);
        cache.keys[at] = keys[i];
        cache.values[at] = values[i];
    }
    free(keys);
    free(values);
}

static const struct frames *frames_for(struct process *process, uint64_t address, bool left) {
    if (cache.count * 2 >= cache.capacity) grow_cache();
    // User addresses have 47 bits (arm64: 48), so the process fits above them.
    uint64_t key = (address & 0xFFFFFFFFFFFFu) | (uint64_t)(process->index + 1) << 48 | (uint64_t)left << 63;
    size_t at = cache_slot(key);
    if (!cache.keys[at]) {
        cache.keys[at] = key;
        cache.values[at] = look_up(process, address);
        for (int i = 0; i < cache.values[at].count; i++) cache.values[at].list[i].left = left;
        cache.count++;
        wait_for_name(&cache.values[at]);
    }
    return &cache.values[at];
}

const struct frames *frames_at(struct process *process, uint64_t address) { return frames_for(process, address, false); }
const struct frames *left_frames_at(struct process *process, uint64_t address) {
    return frames_for(process, address, true);
}

static const char *find_swift_library(void) {
    for (int i = 0; !swift_library && i < process_count(); i++) {
        struct rtwatch_channel *channel = process_at(i)->channel;
        for (uint32_t j = 0; j < channel->module_count && j < RTWATCH_MODULES; j++)
            if (ends_with(channel->modules[j].path, "/libswiftCore.so"))
                return swift_library = intern(channel->modules[j].path);
    }
    return swift_library;
}

void name_frames(void) {
    if (!unnamed_count) return;
    const char **symbols = allocate(unnamed_count * sizeof *symbols);
    for (size_t i = 0; i < unnamed_count; i++) symbols[i] = unnamed[i]->symbol;
    prepare_names(symbols, unnamed_count, find_swift_library());
    for (size_t i = 0; i < unnamed_count; i++) name_frame(unnamed[i]);
    free(symbols);
    unnamed_count = 0;
}
