#include "CPluginGuest.h"
#include <string.h>

typedef struct {
    uint32_t size, type;
} atom;

typedef struct {
    atom head;
    uint32_t unit, pad;
} sequence_head;

typedef struct {
    int64_t frame;
    atom body;
} event_head;

typedef struct {
    void *handle;
    uint32_t (*map)(void *handle, const char *uri);
} mapper;

typedef struct {
    int context;
    uint32_t subject, key, size, type;
    const void *value;
} option;

static void *data_of(const struct guest_feature *const *features, const char *uri) {
    for (; features && *features; features++)
        if (strcmp((*features)->uri, uri) == 0) return (*features)->data;
    return NULL;
}

uint32_t guest_map(const struct guest_feature *const *features, const char *uri) {
    const mapper *found = data_of(features, "http://lv2plug.in/ns/ext/urid#map");
    return found ? found->map(found->handle, uri) : 0;
}

int guest_longest_block(const struct guest_feature *const *features) {
    const option *options = data_of(features, "http://lv2plug.in/ns/ext/options#options");
    uint32_t key = guest_map(features, "http://lv2plug.in/ns/ext/buf-size#maxBlockLength");
    uint32_t type = guest_map(features, "http://lv2plug.in/ns/ext/atom#Int");
    for (; options && key && options->key; options++)
        if (options->key == key && options->type == type && options->value) return *(const int32_t *)options->value;
    return 0;
}

int guest_store_text(void *store, void *handle, uint32_t key, uint32_t type, const char *text) {
    enum { SUCCESS = 0, UNKNOWN = 1, IS_POD_AND_PORTABLE = 3 };
    int (*function)(void *, uint32_t, const void *, size_t, uint32_t, uint32_t);
    if (!store || !key || !type) return UNKNOWN;
    memcpy(&function, &store, sizeof function);
    return function(handle, key, text, strlen(text) + 1, type, IS_POD_AND_PORTABLE) ? UNKNOWN : SUCCESS;
}

const char *guest_retrieve_text(void *retrieve, void *handle, uint32_t key, uint32_t type, size_t *length) {
    const void *(*function)(void *, uint32_t, size_t *, uint32_t *, uint32_t *);
    size_t size = 0;
    uint32_t found = 0, flags = 0;
    if (!retrieve || !key) return NULL;
    memcpy(&function, &retrieve, sizeof function);
    const char *text = function(handle, key, &size, &found, &flags);
    if (!text || found != type) return NULL;
    *length = strnlen(text, size);
    return text;
}

static uint32_t padded(uint32_t size) { return (size + 7u) & ~7u; }

bool guest_next_event(
    const void *sequence, uint32_t type, uint32_t *cursor, int64_t *frame, const uint8_t **bytes, uint32_t *count) {
    const sequence_head *head = sequence;
    const uint8_t *base = (const uint8_t *)(&head->head + 1);
    if (*cursor == 0) *cursor = 8;
    while (*cursor + sizeof(event_head) <= head->head.size) {
        const event_head *event = (const event_head *)(base + *cursor);
        if (event->body.size > head->head.size - *cursor - sizeof(event_head)) return false;
        *cursor += padded((uint32_t)sizeof(event_head) + event->body.size);
        if (event->body.type != type) continue;
        *frame = event->frame;
        *bytes = (const uint8_t *)(event + 1);
        *count = event->body.size;
        return true;
    }
    return false;
}

static bool number(const struct guest_words *words, uint32_t type, uint32_t size, const uint8_t *value, double *result) {
    if (type == words->type_float && size == 4) {
        float x;
        memcpy(&x, value, 4);
        *result = x;
    } else if (type == words->type_double && size == 8) {
        memcpy(result, value, 8);
    } else if (type == words->type_int && size == 4) {
        int32_t x;
        memcpy(&x, value, 4);
        *result = x;
    } else if (type == words->type_long && size == 8) {
        int64_t x;
        memcpy(&x, value, 8);
        *result = (double)x;
    } else {
        return false;
    }
    return true;
}

bool guest_find_position(const void *sequence, const struct guest_words *words, struct guest_position *position) {
    uint32_t cursor = 0, count;
    int64_t frame;
    const uint8_t *bytes;
    bool is_found = false;
    while (guest_next_event(sequence, words->object, &cursor, &frame, &bytes, &count)) {
        uint32_t type;
        if (count < 8) continue;
        memcpy(&type, bytes + 4, 4);
        if (type != words->position) continue;
        is_found = true;
        for (uint32_t place = 8; place + 16 <= count;) {
            uint32_t property[4];
            memcpy(property, bytes + place, 16);
            if (property[2] > count - place - 16) break;
            double value;
            uint32_t key = property[0];
            // A number that is none, or larger than any place in time, is not taken.
            if (number(words, property[3], property[2], bytes + place + 16, &value) && value >= -0x1p48 &&
                value <= 0x1p48) {
                if (key == words->speed) position->speed = value;
                if (key == words->frame) position->frame = (int64_t)value, position->has_frame = true;
                if (key == words->bar) position->bar = (int64_t)value, position->has_bar = true;
                if (key == words->bar_beat) position->bar_beat = value;
                if (key == words->beat_unit) position->beat_unit = value >= 1 && value <= 1024 ? (int)value : 0;
                if (key == words->beats_per_bar) position->beats_per_bar = value;
                if (key == words->beats_per_minute) position->beats_per_minute = value, position->has_tempo = true;
            }
            place += padded(16 + property[2]);
        }
    }
    return is_found;
}

uint32_t guest_begin_events(void *sequence, uint32_t type) {
    sequence_head *head = sequence;
    uint32_t capacity = head->head.size;
    head->head.size = 8;
    head->head.type = type;
    head->unit = head->pad = 0;
    return capacity;
}

bool guest_add_event(
    void *sequence, uint32_t capacity, uint32_t type, int64_t frame, const uint8_t *bytes, uint32_t count) {
    sequence_head *head = sequence;
    uint32_t size = padded((uint32_t)sizeof(event_head) + count);
    if (size > capacity || head->head.size > capacity - size) return false;
    event_head *event = (event_head *)((uint8_t *)(&head->head + 1) + head->head.size);
    event->frame = frame;
    event->body.size = count;
    event->body.type = type;
    memcpy(event + 1, bytes, count);
    head->head.size += size;
    return true;
}
