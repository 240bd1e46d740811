#define _GNU_SOURCE

#include "CRender.h"

#include <alloca.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
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

// Reads the code of a loaded library in. Kernels before 5.14 refuse; then it is read when it runs, as ever.
static int read_code(struct dl_phdr_info *library, size_t size, void *unused) {
    (void)size;
    (void)unused;
    uintptr_t mask = page_size() - 1;
    for (int index = 0; index < library->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &library->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        uintptr_t start = (library->dlpi_addr + segment->p_vaddr) & ~mask;
        uintptr_t end = (library->dlpi_addr + segment->p_vaddr + segment->p_memsz + mask) & ~mask;
        madvise((void *)start, end - start, MADV_POPULATE_READ);
    }
    return 0;
}

int crender_lock_memory(void) {
    if (is_limited()) return EPERM;
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) return errno;
    int saved = errno;
    dl_iterate_phdr(read_code, NULL);
    errno = saved;
    return 0;
}

bool crender_may_lock_memory(void) { return !is_limited(); }

int crender_unlock_memory(void) { return munlockall() == 0 ? 0 : errno; }

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
    if (bytes > 0) touch_stack(bytes, page_size());
    return bytes;
}
