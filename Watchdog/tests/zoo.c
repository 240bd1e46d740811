// The zoo's keeper: see zoo.h.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "zoo.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 400 };
const struct zoo_case *zoo_cases[MOST];
int zoo_count;

pthread_mutex_t zoo_mutex = PTHREAD_MUTEX_INITIALIZER, zoo_held = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t zoo_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t zoo_spin;
pthread_cond_t zoo_condition = PTHREAD_COND_INITIALIZER;
pthread_barrier_t zoo_barrier;
sem_t zoo_semaphore;
FILE *zoo_null, *zoo_zero;
int zoo_file, zoo_pipe[2], zoo_sockets[2], zoo_epoll, zoo_device_null;
pthread_t zoo_thread, zoo_child;
char zoo_directory[64] = "/tmp/zooXXXXXX", zoo_path[96];
void *volatile zoo_pointer;
volatile int zoo_value = 3;
volatile long zoo_ticks;

static int cycles = 2, chosen_count;
static const struct zoo_case *chosen[MOST];

void zoo_add(const struct zoo_case *one) {
    if (zoo_count < MOST) zoo_cases[zoo_count++] = one;
}

static void *hold(void *unused) {
    for (;;) {
        pthread_mutex_lock(&zoo_held);
        usleep(2000);
        pthread_mutex_unlock(&zoo_held);
        usleep(100);
        zoo_ticks++;
    }
    return unused;
}

static void prepare(void) {
    pthread_t holder;
    pthread_spin_init(&zoo_spin, 0);
    pthread_barrier_init(&zoo_barrier, NULL, 1);
    sem_init(&zoo_semaphore, 0, 100000);
    zoo_null = fopen("/dev/null", "w");
    zoo_zero = fopen("/dev/zero", "r");
    if (!mkdtemp(zoo_directory)) exit(2);
    snprintf(zoo_path, sizeof zoo_path, "%s/file", zoo_directory);
    zoo_file = open(zoo_path, O_RDWR | O_CREAT, 0600);
    zoo_device_null = open("/dev/null", O_WRONLY);
    if (pipe(zoo_pipe) || socketpair(AF_UNIX, SOCK_DGRAM, 0, zoo_sockets)) exit(2);
    zoo_epoll = epoll_create1(0);
    pthread_create(&holder, NULL, hold, NULL);
    pthread_detach(holder);
}

static void clean_up(void) {
    unlink(zoo_path);
    rmdir(zoo_directory);
}

static void *audio(void *unused) {
    zoo_thread = pthread_self();
    for (int i = 0; i < chosen_count; i++)
        for (int n = 0; n < cycles; n++) {
            rtwatch_cycle_begin(chosen[i]->name, 62500000);   // and so a hang after two seconds
            chosen[i]->run();
            rtwatch_cycle_end();
        }
    return unused;
}

static int by_line(const void *a, const void *b) {
    const struct zoo_case *one = *(const struct zoo_case *const *)a, *other = *(const struct zoo_case *const *)b;
    int order = strcmp(one->file, other->file);
    return order ? order : one->line - other->line;
}

static void choose(const char *name) {
    int before = chosen_count;
    for (int i = 0; i < zoo_count && chosen_count < MOST; i++)
        if (strcmp(name, "all") ? !strcmp(name, zoo_cases[i]->name) : !zoo_cases[i]->alone)
            chosen[chosen_count++] = zoo_cases[i];
    if (chosen_count != before) return;
    fprintf(stderr, "zoo: there is no case \"%s\"; zoo --list names them\n", name);
    exit(2);
}

int main(int count, char **words) {
    qsort(zoo_cases, (size_t)zoo_count, sizeof *zoo_cases, by_line);
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--list")) {
            for (int n = 0; n < zoo_count; n++) {
                const struct zoo_case *one = zoo_cases[n];
                const char *base = strrchr(one->file, '/');
                printf("%s\t%d\t%s\t%s\t%s\t%d\t%s\n", one->name, one->tier, one->reported, one->function,
                       base ? base + 1 : one->file, one->line, one->alone ? "alone" : "");
            }
            return 0;
        }
        if (!strcmp(words[i], "-n") && i + 1 < count) cycles = atoi(words[++i]);
        else choose(words[i]);
    }
    prepare();
    pthread_t thread;
    pthread_create(&thread, NULL, audio, NULL);
    pthread_setname_np(thread, "zoo");
    pthread_join(thread, NULL);
    clean_up();
    return 0;
}
