// A stream on the real-time thread, one on the main loop, and a filter.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream_events { uint32_t version; void (*functions[11])(void); };
void *pw_stream_new_simple(void *, const char *, void *, const void *, void *);
void *pw_filter_new_simple(void *, const char *, void *, const void *, void *);
int pw_stream_connect(void *, int, uint32_t, uint32_t, const void **, uint32_t);
int pw_filter_connect(void *, uint32_t, const void **, uint32_t);
void pw_stream_destroy(void *);
void fake_state(void *);
void fake_process(void *);
void fake_filter_process(void *, const void *);

static int data[3], wrong;
static void destroyed(void *own) { wrong += own != &data[0]; }
static void changed(void *own, int old, int state, const char *error) {
    wrong += own != &data[0] || old != 1 || state != -1 || strcmp(error, "an error");
}
static void process(void *own) { free(malloc(100)); ++*(int *)own; }
static void filter(void *own, const uint32_t *position) { free(malloc(100)); ++*(int *)own; wrong += position[1] != 7; }

static void *streams[3];
static void *run(void *unused) {
    // flags, id, a name of 64 bytes, nsec, rate, position, duration
    struct { uint32_t flags, id; char name[64]; uint64_t time; uint32_t num, denom; uint64_t position, duration; } clock =
        {0, 7, "clock", 0, 1, 48000, 0, 480};
    for (int i = 0; i < 5; i++) {
        fake_process(streams[0]);
        fake_filter_process(streams[2], &clock);
    }
    return unused;
}

int main(void) {
    static const struct stream_events events = {2, {[0] = (void (*)(void))destroyed, [1] = (void (*)(void))changed,
                                                   [7] = (void (*)(void))process}};
    static const struct stream_events filters = {1, {[6] = (void (*)(void))filter}};
    pthread_t thread;
    streams[0] = pw_stream_new_simple(NULL, "one", NULL, &events, &data[0]);
    streams[1] = pw_stream_new_simple(NULL, "two", NULL, &events, &data[1]);
    streams[2] = pw_filter_new_simple(NULL, "three", NULL, &filters, &data[2]);
    pw_stream_connect(streams[0], 1, 0, 1 << 4, NULL, 0);
    pw_stream_connect(streams[1], 1, 0, 1, NULL, 0);
    pw_filter_connect(streams[2], 1 << 2, NULL, 0);
    fake_state(streams[0]);
    for (int i = 0; i < 5; i++) fake_process(streams[1]);
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    pw_stream_destroy(streams[0]);
    printf("%d %d %d, %d wrong\n", data[0], data[1], data[2], wrong);
    return wrong;
}
