// Programs that take something away from what runs beside them, for the command's tests: "main" (the main thread leaves by
// pthread_exit, and a second one after it), "filter" (seccomp refuses nearly all system calls).
#define _GNU_SOURCE
#include "../../rtwatch.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *audio(void *cycles) {
    for (long i = 0; i < (long)cycles; i++) {
        rtwatch_cycle_begin("leaves", 1000000);
        void *volatile memory = malloc(10);   // line: malloc
        free(memory);
        rtwatch_cycle_end();
    }
    return NULL;
}

static void filter(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(99);
}

static void *later(void *unused) {
    usleep(100000);
    return audio(unused);
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc > 1 && !strcmp(argv[1], "filter")) {
        free(malloc(100000));
        filter();
        audio((void *)100l);
    } else {
        audio((void *)50l);
        if (pthread_create(&thread, NULL, later, (void *)50l) || pthread_detach(thread)) return 98;
        pthread_exit(NULL);
    }
    return 0;
}
