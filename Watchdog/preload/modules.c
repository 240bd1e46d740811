// Lists the mapped files for the command, and finds out what kind of program this is.

#include "preload.h"
#include "system.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

uint64_t rtw_text_start, rtw_text_end;

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
static _Atomic uint32_t finding;
static uint64_t seen_adds, seen_subs;

static bool known(const struct rtwatch_channel *channel, uint64_t start, const char *path) {
    for (uint32_t i = channel->module_count; i-- > 0;)
        if (channel->modules[i].start == start) {
            const char *other = channel->modules[i].path;
            for (size_t n = 0; n + 1 < sizeof channel->modules[i].path; n++) {
                if (other[n] != path[n]) return false;
                if (!other[n]) return true;
            }
            return true;
        }
    return false;
}

static void program_path(char *path, size_t size) {
    long length = rtw_system4(SYS_readlinkat, AT_FDCWD, "/proc/thread-self/exe", path, size - 1);
    path[length > 0 ? length : 0] = 0;
}

// "./plug-in.so" is where the program is now, which need not be where the command is.
static const char *absolute(const char *path, char *space, size_t size) {
    const char *slash = path;
    while (*slash && *slash != '/') slash++;
    if (!*slash || slash == path) return path;   // the kernel's own has no folder
    long length = rtw_system2(SYS_getcwd, space, size);
    if (length <= 1 || (size_t)length + rtw_length(path) + 1 > size) return path;
    space[length - 1] = '/';
    rtw_copy(space + length, path, size - (size_t)length);
    return space;
}

static int note_module(struct dl_phdr_info *info, size_t size, void *first) {
    struct rtwatch_channel *channel = rtw_channel;
    uint64_t start = ~0ull, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        uint64_t low = info->dlpi_addr + header->p_vaddr, high = low + header->p_memsz;
        if (low < start) start = low;
        if (high > end) end = high;
        uint64_t here = (uint64_t)(uintptr_t)rtw_start;
        if ((header->p_flags & PF_X) && low <= here && here < high) {
            rtw_text_start = low;
            rtw_text_end = high;
        }
    }
    if (*(int *)first && size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        if (seen_adds == info->dlpi_adds && seen_subs == info->dlpi_subs) return 1;
        if (seen_subs != info->dlpi_subs) rtw_forget_code();
        seen_adds = info->dlpi_adds;
        seen_subs = info->dlpi_subs;
    }
    char space[256];
    const char *path = info->dlpi_name;
    if (*(int *)first) {
        program_path(space, sizeof space);
        path = space;
    } else if (path) {
        path = absolute(path, space, sizeof space);
    }
    *(int *)first = 0;
    if (end <= start || !path || known(channel, start, path) || channel->module_count >= RTWATCH_MODULES) return 0;
    struct rtwatch_module *module = &channel->modules[channel->module_count];
    module->start = start;
    module->end = end;
    module->bias = info->dlpi_addr;
    module->added = rtw_now();
    rtw_copy(module->path, path, sizeof module->path);
    __atomic_store_n(&channel->module_count, channel->module_count + 1, __ATOMIC_RELEASE);
    return 0;
}

void rtw_forget_finding(void) {
    atomic_store(&finding, 0);
    seen_adds = seen_subs = 0;
}

bool rtw_forked;

// In a forked child a thread that only its parent has may hold the loader's lock, forever. There is one thread at first: it
// walks the loader's list without the lock, once.
static void walk(int *first) {
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        struct dl_phdr_info info;
        info.dlpi_addr = map->l_addr;
        info.dlpi_name = map->l_name;
        const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
        if (*first) {
            info.dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
            info.dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
        } else if (header && header->e_ident[EI_MAG0] == ELFMAG0 && header->e_ident[EI_MAG1] == ELFMAG1) {
            info.dlpi_phdr = (const ElfW(Phdr) *)(map->l_addr + header->e_phoff);
            info.dlpi_phnum = header->e_phnum;
        } else {
            continue;
        }
        note_module(&info, offsetof(struct dl_phdr_info, dlpi_adds), first);
    }
}

void rtw_find_modules(void) {
    if (!rtw_channel || !rtw_try_lock(&finding)) return;
    int first = 1;
    if (!rtw_forked) dl_iterate_phdr(note_module, &first);
    else if (rtw_channel->module_count == 0) walk(&first);
    rtw_unlock(&finding);
}

// Before a fork: waits, 2 ms at most, for a thread that looks for modules and may hold the loader's lock, which the child
// would never get. Returns whether no thread looks from now on.
bool rtw_pause_finding(void) {
    struct timespec pause = {0, 10000};
    for (int i = 0; i < 200; i++) {
        if (rtw_try_lock(&finding)) return true;
        rtw_system4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return false;
}

void rtw_resume_finding(void) { rtw_unlock(&finding); }

// Does the program's file have a section of this name? (Static Swift leaves no symbols, but its metadata sections
// stay.)
static bool has_section(const char *name) {
    long file = rtw_system4(SYS_openat, AT_FDCWD, "/proc/thread-self/exe", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return false;
    ElfW(Ehdr) header;
    bool found = false;
    long size = rtw_system3(SYS_lseek, file, 0, 2);
    if (size > (long)sizeof header && rtw_system4(SYS_pread64, file, &header, sizeof header, 0) == sizeof header) {
        long at = rtw_system6(SYS_mmap, NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (at > 0 && header.e_shoff && header.e_shoff + header.e_shnum * sizeof(ElfW(Shdr)) <= (uint64_t)size) {
            const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(at + (long)header.e_shoff);
            for (int i = 0; i < header.e_shnum && header.e_shstrndx < header.e_shnum; i++) {
                uint64_t text = sections[header.e_shstrndx].sh_offset + sections[i].sh_name;
                if (text + 32 < (uint64_t)size && rtw_equal((const char *)at + text, name)) found = true;
            }
        }
        if (at > 0) rtw_system2(SYS_munmap, at, size);
    }
    rtw_system1(SYS_close, file);
    return found;
}

bool rtw_sanitizer(void) {
#define REPLACES ", which replaces the same functions: build it without"
    static const struct { const char *symbol, *sentence; } sanitizers[] = {
        {"__asan_init", "the program is built with AddressSanitizer" REPLACES},
        {"__tsan_init", "the program is built with ThreadSanitizer" REPLACES},
        {"__msan_init", "the program is built with MemorySanitizer" REPLACES},
        {"__hwasan_init", "the program is built with HWAddressSanitizer" REPLACES},
        {"__rtsan_init", "the program is built with RealtimeSanitizer" REPLACES},
    };
    for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
        if (rtw_find(sanitizers[i].symbol, false)) {
            rtw_say(sanitizers[i].sentence);
            return true;
        }
    if (rtw_program_defines("malloc"))
        rtw_say("the program has a malloc of its own: rtwatch sees its memory where that calls libc's malloc, or the "
                "kernel");
    if (!rtw_find("swift_allocObject", true) && has_section("swift5_protocols"))
        rtw_say("the Swift runtime is linked into the program (-static-stdlib): its retains, casts, metadata and "
                "swift_once are not visible; allocations, locks and system calls are");
    return false;
}
