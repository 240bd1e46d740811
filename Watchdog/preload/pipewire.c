// PipeWire's own clients, streams and filters: the process function of those that ask for it on the real-time thread is
// called through one of ours. The program's list of functions is copied, because it is constant and may be shared.

#include "late.h"
#include "preload.h"

enum { CLIENTS = 64, WORDS = 16, STREAM_PROCESS = 8, FILTER_PROCESS = 7 };   // in pointers from the list's start
enum { STREAM_ON_REAL_TIME = 1 << 4, FILTER_ON_REAL_TIME = 1 << 2 };

static struct slot {
    void *_Atomic client;             // pw_stream or pw_filter; its own address until that is known
    void *data;
    const void *events[WORDS];
    const void *const *original;
    _Atomic bool real_time;
} slots[CLIENTS];

// The functions that the list has, by its version: a newer one has more of them at the end.
static uint32_t length_of(const void *events, bool filter) {
    uint32_t version = *(const uint32_t *)events;
    return filter ? version == 0 ? 9 : 10 : version == 0 ? 10 : version == 1 ? 11 : 12;
}

static bool on_real_time(const struct slot *slot) {
    void *client = atomic_load(&slot->client);
    if (atomic_load(&slot->real_time)) return true;
    for (int i = 0; i < CLIENTS; i++)
        if (atomic_load(&slots[i].client) == client && atomic_load(&slots[i].real_time)) return true;
    return false;
}

static void process_stream(void *data) {
    struct slot *slot = data;
    void (*process)(void *) = (void (*)(void *))slot->original[STREAM_PROCESS];
    bool cycle = on_real_time(slot);
    if (cycle) rtw_begin("PipeWire stream", 0, FOUND_BY_PIPEWIRE);
    process(slot->data);
    if (cycle) rtw_end();
}

// The position begins with a clock: flags, id, name of 64 bytes, nsec, rate (a fraction of a second), position,
// duration, all of which the library itself reads in each cycle.
struct position {
    uint32_t flags, id;
    char name[64];
    uint64_t nanoseconds;
    struct { uint32_t num, denom; } rate;
    uint64_t position, duration;
};

static void process_filter(void *data, const struct position *position) {
    struct slot *slot = data;
    void (*process)(void *, const void *) = (void (*)(void *, const void *))slot->original[FILTER_PROCESS];
    bool cycle = on_real_time(slot);
    uint64_t period = 0;
    if (position && position->rate.denom && position->duration < 1 << 20)
        period = 1000000000ull * position->duration * position->rate.num / position->rate.denom;
    if (cycle) rtw_begin("PipeWire filter", period, FOUND_BY_PIPEWIRE);
    process(slot->data, position);
    if (cycle) rtw_end();
}

// All other functions of the list get the program's own data: one small function for each place and argument count would
// not do, because they differ in their arguments; they pass six words on, as many as any of them has.
#define PASS(n) \
    static void pass_##n(void *data, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) { \
        struct slot *slot = data; \
        ((void (*)(void *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t))slot->original[n])(slot->data, b, c, d, e, f); \
    }
PASS(1) PASS(2) PASS(3) PASS(4) PASS(5) PASS(6) PASS(7) PASS(8) PASS(9) PASS(10) PASS(11)
static void (*const passes[])(void *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) = {
    NULL, pass_1, pass_2, pass_3, pass_4, pass_5, pass_6, pass_7, pass_8, pass_9, pass_10, pass_11};

static struct slot *slot_for(const void *events, void *data, bool filter) {
    const void *const *original = events;
    uint32_t length = events ? length_of(events, filter) : 0, process = filter ? FILTER_PROCESS : STREAM_PROCESS;
    if (!events || !original[process] || !rtw_options.jack || !rtw_watching()) return NULL;
    for (int i = 0; i < CLIENTS; i++) {
        struct slot *slot = &slots[i];
        void *none = NULL;
        if (!atomic_compare_exchange_strong(&slot->client, &none, slot)) continue;
        slot->data = data;
        slot->original = original;
        slot->events[0] = original[0];
        for (uint32_t n = 1; n < length; n++)
            slot->events[n] = n == process ? filter ? (const void *)process_filter : (const void *)process_stream
                            : original[n] ? (const void *)passes[n] : NULL;
        atomic_store(&slot->real_time, false);
        rtw_monitor_start();
        return slot;
    }
    rtw_say("more than 64 PipeWire streams and filters: the last ones are not watched");
    return NULL;
}

static void *new_simple(void *(*real)(void *, const char *, void *, const void *, void *), void *loop, const char *name,
                        void *properties, const void *events, void *data, bool filter) {
    struct slot *slot = slot_for(events, data, filter);
    if (!slot) return real(loop, name, properties, events, data);
    void *client = real(loop, name, properties, slot->events, slot);
    atomic_store(&slot->client, client);
    return client;
}

EXPORTED void *pw_stream_new_simple(void *loop, const char *name, void *properties, const void *events, void *data) {
    return new_simple(LATE(pw_stream_new_simple), loop, name, properties, events, data, false);
}
EXPORTED void *pw_filter_new_simple(void *loop, const char *name, void *properties, const void *events, void *data) {
    return new_simple(LATE(pw_filter_new_simple), loop, name, properties, events, data, true);
}

static void listen(void (*real)(void *, void *, const void *, void *), void *client, void *listener, const void *events,
                   void *data, bool filter) {
    struct slot *slot = slot_for(events, data, filter);
    if (!slot) return real(client, listener, events, data);
    atomic_store(&slot->client, client);
    real(client, listener, slot->events, slot);
}

EXPORTED void pw_stream_add_listener(void *stream, void *listener, const void *events, void *data) {
    listen(LATE(pw_stream_add_listener), stream, listener, events, data, false);
}
EXPORTED void pw_filter_add_listener(void *filter, void *listener, const void *events, void *data) {
    listen(LATE(pw_filter_add_listener), filter, listener, events, data, true);
}

static void connected(void *client, bool real_time) {
    for (int i = 0; i < CLIENTS; i++)
        if (atomic_load(&slots[i].client) == client) atomic_store(&slots[i].real_time, real_time);
}

EXPORTED int pw_stream_connect(void *stream, int direction, uint32_t target, uint32_t flags, const void **parameters,
                               uint32_t count) {
    int (*real)(void *, int, uint32_t, uint32_t, const void **, uint32_t) = LATE(pw_stream_connect);
    connected(stream, flags & STREAM_ON_REAL_TIME);
    return real(stream, direction, target, flags, parameters, count);
}

EXPORTED int pw_filter_connect(void *filter, uint32_t flags, const void **parameters, uint32_t count) {
    int (*real)(void *, uint32_t, const void **, uint32_t) = LATE(pw_filter_connect);
    connected(filter, flags & FILTER_ON_REAL_TIME);
    return real(filter, flags, parameters, count);
}

// Its memory may be another's before this returns, and its functions are called until then.
static void destroy(void (*real)(void *), void *client) {
    bool own[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        own[i] = client && atomic_load(&slots[i].client) == client;
        if (own[i]) atomic_store(&slots[i].client, &slots[i]);
    }
    real(client);
    for (int i = 0; i < CLIENTS; i++)
        if (own[i]) atomic_store(&slots[i].client, NULL);
}

EXPORTED void pw_stream_destroy(void *stream) { destroy(LATE(pw_stream_destroy), stream); }
EXPORTED void pw_filter_destroy(void *filter) { destroy(LATE(pw_filter_destroy), filter); }
