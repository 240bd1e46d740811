// A thread "worker" that another wakes 40 times, in one of several ways, and that then allocates; and a thread "other".
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 40 };
static const char *way;
static int event, set;
static _Atomic uint32_t word;
static _Atomic int done;   // rounds of the worker

static void wait_for(int round) {
    uint64_t value;
    if (!strcmp(way, "poll")) {
        struct pollfd one = {event, POLLIN, 0};
        poll(&one, 1, -1);
    } else if (!strcmp(way, "epoll")) {
        struct epoll_event one;
        epoll_wait(set, &one, 1, -1);
    } else if (!strcmp(way, "select")) {
        fd_set all;
        FD_ZERO(&all);
        FD_SET(event, &all);
        select(event + 1, &all, NULL, NULL, NULL);
    } else if (!strcmp(way, "eventfd")) {
        eventfd_read(event, &value);
        return;
    } else if (!strcmp(way, "futex")) {
        while (word <= (uint32_t)round)
            syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, round, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
        return;
    }
    if (read(event, &value, sizeof value) != sizeof value) abort();
}

static void *worker(void *unused) {
    pthread_setname_np(pthread_self(), "worker");
    for (int i = 0; i < ROUNDS; i++) {
        wait_for(i);
        free(malloc(100));
        done++;
    }
    return unused;
}

int main(int count, char **words) {
    pthread_t thread;
    way = count > 1 ? words[1] : "read";
    event = eventfd(0, EFD_SEMAPHORE);   // as many reads as writes
    set = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted);
    pthread_create(&thread, NULL, worker, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t one = 1;
        usleep(3000);
        while (done < i) usleep(100);   // a busy machine may keep the worker waiting
        word++;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
        if (write(event, &one, sizeof one) != sizeof one) return 1;
    }
    pthread_join(thread, NULL);
    return 0;
}
