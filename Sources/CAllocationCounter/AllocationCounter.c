// The program's own malloc takes the place of the C library's in every library that is loaded (symbols of the program
// come first), and hands over to it. So it sees what Swift's runtime allocates too, and needs no LD_PRELOAD. It counts per
// thread: tests that run beside it do not disturb it.

#include "CAllocationCounter.h"

#include <errno.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

// Initial-exec: reading it calls nothing.
static __thread int counting __attribute__((tls_model("initial-exec")));
static __thread long calls __attribute__((tls_model("initial-exec")));

static inline void note(void) { calls += counting; }

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    note();
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    note();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    note();
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}

void free(void *memory) {
    note();
    __libc_free(memory);
}

int allocation_counter_works(void) { return 1; }

void allocation_counter_begin(void) {
    calls = 0;
    counting = 1;
}

long allocation_counter_end(void) {
    counting = 0;
    return calls;
}

#else

int allocation_counter_works(void) { return 0; }
void allocation_counter_begin(void) {}
long allocation_counter_end(void) { return 0; }

#endif
