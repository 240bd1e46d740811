// Functions that end in what they should not call, so that a compiler turns the call into a jump and nothing of them is
// left on the stack.
#include "../../rtwatch.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int sink;

__attribute__((noinline)) static void release(void *memory) {
    sink++;
    free(memory);                  // line: release
}

__attribute__((noinline)) static void *obtain(int size) {
    sink += size;
    return malloc((size_t)size);   // line: obtain
}

// Through two functions, one of which has two ways out.
__attribute__((noinline)) static int inner(int count) {
    if (count > 1000) return usleep(0);
    return pthread_mutex_unlock(&mutex);   // line: inner
}

__attribute__((noinline)) static int outer(int count) {
    sink += count;
    return inner(count);           // line: outer
}

__attribute__((noinline)) static int hidden(void) {
    sink++;
    return pthread_mutex_lock(&mutex);
}

static int (*volatile pointer)(void) = hidden;

__attribute__((noinline)) static void render(void) {
    void *memory = obtain(40);
    sink++;
    release(memory);
    sink++;
    pointer();                     // line: pointer
    sink++;
    outer(3);
    sink++;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        rtwatch_cycle_begin("tails", 0);
        render();
        rtwatch_cycle_end();
    }
    return 0;
}
