// JACK clients, also those that open libjack at run time: the process callback is called through one of ours, a process
// thread's cycle is from jack_cycle_wait to jack_cycle_signal.

#include "preload.h"
#include "late.h"

typedef int (*process_callback)(uint32_t frames, void *argument);
typedef void *(*process_thread)(void *argument);

enum { CLIENTS = 64 };
static struct slot {
    void *_Atomic client;
    process_callback callback;
    process_thread thread;
    void *argument;
    uint32_t rate;
} slots[CLIENTS];

// The client's slot, or a free one that becomes its.
static struct slot *slot_of(void *client, bool make) {
    for (int i = 0; i < CLIENTS; i++)
        if (atomic_load(&slots[i].client) == client) return &slots[i];
    for (int i = 0; make && i < CLIENTS; i++) {
        void *free = NULL;
        if (atomic_compare_exchange_strong(&slots[i].client, &free, client)) return &slots[i];
    }
    if (make) rtw_say("more than 64 JACK clients in one process: the last ones are not watched");
    return NULL;
}

static uint32_t rate_of(void *client) {
    uint32_t (*get)(void *) = (uint32_t(*)(void *))late_beside(LATE_jack_set_process_callback, "jack_get_sample_rate");
    return get ? get(client) : 0;
}

static uint64_t period(const struct slot *slot, uint32_t frames) {
    return slot->rate ? 1000000000ull * frames / slot->rate : 0;
}

static int process(uint32_t frames, void *argument) {
    struct slot *slot = argument;
    rtw_begin("JACK process", period(slot, frames), FOUND_BY_JACK_CALLBACK);
    int result = slot->callback(frames, slot->argument);
    rtw_end();
    return result;
}

static void *run(void *argument) {
    struct slot *slot = argument;
    return slot->thread(slot->argument);
}

static bool watched(void) { return rtw_options.jack && rtw_watching(); }

EXPORTED int jack_set_process_callback(void *client, process_callback callback, void *argument) {
    int (*real)(void *, process_callback, void *) = LATE(jack_set_process_callback);
    struct slot *slot = callback && watched() ? slot_of(client, true) : NULL;
    if (!slot) return real(client, callback, argument);
    rtw_monitor_start();
    slot->rate = rate_of(client);
    slot->callback = callback;
    slot->argument = argument;
    return real(client, process, slot);
}

EXPORTED int jack_set_process_thread(void *client, process_thread thread, void *argument) {
    int (*real)(void *, process_thread, void *) = LATE(jack_set_process_thread);
    struct slot *slot = thread && watched() ? slot_of(client, true) : NULL;
    if (!slot) return real(client, thread, argument);
    rtw_monitor_start();
    slot->rate = rate_of(client);
    slot->thread = thread;
    slot->argument = argument;
    return real(client, run, slot);
}

EXPORTED uint32_t jack_cycle_wait(void *client) {
    uint32_t (*real)(void *) = LATE(jack_cycle_wait);
    if (!watched()) return real(client);
    if (rtw_self.depth && rtw_self.found_by == FOUND_BY_JACK_THREAD) rtw_end();
    uint32_t frames = real(client);
    struct slot *slot = slot_of(client, false);
    if (slot && !rtw_self.depth) rtw_begin("JACK process thread", period(slot, frames), FOUND_BY_JACK_THREAD);
    return frames;
}

EXPORTED void jack_cycle_signal(void *client, int status) {
    void (*real)(void *, int) = LATE(jack_cycle_signal);
    if (rtw_self.depth && rtw_self.found_by == FOUND_BY_JACK_THREAD) rtw_end();
    real(client, status);
}

EXPORTED int jack_client_close(void *client) {
    int (*real)(void *) = LATE(jack_client_close);
    // Its memory may be another client's before this returns; its callback may run until then.
    struct slot *slot = slot_of(client, false);
    if (slot) atomic_store(&slot->client, slot);
    int result = real(client);
    if (slot) atomic_store(&slot->client, NULL);
    return result;
}
