// URIs as numbers. A plug-in may ask from any thread but the audio thread, so a lock is in place.

#include "internal.h"

#include <ctype.h>

#ifdef CLV2_HAS_LILV

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **names;
static uint32_t count, capacity;

// A table of numbers by the hash of the name: open addressing, at most half full.
static uint32_t *table;
static uint32_t table_size;

static uint32_t hash_of(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

static uint32_t *slot_of(const char *uri) {
    uint32_t place = hash_of(uri) & (table_size - 1);
    while (table[place] && strcmp(names[table[place] - 1], uri) != 0) place = (place + 1) & (table_size - 1);
    return &table[place];
}

static bool grow(void) {
    uint32_t size = table_size ? table_size * 2 : 1024;
    uint32_t *larger = calloc(size, sizeof *larger);
    char **more = realloc(names, size / 2 * sizeof *more);
    if (more) names = more;
    if (!larger || !more) {
        free(larger);
        return false;
    }
    free(table);
    table = larger;
    table_size = size;
    capacity = size / 2;
    for (uint32_t i = 0; i < count; i++) *slot_of(names[i]) = i + 1;
    return true;
}

LV2_URID clv2_urid(const char *uri) {
    if (!uri) return 0;
    pthread_mutex_lock(&lock);
    LV2_URID number = 0;
    if (count < capacity || grow()) {
        uint32_t *slot = slot_of(uri);
        if (!*slot) {
            char *copy = clv2_copy(uri);
            if (copy) {
                names[count] = copy;
                *slot = ++count;
            }
        }
        number = *slot;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

const char *clv2_uri_of(LV2_URID number) {
    pthread_mutex_lock(&lock);
    const char *name = number > 0 && number <= count ? names[number - 1] : NULL;
    pthread_mutex_unlock(&lock);
    return name;
}

static LV2_URID map_uri(LV2_URID_Map_Handle handle, const char *uri) {
    (void)handle;
    return clv2_urid(uri);
}

static const char *unmap_uri(LV2_URID_Unmap_Handle handle, LV2_URID number) {
    (void)handle;
    return clv2_uri_of(number);
}

LV2_URID_Map clv2_map = {NULL, map_uri};
LV2_URID_Unmap clv2_unmap = {NULL, unmap_uri};
struct clv2_urids clv2_ids;

void clv2_names_prepare(void) {
    if (clv2_ids.sequence) return;
    clv2_ids = (struct clv2_urids){
        .sequence = clv2_urid(LV2_ATOM__Sequence),
        .chunk = clv2_urid(LV2_ATOM__Chunk),
        .object = clv2_urid(LV2_ATOM__Object),
        .midi = clv2_urid(LV2_MIDI__MidiEvent),
        .float_ = clv2_urid(LV2_ATOM__Float),
        .double_ = clv2_urid(LV2_ATOM__Double),
        .int_ = clv2_urid(LV2_ATOM__Int),
        .long_ = clv2_urid(LV2_ATOM__Long),
        .bool_ = clv2_urid(LV2_ATOM__Bool),
        .string = clv2_urid(LV2_ATOM__String),
        .path = clv2_urid(LV2_ATOM__Path),
        .position = clv2_urid(LV2_TIME__Position),
        .speed = clv2_urid(LV2_TIME__speed),
        .frame = clv2_urid(LV2_TIME__frame),
        .bar = clv2_urid(LV2_TIME__bar),
        .bar_beat = clv2_urid(LV2_TIME__barBeat),
        .beat_unit = clv2_urid(LV2_TIME__beatUnit),
        .beats_per_bar = clv2_urid(LV2_TIME__beatsPerBar),
        .beats_per_minute = clv2_urid(LV2_TIME__beatsPerMinute),
        .minimum_block = clv2_urid(LV2_BUF_SIZE__minBlockLength),
        .maximum_block = clv2_urid(LV2_BUF_SIZE__maxBlockLength),
        .nominal_block = clv2_urid(LV2_BUF_SIZE__nominalBlockLength),
        .sequence_size = clv2_urid(LV2_BUF_SIZE__sequenceSize),
        .sample_rate = clv2_urid(LV2_PARAMETERS__sampleRate),
    };
}

// A word that is no URI must not reach lilv as one: it would print a complaint on standard error.
bool clv2_is_uri(const char *word) {
    if (!isalpha((unsigned char)*word)) return false;
    const char *c = word;
    while (isalnum((unsigned char)*c) || *c == '+' || *c == '-' || *c == '.') c++;
    if (*c != ':') return false;
    for (; *c; c++)
        if ((unsigned char)*c <= ' ' || strchr("<>\"{}|^`\\", *c)) return false;
    return true;
}

#endif
