// An allocator of the program's own, in front of libc's: linked to violations.c for the command's tests.
#include <stddef.h>

void *__libc_malloc(size_t size);
void __libc_free(void *memory);

static volatile long count;

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void free(void *memory) {
    count++;
    __libc_free(memory);
}
