// A JACK client that opens libjack at run time, for scripts/checks/clients: callback or thread, and milliseconds.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct client client;
static client *self;
static void *volatile kept;
static uint32_t (*cycle_wait)(client *);
static void (*cycle_signal)(client *, int);

__attribute__((noinline)) static int process(uint32_t frames, void *argument) {
    kept = malloc(frames);
    free(kept);
    return argument != NULL;
}

static void *thread(void *argument) {
    for (;;) {
        int status = process(cycle_wait(self), argument);
        cycle_signal(self, status);
    }
    return NULL;
}

#define FIND(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(jack, #name)
client *jack_client_open(const char *, int, int *, ...);
int jack_set_process_callback(client *, int (*)(uint32_t, void *), void *);
int jack_set_process_thread(client *, void *(*)(void *), void *);
int jack_activate(client *);
int jack_client_close(client *);

int main(int argc, char **argv) {
    void *jack = dlopen("libjack.so.0", RTLD_NOW);
    if (!jack || argc < 3) return 2;
    FIND(jack_client_open);
    FIND(jack_set_process_callback);
    FIND(jack_set_process_thread);
    FIND(jack_activate);
    FIND(jack_client_close);
    cycle_wait = (uint32_t (*)(client *))dlsym(jack, "jack_cycle_wait");
    cycle_signal = (void (*)(client *, int))dlsym(jack, "jack_cycle_signal");
    self = jack_client_open_("late", 1, NULL);
    if (!self) return 3;
    if (strcmp(argv[1], "thread")) jack_set_process_callback_(self, process, NULL);
    else jack_set_process_thread_(self, thread, NULL);
    if (jack_activate_(self)) return 4;
    usleep((useconds_t)atoi(argv[2]) * 1000);
    return jack_client_close_(self) ? 5 : 0;
}
