// Memory, locks, waits, clean cases.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "zoo.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

CASE(malloc, BLOCKS, "malloc") {
    zoo_pointer = malloc(100);
    rtwatch_permitted_begin();
    free(zoo_pointer);
    rtwatch_permitted_end();
}
CASE(free, BLOCKS, "free") {
    rtwatch_permitted_begin(), zoo_pointer = malloc(10), rtwatch_permitted_end(), free(zoo_pointer);
    KEEP;
}
CASE(calloc, BLOCKS, "calloc") {
    zoo_pointer = calloc(3, 100);
    free(zoo_pointer);
    KEEP;
}
CASE(realloc, BLOCKS, "realloc") {
    zoo_pointer = realloc(NULL, 100);
    free(zoo_pointer);
    KEEP;
}
CASE(aligned_alloc, BLOCKS, "aligned_alloc") {
    zoo_pointer = aligned_alloc(64, 640);
    free(zoo_pointer);
    KEEP;
}
CASE(posix_memalign, BLOCKS, "posix_memalign") {
    void *memory; zoo_value = posix_memalign(&memory, 64, 640);
    free(memory);
    KEEP;
}
CASE(big_malloc, BLOCKS, "malloc") {
    zoo_pointer = malloc(8 << 20);
    free(zoo_pointer);
    KEEP;
}
CASE(strdup, BLOCKS, "malloc") {
    zoo_pointer = strdup("hello");
    free(zoo_pointer);
    KEEP;
}
CASE(asprintf, BLOCKS, "asprintf") {
    char *text = NULL; zoo_value = asprintf(&text, "%d", zoo_value);
    free(text);
    KEEP;
}
CASE(mmap, BLOCKS, "mmap") {
    zoo_pointer = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(zoo_pointer, 8192);
    KEEP;
}
CASE(munmap, BLOCKS, "munmap") {
    zoo_value = munmap(NULL, 4096);
}
CASE(mprotect, BLOCKS, "mprotect") {
    zoo_value = mprotect(NULL, 0, PROT_READ);
}
CASE(madvise, BLOCKS, "madvise") {
    zoo_value = madvise(NULL, 0, MADV_NORMAL);
}
CASE(mlock, BLOCKS, "mlock") {
    zoo_value = mlock((void *)&zoo_value, 4);
}
CASE(sbrk, BLOCKS, "sbrk") {
    zoo_pointer = sbrk(0);
}
CASE(qsort_large, BLOCKS, "malloc") {
    static int numbers[20000]; qsort(numbers, 20000, sizeof(int), compare);
    KEEP;
}

CASE(mutex_lock, BLOCKS, "pthread_mutex_lock") {
    pthread_mutex_lock(&zoo_mutex);
    pthread_mutex_unlock(&zoo_mutex);
    KEEP;
}
CASE(mutex_unlock, MAY_BLOCK, "pthread_mutex_unlock") {
    if (pthread_mutex_trylock(&zoo_mutex) == 0) pthread_mutex_unlock(&zoo_mutex);
    KEEP;
}
CASE(mutex_contended, BLOCKS, "pthread_mutex_lock") {
    pthread_mutex_lock(&zoo_held);
    pthread_mutex_unlock(&zoo_held);
    KEEP;
}
CASE(mutex_timedlock, BLOCKS, "pthread_mutex_timedlock") {
    struct timespec never = {0}; zoo_value = pthread_mutex_timedlock(&zoo_mutex, &never);
    pthread_mutex_unlock(&zoo_mutex);
    KEEP;
}
CASE(rwlock_read, BLOCKS, "pthread_rwlock_rdlock") {
    pthread_rwlock_rdlock(&zoo_rwlock);
    pthread_rwlock_unlock(&zoo_rwlock);
    KEEP;
}
CASE(rwlock_write, BLOCKS, "pthread_rwlock_wrlock") {
    pthread_rwlock_wrlock(&zoo_rwlock);
    pthread_rwlock_unlock(&zoo_rwlock);
    KEEP;
}
CASE(spin_lock, BLOCKS, "pthread_spin_lock") {
    pthread_spin_lock(&zoo_spin);
    pthread_spin_unlock(&zoo_spin);
    KEEP;
}
CASE(mtx_lock, BLOCKS, "mtx_lock") {
    static mtx_t mutex; mtx_lock(&mutex);
    mtx_unlock(&mutex);
    KEEP;
}
CASE(cond_wait, BLOCKS, "pthread_cond_timedwait") {
    struct timespec past = {1, 0}; pthread_cond_timedwait(&zoo_condition, &zoo_mutex, &past);
    KEEP;
}
CASE(cond_signal, MAY_BLOCK, "pthread_cond_signal") {
    pthread_cond_signal(&zoo_condition);
    KEEP;
}
CASE(cond_broadcast, MAY_BLOCK, "pthread_cond_broadcast") {
    pthread_cond_broadcast(&zoo_condition);
    KEEP;
}
CASE(barrier, BLOCKS, "pthread_barrier_wait") {
    pthread_barrier_wait(&zoo_barrier);
    KEEP;
}
CASE(sem_wait, BLOCKS, "sem_wait") {
    sem_wait(&zoo_semaphore);
    KEEP;
}
CASE(sem_post, MAY_BLOCK, "sem_post") {
    sem_post(&zoo_semaphore);
    KEEP;
}
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void first(void) { zoo_value++; }
CASE(once_cold, MAY_BLOCK, "pthread_once") {
    once = PTHREAD_ONCE_INIT, pthread_once(&once, first);
    KEEP;
}
CASE(usleep, BLOCKS, "usleep") {
    usleep(10);
    KEEP;
}
CASE(sleep, BLOCKS, "sleep") {
    zoo_value = (int)sleep(0);
}
CASE(nanosleep, BLOCKS, "nanosleep") {
    struct timespec little = {0, 1000}; nanosleep(&little, NULL);
    KEEP;
}
CASE(clock_nanosleep, BLOCKS, "clock_nanosleep") {
    struct timespec little = {0, 1000}; clock_nanosleep(CLOCK_MONOTONIC, 0, &little, NULL);
    KEEP;
}
CASE(sched_yield, BLOCKS, "sched_yield") {
    thrd_yield(), sched_yield();
    KEEP;
}
CASE(clock_gettime, NOTE, "clock_gettime") {
    struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now);
    KEEP;
}

CLEAN(clean_trylock) {
    if (pthread_mutex_trylock(&zoo_mutex) == 0) zoo_value++;
    rtwatch_permitted_begin();
    pthread_mutex_unlock(&zoo_mutex);
    rtwatch_permitted_end();
}
CLEAN(clean_trywait) {
    zoo_value = sem_trywait(&zoo_semaphore);
}
CLEAN(clean_mathematics) {
    volatile double x = zoo_value; x = sin(x) + pow(x, 0.3) + log(x + 2) + tanh(x) + exp2(x) + fmod(x, 2);
}
CLEAN(clean_memcpy) {
    char a[256], b[256]; memset(a, zoo_value, 256), memcpy(b, a, 256), memmove(a + 1, a, 200);
    zoo_value += b[zoo_value & 7];
}
CLEAN(clean_strings) {
    char a[64]; strcpy(a, "a,b"), strcat(a, ",c"), zoo_value += (int)strlen(a) + strcmp(a, "b") + atoi("7");
}
CLEAN(clean_snprintf) {
    char a[64]; zoo_value = snprintf(a, sizeof a, "%d %s %.3f", zoo_value, "x", 1.5) & 3;
}
CLEAN(clean_atomics) {
    static _Atomic int a; atomic_fetch_add(&a, 1), atomic_compare_exchange_strong(&a, &(int){3}, 4);
    atomic_exchange(&a, 1);
}
CLEAN(clean_free_null) {
    free(NULL);
    KEEP;
}
CLEAN(clean_once_done) {
    static pthread_once_t done = 2; pthread_once(&done, first);
    KEEP;
}
CLEAN(clean_permitted) {
    rtwatch_permitted_begin(), zoo_pointer = malloc(10), free(zoo_pointer), rtwatch_permitted_end();
}
CLEAN(clean_alloca) {
    char *memory = __builtin_alloca((size_t)(zoo_value & 7) + 64); memory[0] = 1; KEEP;
}
CLEAN(clean_tls) {
    static __thread int mine; mine++, zoo_value += mine & 1, zoo_value += pthread_equal(pthread_self(), zoo_thread);
}
CLEAN(clean_bsearch) {
    static const int a[] = {1, 2, 3}; zoo_pointer = bsearch(&a[1], a, 3, sizeof *a, compare);
}
CLEAN(clean_rand) {
    static struct drand48_data data; long value; lrand48_r(&data, &value);
    zoo_value = (int)(value & 7) + (int)strtod("1.5", NULL);
}
