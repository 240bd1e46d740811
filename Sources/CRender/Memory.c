#define _GNU_SOURCE

#include "CRender.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

// Returns whether the kernel holds this process to RLIMIT_MEMLOCK. To find out, it locks more than the limit of memory
// without access rights, which costs nothing: in a container the capability that lifts the limit can be shown and still
// be worth nothing.
static bool is_limited(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return true;
    if (limit.rlim_cur == RLIM_INFINITY) return false;
    if (limit.rlim_cur > (rlim_t)1 << 44) return true;
    size_t bytes = ((size_t)limit.rlim_cur / page_size() + 2) * page_size();
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return true;
    bool refused = mlock2(memory, bytes, MLOCK_ONFAULT) != 0;
    munmap(memory, bytes);
    return refused;
}

// MARK: - The audio's memory

// A block of the audio's memory has this in front of it, on a cache line of its own.
struct block {
    struct block *next, *previous;
    size_t bytes;
    size_t unused[5];
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
// Under the guard: every block that is in use, whether memory is being locked, and whether a limit was found then.
static struct block *blocks;
static bool locks, locks_are_limited;

// Bytes of a limit that this file leaves: for the stacks of render threads, which are locked when those start, and for what
// other libraries lock. libjack 1.9.22 gives no connection unless it can lock a page for each client of its server.
enum { STACKS = 512 * 1024, LIBRARIES = 1024 * 1024 };

// Returns the number behind a name in /proc/self/status, in bytes; 0 if the kernel does not tell.
static size_t status_bytes(const char *name) {
    char text[8192];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    text[count > 0 ? count : 0] = 0;
    const char *line = strstr(text, name);
    size_t kilobytes = 0;
    return line && sscanf(line + strlen(name), "%zu", &kilobytes) == 1 ? kilobytes * 1024 : 0;
}

// Memory is locked in pieces of this size where not all of it can be.
enum { PIECE = 64 * 1024 };

// What may be locked of a limit.
struct allowance {
    size_t spared;   // bytes of the limit that stay free; 0 where there is no limit
    size_t left;     // bytes that are left besides, as far as they were counted
    bool is_spent;
};

static bool allows(struct allowance *allowance, size_t bytes) {
    if (!allowance->spared || bytes <= allowance->left) return true;
    if (allowance->is_spent) return false;
    // The kernel is asked seldom: that opens a file, and a range that was locked before has only been counted twice.
    struct rlimit limit = {0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    size_t used = status_bytes("\nVmLck:") + allowance->spared;
    allowance->left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
    allowance->is_spent = allowance->left < PIECE;
    return bytes <= allowance->left;
}

// Locks what is mapped in a range, and the rest of it when it is touched.
static int lock_on_touch(const void *start, size_t bytes, struct allowance *allowance) {
    uintptr_t mask = page_size() - 1, first = (uintptr_t)start & ~mask;
    size_t length = (((uintptr_t)start + bytes + mask) & ~mask) - first;
    if (!allows(allowance, length)) return ENOMEM;
    if (mlock2((void *)first, length, MLOCK_ONFAULT) != 0) return errno;
    if (allowance->spared) allowance->left -= length;
    return 0;
}

// Locks memory that is new, where memory is being locked. Of a limit some bytes stay free.
static void lock_new(const void *start, size_t bytes, size_t spared) {
    pthread_mutex_lock(&guard);
    bool is_wanted = locks;
    struct allowance allowance = {locks_are_limited ? spared : 0};
    pthread_mutex_unlock(&guard);
    if (is_wanted) lock_on_touch(start, bytes, &allowance);
}

void *crender_take_memory(size_t bytes) {
    void *memory;
    if (bytes > SIZE_MAX - sizeof(struct block)) return NULL;
    if (posix_memalign(&memory, 64, bytes + sizeof(struct block)) != 0) return NULL;
    // Writing every byte also maps every page: the render thread must not be the first to touch one.
    memset(memory, 0, bytes + sizeof(struct block));
    struct block *block = memory;
    block->bytes = bytes;
    pthread_mutex_lock(&guard);
    block->next = blocks;
    if (blocks) blocks->previous = block;
    blocks = block;
    pthread_mutex_unlock(&guard);
    lock_new(block, bytes + sizeof(struct block), STACKS + LIBRARIES);
    return block + 1;
}

void crender_give_memory(void *memory) {
    struct block *block = (struct block *)memory - 1;
    pthread_mutex_lock(&guard);
    if (block->next) block->next->previous = block->previous;
    if (block->previous) block->previous->next = block->next; else blocks = block->next;
    pthread_mutex_unlock(&guard);
    free(block);
}

// MARK: - Locks

// A line of /proc/self/maps.
struct mapping {
    uintptr_t start, end;
    bool is_readable, is_writable, is_code, is_shared;
    const char *name;
};

// The ways in which the render thread uses a mapping.
enum kind { OTHER, HEAP, CODE };

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

// Returns whether a file's name begins in one of these ways.
static bool is_among(const char *name, const char *const *beginnings, size_t count) {
    for (size_t index = 0; index < count; index++)
        if (begins(name, beginnings[index])) return true;
    return false;
}

// The code of a process that render threads run: the file that RenderStack is a part of, and whether the libraries of sound
// servers and cards belong to it.
struct code {
    const char *program;
    bool has_servers;
};

// Returns whether a render thread runs code of a file: the program's, that of plug-ins, of the C library, and of the sound
// servers and cards if the output is one of these. Libraries that read files, and Swift's own, are not run there.
static bool is_run(const char *path, struct code code) {
    static const char *const always[] = {"libc.so", "libc-", "libm.so", "libm-", "ld-linux"};
    static const char *const servers[] = {"libjack", "libasound", "libpipewire", "libspa"};
    if (code.program && strcmp(path, code.program) == 0) return true;
    if (strstr(path, ".lv2/")) return true;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (is_among(name, always, sizeof always / sizeof *always)) return true;
    return code.has_servers && (strstr(path, "/spa-0.2/") || is_among(name, servers, sizeof servers / sizeof *servers));
}

static enum kind kind_of(const struct mapping *mapping, struct code code) {
    if (!mapping->is_readable || mapping->is_shared) return OTHER;
    if (mapping->name[0] == '/') return is_run(mapping->name, code) ? CODE : OTHER;
    // A main thread's stack that is locked could not grow beyond the limit: the kernel would end the program.
    if (!mapping->is_writable || begins(mapping->name, "[stack")) return OTHER;
    return mapping->name[0] == 0 || begins(mapping->name, "[heap]") || begins(mapping->name, "[anon") ? HEAP : OTHER;
}

// The whole of /proc/self/maps as a text, to be freed.
static char *read_maps(void) {
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    size_t used = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text) {
        ssize_t count = read(file, text + used, room - used - 1);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        used += (size_t)count;
        if (room - used > 4096) continue;
        char *larger = realloc(text, room *= 2);
        if (!larger) free(text);
        text = larger;
    }
    close(file);
    if (text) text[used] = 0;
    return text;
}

// Takes the next line off a text. Returns false at its end.
static bool next_mapping(char **text, struct mapping *mapping) {
    while (**text) {
        char *line = *text, *end = strchr(line, '\n');
        *text = end ? end + 1 : line + strlen(line);
        if (end) *end = 0;
        char rights[5];
        int name = 0;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %n", &mapping->start, &mapping->end, rights, &name) < 3)
            continue;
        mapping->is_readable = rights[0] == 'r';
        mapping->is_writable = rights[1] == 'w';
        mapping->is_code = rights[2] == 'x';
        mapping->is_shared = rights[3] == 's';
        mapping->name = line + name;
        return true;
    }
    return false;
}

// The mappings of the process, as they were read once.
struct mappings {
    char *text;
    struct mapping *all;
    size_t count;
};

static struct mappings read_mappings(void) {
    struct mappings maps = {read_maps(), NULL, 0};
    size_t lines = 0;
    for (const char *at = maps.text; at && (at = strchr(at, '\n')); at++) lines++;
    maps.all = malloc((lines + 1) * sizeof *maps.all);
    char *rest = maps.text;
    while (rest && maps.all && maps.count <= lines && next_mapping(&rest, maps.all + maps.count)) maps.count++;
    return maps;
}

static void free_mappings(struct mappings maps) {
    free(maps.all);
    free(maps.text);
}

// Locks a range, or as much of it as the limit allows, and adds up both.
static void lock_range(uintptr_t start, size_t bytes, struct allowance *allowance, struct crender_locks *result) {
    result->wanted += bytes;
    int error = lock_on_touch((void *)start, bytes, allowance);
    if (error == 0) {
        result->locked += bytes;
        return;
    }
    result->error = error;
    for (size_t done = 0; done + PIECE < bytes && lock_on_touch((void *)(start + done), PIECE, allowance) == 0; done += PIECE)
        result->locked += PIECE;
}

// The longest mapping that is searched. A sanitizer reserves terabytes; a search of those would take seconds.
static const size_t longest_mapping = (size_t)1 << 36;

// Locks those parts of a mapping that are in memory. The rest of it, such as most of a thread's stack, would count too.
static void lock_resident(const struct mapping *mapping, struct allowance *allowance, struct crender_locks *result) {
    enum { PAGES = 2048, GAP = 8 };
    if (mapping->end - mapping->start > longest_mapping) return;
    unsigned char is_there[PAGES];
    size_t page = page_size();
    uintptr_t first = 0, last = 0;
    for (uintptr_t at = mapping->start; at < mapping->end; at += PAGES * page) {
        size_t length = mapping->end - at < PAGES * page ? mapping->end - at : PAGES * page;
        if (mincore((void *)at, length, is_there) != 0) break;
        for (size_t index = 0; index < length / page; index++) {
            if (!(is_there[index] & 1)) continue;
            uintptr_t found = at + index * page;
            if (first && found - last > GAP * page) {
                lock_range(first, last - first, allowance, result);
                first = 0;
            }
            if (!first) first = found;
            last = found + page;
        }
    }
    if (first) lock_range(first, last - first, allowance, result);
}

// The path of the file that this code was loaded from.
static const char *program_path(struct mappings maps) {
    for (const struct mapping *mapping = maps.all; mapping < maps.all + maps.count; mapping++)
        if (mapping->start <= (uintptr_t)&program_path && (uintptr_t)&program_path < mapping->end) return mapping->name;
    return NULL;
}

// Goes through the mappings of one kind. Code is read in first; kernels before 5.14 refuse, and read it when it runs.
static void lock_kind(
    enum kind kind, struct mappings maps, struct code code, struct allowance *allowance, struct crender_locks *result
) {
    for (const struct mapping *mapping = maps.all; mapping < maps.all + maps.count; mapping++) {
        enum kind found = kind_of(mapping, code);
        void *start = (void *)mapping->start;
        size_t bytes = mapping->end - mapping->start;
        if (kind == CODE && found == OTHER && mapping->is_code) madvise(start, bytes, MADV_WILLNEED);
        if (found != kind) continue;
        if (kind == HEAP) {
            lock_resident(mapping, allowance, result);
        } else {
            if (!mapping->is_writable) madvise(start, bytes, MADV_POPULATE_READ);
            lock_range(mapping->start, bytes, allowance, result);
        }
    }
}

struct crender_locks crender_lock_memory(bool runs_servers) {
    struct crender_locks result = {0};
    int saved = errno;
    // Memory that the program freed before would be locked with the rest.
    malloc_trim(0);
    struct mappings maps = read_mappings();
    struct code code = {program_path(maps), runs_servers};
    bool limited = is_limited();
    struct allowance allowance = {limited ? STACKS + LIBRARIES : 0};
    pthread_mutex_lock(&guard);
    locks = true;
    locks_are_limited = limited;
    for (struct block *block = blocks; block; block = block->next)
        lock_range((uintptr_t)block, block->bytes + sizeof *block, &allowance, &result);
    pthread_mutex_unlock(&guard);
    result.audio = result.locked;
    result.audio_wanted = result.wanted;
    // The blocks lie in the heap, whose pages are counted once.
    result.wanted = result.locked = 0;
    lock_kind(HEAP, maps, code, &allowance, &result);
    lock_kind(CODE, maps, code, &allowance, &result);
    free_mappings(maps);
    errno = saved;
    return result;
}

void crender_lock_new_memory(void) {
    // The one thread that calls it keeps this number.
    static size_t before;
    pthread_mutex_lock(&guard);
    bool is_wanted = locks && !locks_are_limited;
    pthread_mutex_unlock(&guard);
    if (!is_wanted) return;
    size_t now = status_bytes("\nVmRSS:");
    if (now == before) return;
    before = now;
    struct crender_locks result = {0};
    struct mappings maps = read_mappings();
    lock_kind(HEAP, maps, (struct code){NULL, false}, &(struct allowance){0}, &result);
    free_mappings(maps);
}

bool crender_may_lock_memory(void) { return !is_limited(); }

int crender_unlock_memory(void) {
    pthread_mutex_lock(&guard);
    locks = false;
    pthread_mutex_unlock(&guard);
    return munlockall() == 0 ? 0 : errno;
}

int crender_lock_region(const void *start, size_t bytes) { return mlock(start, bytes) == 0 ? 0 : errno; }

// A frame of its own, so that what is touched is really below the caller.
__attribute__((noinline)) static void touch_stack(size_t bytes, size_t page) {
    volatile char *memory = alloca(bytes);
    // From the top down, as a stack grows.
    for (size_t offset = bytes; offset > 0; offset -= offset < page ? offset : page) memory[offset - 1] = 0;
}

size_t crender_prefault_stack(size_t bytes) {
    const size_t reserve = 64 * 1024;
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    int error = pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    if (error != 0) return 0;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here < (uintptr_t)lowest || here - (uintptr_t)lowest <= reserve) return 0;
    size_t available = here - (uintptr_t)lowest - reserve;
    if (bytes > available) bytes = available;
    if (bytes == 0) return 0;
    touch_stack(bytes, page_size());
    lock_new((const void *)(here - bytes), bytes, LIBRARIES);
    return bytes;
}

bool crender_has_sanitizer(void) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#else
    return false;
#endif
}
