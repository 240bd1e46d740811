// Plug-ins that the tests know: each does one thing, and some do what no plug-in should. The tests compile this file, and write
// its descriptions (TestBundle.swift).

#include <lv2/atom/atom.h>
#include <lv2/atom/util.h>
#include <lv2/core/lv2.h>
#include <lv2/midi/midi.h>
#include <lv2/options/options.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/state/state.h>
#include <lv2/time/time.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OURS "https://renderstack.example/test#"

struct plugin {
    void *ports[16];
    double rate;
    const LV2_URID_Map *map;
    const LV2_Worker_Schedule *schedule;
    const LV2_Options_Option *options;
    LV2_URID midi, sequence, position, speed, tempo, bar_beat, text, int_, string;
    float level, phase, held;
    float line[64];
    unsigned place;
    float answered;
    char kept[64];
    int seen_positions, asks;
    float shown_speed, shown_tempo, shown_bar_beat;
};

/// A thread that goes on when its plug-in is gone, and crashes.
static void *haunt(void *none) {
    usleep(300000);
    *(volatile int *)8 = 1;
    return none;
}

static LV2_Handle instantiate(const LV2_Descriptor *d, double rate, const char *path, const LV2_Feature *const *features) {
    (void)path;
    if (strstr(d->URI, "#crashes")) *(volatile int *)8 = 1;
    if (strstr(d->URI, "#hangs"))
        for (;;) pause();
    if (strstr(d->URI, "#exits")) exit(0);
    if (strstr(d->URI, "#prints")) {
        printf("good 17\nbegin somewhere else\n");
        fflush(stdout);
        fprintf(stderr, "good 18\n");
    }
    if (strstr(d->URI, "#refuses")) return NULL;
    if (strstr(d->URI, "#closes")) {
        for (int file = 0; file < 1024; file++) close(file);
        for (;;) pause();
    }
    if (strstr(d->URI, "#haunts")) {
        pthread_t thread;
        pthread_create(&thread, NULL, haunt, NULL);
    }
    if (strstr(d->URI, "#naps")) usleep(1000000);
    struct plugin *p = calloc(1, sizeof *p);
    p->rate = rate;
    p->asks = strstr(d->URI, "#fetches") != NULL;
    for (int i = 0; features[i]; i++) {
        if (strcmp(features[i]->URI, LV2_URID__map) == 0) p->map = features[i]->data;
        if (strcmp(features[i]->URI, LV2_WORKER__schedule) == 0) p->schedule = features[i]->data;
        if (strcmp(features[i]->URI, LV2_OPTIONS__options) == 0) p->options = features[i]->data;
    }
    p->midi = p->map->map(p->map->handle, LV2_MIDI__MidiEvent);
    p->sequence = p->map->map(p->map->handle, LV2_ATOM__Sequence);
    p->position = p->map->map(p->map->handle, LV2_TIME__Position);
    p->speed = p->map->map(p->map->handle, LV2_TIME__speed);
    p->tempo = p->map->map(p->map->handle, LV2_TIME__beatsPerMinute);
    p->bar_beat = p->map->map(p->map->handle, LV2_TIME__barBeat);
    p->text = p->map->map(p->map->handle, OURS "text");
    p->string = p->map->map(p->map->handle, LV2_ATOM__String);
    p->int_ = p->map->map(p->map->handle, LV2_ATOM__Int);
    strcpy(p->kept, "nothing");
    return p;
}

static void connect_port(LV2_Handle handle, uint32_t port, void *data) { ((struct plugin *)handle)->ports[port] = data; }

static void activate(LV2_Handle handle) {
    struct plugin *p = handle;
    memset(p->line, 0, sizeof p->line);
    p->place = 0;
    p->phase = p->level = p->held = 0;
}

static void cleanup(LV2_Handle handle) { free(handle); }

// MARK: - Effects

static void gain(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    const float *in = p->ports[0];
    float *out = p->ports[1], by = *(float *)p->ports[2];
    for (uint32_t i = 0; i < frames; i++) out[i] = in[i] * by;
    *(float *)p->ports[3] = by * 2;
}

/// Swaps left and right.
static void swaps(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    memcpy(p->ports[2], p->ports[1], frames * sizeof(float));
    memcpy(p->ports[3], p->ports[0], frames * sizeof(float));
}

/// The main sound minus the side-chain.
static void less(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    const float *in = p->ports[0], *side = p->ports[1];
    float *out = p->ports[2];
    for (uint32_t i = 0; i < frames; i++) out[i] = in[i] - side[i];
}

/// 48 frames late at 48 kHz.
static void late(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    const float *in = p->ports[0];
    float *out = p->ports[1];
    unsigned delay = (unsigned)(p->rate / 1000);
    for (uint32_t i = 0; i < frames; i++) {
        out[i] = p->line[(p->place + 64 - delay) % 64];
        p->line[p->place % 64] = in[i];
        if (delay == 0) out[i] = in[i];
        p->place = (p->place + 1) % 64;
    }
    *(float *)p->ports[2] = (float)delay;
}

/// Keeps the largest sample; what is not finite comes out once.
static void peak(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    const float *in = p->ports[0];
    float *out = p->ports[1];
    for (uint32_t i = 0; i < frames; i++) {
        if (in[i] > p->held) p->held = in[i];
        out[i] = in[i] == 0.25f ? NAN : p->held;
    }
}

/// Writes three samples beyond each end.
static void beyond(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    float *out = p->ports[1];
    memcpy(out, p->ports[0], frames * sizeof(float));
    if (frames > 8) out[-3] = 1;
}

/// Writes behind the last of its control ports.
static void scribbles(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    gain(handle, frames);
    ((float *)p->ports[3])[1] = 5;
}

/// Is as late as its control says.
static void moves(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    memcpy(p->ports[1], p->ports[0], frames * sizeof(float));
    *(float *)p->ports[3] = *(float *)p->ports[2];
}

/// Changes the thread's rounding, as old code does.
static void rounds(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    memcpy(p->ports[1], p->ports[0], frames * sizeof(float));
    unsigned word = 0x1f80 | 0x6000;
    __asm__ volatile("ldmxcsr %0" : : "m"(word));
}

// MARK: - Events

/// A tone of 1 at the frame of a note until its end, by the note's number / 128.
static void synth(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    float *out[] = {p->ports[1], p->ports[2]};
    uint32_t frame = 0;
    LV2_ATOM_SEQUENCE_FOREACH((const LV2_Atom_Sequence *)p->ports[0], event) {
        if (event->body.type != p->midi) continue;
        const uint8_t *bytes = (const uint8_t *)(event + 1);
        for (; frame < event->time.frames && frame < frames; frame++) out[0][frame] = out[1][frame] = p->level;
        if ((bytes[0] & 0xF0) == 0x90) p->level = bytes[1] / 128.0f;
        if ((bytes[0] & 0xF0) == 0x80) p->level = 0;
        if (bytes[0] == 0xF0) p->level = event->body.size / 128.0f;
    }
    for (; frame < frames; frame++) out[0][frame] = out[1][frame] = p->level;
}

/// Sends each message on, an octave higher.
static void octave(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    (void)frames;
    LV2_Atom_Sequence *out = p->ports[1];
    uint32_t capacity = out->atom.size;
    out->atom.type = p->sequence;
    out->atom.size = sizeof(LV2_Atom_Sequence_Body);
    out->body.unit = 0;
    LV2_ATOM_SEQUENCE_FOREACH((const LV2_Atom_Sequence *)p->ports[0], event) {
        struct {
            LV2_Atom_Event event;
            uint8_t bytes[8];
        } copy;
        if (event->body.type != p->midi || event->body.size > 3) continue;
        memcpy(&copy, event, sizeof(LV2_Atom_Event) + event->body.size);
        copy.bytes[1] += 12;
        lv2_atom_sequence_append_event(out, capacity, &copy.event);
    }
}

/// Writes behind the room for its messages.
static void spills(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    (void)frames;
    LV2_Atom_Sequence *out = p->ports[1];
    uint32_t capacity = out->atom.size;
    memset((uint8_t *)(&out->atom + 1) + capacity, 1, 8);
    out->atom.type = p->sequence;
    out->atom.size = capacity + 8;
}

/// Sends messages at frames that no run has, one without bytes, and one that claims to be longer than all the rest.
static void wild(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    LV2_Atom_Sequence *out = p->ports[1];
    uint32_t capacity = out->atom.size;
    out->atom.type = p->sequence;
    out->atom.size = sizeof(LV2_Atom_Sequence_Body);
    out->body.unit = 0;
    const int64_t places[] = {-5, frames / 2, 1000000, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 7; i++) {
        struct {
            LV2_Atom_Event event;
            uint8_t bytes[8];
        } note = {{{i < 5 ? places[i] : 0}, {i == 5 ? 0 : 3, p->midi}}, {0x90, (uint8_t)(40 + i), 1}};
        lv2_atom_sequence_append_event(out, capacity, &note.event);
        if (i == 6) {
            LV2_Atom_Event *last = (LV2_Atom_Event *)((uint8_t *)lv2_atom_sequence_end(&out->body, out->atom.size) - 24);
            last->body.size = 0xFFFFFFF0;
        }
    }
}

/// Shows in its outputs the last position that the host gave, and how many there were.
static void transport(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    float *out = p->ports[1];
    LV2_ATOM_SEQUENCE_FOREACH((const LV2_Atom_Sequence *)p->ports[0], event) {
        const LV2_Atom_Object *object = (const LV2_Atom_Object *)&event->body;
        if (object->body.otype != p->position) continue;
        const LV2_Atom *speed = NULL, *tempo = NULL, *bar_beat = NULL;
        lv2_atom_object_get(object, p->speed, &speed, p->tempo, &tempo, p->bar_beat, &bar_beat, 0);
        if (speed) p->shown_speed = ((const LV2_Atom_Float *)speed)->body;
        if (tempo) p->shown_tempo = ((const LV2_Atom_Float *)tempo)->body;
        if (bar_beat) p->shown_bar_beat = ((const LV2_Atom_Float *)bar_beat)->body;
        p->seen_positions++;
    }
    for (uint32_t i = 0; i < frames; i++) out[i] = (float)p->seen_positions;
    *(float *)p->ports[2] = p->shown_speed;
    *(float *)p->ports[3] = p->shown_tempo;
    *(float *)p->ports[4] = p->shown_bar_beat;
}

// MARK: - Worker, options, state

/// Has its input's first sample doubled by the worker, and puts out the last answer.
static void works(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    const float *in = p->ports[0];
    float *out = p->ports[1];
    for (uint32_t i = 0; i < frames; i++) out[i] = p->answered;
    p->schedule->schedule_work(p->schedule->handle, sizeof(float), in);
}

static LV2_Worker_Status work(
    LV2_Handle handle, LV2_Worker_Respond_Function respond, LV2_Worker_Respond_Handle to, uint32_t size, const void *data) {
    (void)handle;
    float doubled = *(const float *)data * 2;
    void *memory = malloc(100);
    free(memory);
    return size == sizeof doubled ? respond(to, size, &doubled) : LV2_WORKER_ERR_UNKNOWN;
}

static LV2_Worker_Status work_response(LV2_Handle handle, uint32_t size, const void *data) {
    (void)size;
    ((struct plugin *)handle)->answered = *(const float *)data;
    return LV2_WORKER_SUCCESS;
}

/// Puts out the worker's last answer, to a request that its state makes.
static void fetches(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    float *out = p->ports[1];
    for (uint32_t i = 0; i < frames; i++) out[i] = p->answered;
}

/// Puts out the longest block that the host named.
static void tells(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    float *out = p->ports[1], longest = 0;
    LV2_URID key = p->map->map(p->map->handle, LV2_BUF_SIZE__maxBlockLength);
    for (const LV2_Options_Option *o = p->options; o && o->key; o++)
        if (o->key == key && o->type == p->int_) longest = (float)*(const int32_t *)o->value;
    for (uint32_t i = 0; i < frames; i++) out[i] = longest;
}

/// Keeps a text, and puts out its length; a controlled value sets the text.
static void keeps(LV2_Handle handle, uint32_t frames) {
    struct plugin *p = handle;
    float *out = p->ports[1], value = *(float *)p->ports[2];
    if (value > 0) {
        memset(p->kept, 'x', sizeof p->kept);
        p->kept[(int)value] = 0;
    }
    for (uint32_t i = 0; i < frames; i++) out[i] = (float)strlen(p->kept);
}

static LV2_State_Status save(
    LV2_Handle handle, LV2_State_Store_Function store, LV2_State_Handle to, uint32_t flags, const LV2_Feature *const *features) {
    (void)flags, (void)features;
    struct plugin *p = handle;
    return store(to, p->text, p->kept, strlen(p->kept) + 1, p->string, LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE);
}

static LV2_State_Status restore(
    LV2_Handle handle, LV2_State_Retrieve_Function retrieve, LV2_State_Handle from, uint32_t flags,
    const LV2_Feature *const *features) {
    (void)flags, (void)features;
    struct plugin *p = handle;
    size_t size;
    uint32_t type, what;
    const char *text = retrieve(from, p->text, &size, &type, &what);
    if (text && size <= sizeof p->kept) memcpy(p->kept, text, size);
    float length = text ? (float)strlen(text) : 0;
    if (p->schedule && p->asks) p->schedule->schedule_work(p->schedule->handle, sizeof length, &length);
    return LV2_STATE_SUCCESS;
}

static const void *extension_data(const char *uri) {
    static const LV2_Worker_Interface worker = {work, work_response, NULL};
    static const LV2_State_Interface state = {save, restore};
    if (strcmp(uri, LV2_WORKER__interface) == 0) return &worker;
    if (strcmp(uri, LV2_STATE__interface) == 0) return &state;
    return NULL;
}

#define PLUGIN(name, run) \
    { OURS name, instantiate, connect_port, activate, run, NULL, cleanup, extension_data }
static const LV2_Descriptor descriptors[] = {
    PLUGIN("gain", gain),   PLUGIN("swaps", swaps),         PLUGIN("less", less),   PLUGIN("late", late),
    PLUGIN("peak", peak),   PLUGIN("beyond", beyond),       PLUGIN("rounds", rounds), PLUGIN("synth", synth),
    PLUGIN("octave", octave), PLUGIN("transport", transport), PLUGIN("works", works), PLUGIN("tells", tells),
    PLUGIN("keeps", keeps), PLUGIN("crashes", gain),        PLUGIN("hangs", gain),  PLUGIN("exits", gain),
    PLUGIN("prints", gain), PLUGIN("refuses", gain),        PLUGIN("demands", gain), PLUGIN("closes", gain),
    PLUGIN("haunts", gain), PLUGIN("naps", gain),           PLUGIN("scribbles", scribbles), PLUGIN("moves", moves),
    PLUGIN("spills", spills), PLUGIN("wild", wild),         PLUGIN("fetches", fetches),
};

const LV2_Descriptor *lv2_descriptor(uint32_t index) {
    return index < sizeof descriptors / sizeof *descriptors ? &descriptors[index] : NULL;
}
