// Plays LADSPA and LV2 plug-ins of the field for W6, in cycles of 64 frames at 48 kHz, stereo.
//
//     plugins ladspa FILE LABEL convert IN OUT [PORT=VALUE …]    raw floats, two channels interleaved
//     plugins lv2 URI - time IN SECONDS [SYMBOL=VALUE …]         nanoseconds of processor time a stereo frame
//
// A plug-in of one channel is there twice. What is not set has its default. It copies the sound in, and adds it to an output,
// as our renderer does. Built with -DHAVE_LV2 and lilv, and with -DHAVE_LADSPA, where they are there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>
#ifdef HAVE_LADSPA
#include <ladspa.h>
#endif
#ifdef HAVE_LV2
#include <lilv/lilv.h>
#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/options/options.h>
#include <lv2/parameters/parameters.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#endif

enum { cycle = 64, rate = 48000, most_ports = 256, atom_room = 65536 };

static float in[2][cycle], out[2][cycle], sum[2][cycle];
static char **settings;
static int setting_count;
// The instances: one of two channels, or two of one.
static int instance_count;

static void stop(const char *sentence, const char *what) {
    fprintf(stderr, "%s: %s\n", sentence, what);
    exit(1);
}

// Returns the value that the command line sets a port to, or another one.
static float value_of(const char *name, float other) {
    size_t length = strlen(name);
    for (int i = 0; i < setting_count; i++)
        if (!strncmp(settings[i], name, length) && settings[i][length] == '=') {
            float value = strtof(settings[i] + length + 1, NULL);
            settings[i] = "";
            return value;
        }
    return other;
}

static void all_used(void) {
    for (int i = 0; i < setting_count; i++)
        if (*settings[i]) stop("There is no such port", settings[i]);
}

// Returns the number of instances that a stereo sound needs of a plug-in with these inputs and outputs.
static int instances_for(int inputs, int outputs) {
    if (inputs == 1 && outputs == 1) return 2;
    if (inputs == 2 && outputs == 2) return 1;
    stop("The plug-in has neither one channel nor two", "");
    return 0;
}

#ifdef HAVE_LADSPA
static const LADSPA_Descriptor *ladspa;
static LADSPA_Handle handles[2];

static float ladspa_default(const LADSPA_PortRangeHint *hint) {
    float low = hint->LowerBound, high = hint->UpperBound;
    if (LADSPA_IS_HINT_SAMPLE_RATE(hint->HintDescriptor)) low *= rate, high *= rate;
    switch (hint->HintDescriptor & LADSPA_HINT_DEFAULT_MASK) {
    case LADSPA_HINT_DEFAULT_MINIMUM: return low;
    case LADSPA_HINT_DEFAULT_LOW: return 0.75f * low + 0.25f * high;
    case LADSPA_HINT_DEFAULT_MIDDLE: return 0.5f * low + 0.5f * high;
    case LADSPA_HINT_DEFAULT_HIGH: return 0.25f * low + 0.75f * high;
    case LADSPA_HINT_DEFAULT_MAXIMUM: return high;
    case LADSPA_HINT_DEFAULT_1: return 1;
    case LADSPA_HINT_DEFAULT_100: return 100;
    case LADSPA_HINT_DEFAULT_440: return 440;
    default: return 0;
    }
}

static void open_ladspa(const char *file, const char *label) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) stop("It does not open", dlerror());
    LADSPA_Descriptor_Function find = (LADSPA_Descriptor_Function)dlsym(library, "ladspa_descriptor");
    for (unsigned long i = 0; find && (ladspa = find(i)); i++)
        if (!strcmp(ladspa->Label, label)) break;
    if (!ladspa) stop("There is no such plug-in", label);
    static float controls[most_ports];
    int inputs = 0, outputs = 0;
    if (ladspa->PortCount > most_ports) stop("It has too many ports", label);
    for (unsigned long port = 0; port < ladspa->PortCount; port++) {
        LADSPA_PortDescriptor kind = ladspa->PortDescriptors[port];
        if (LADSPA_IS_PORT_AUDIO(kind)) LADSPA_IS_PORT_INPUT(kind) ? inputs++ : outputs++;
        else if (LADSPA_IS_PORT_INPUT(kind))
            controls[port] = value_of(ladspa->PortNames[port], ladspa_default(&ladspa->PortRangeHints[port]));
    }
    instance_count = instances_for(inputs, outputs);
    for (int i = 0; i < instance_count; i++) {
        handles[i] = ladspa->instantiate(ladspa, rate);
        if (!handles[i]) stop("It cannot be made", label);
        int from = i, to = i;
        for (unsigned long port = 0; port < ladspa->PortCount; port++) {
            LADSPA_PortDescriptor kind = ladspa->PortDescriptors[port];
            float *place = &controls[port];
            if (LADSPA_IS_PORT_AUDIO(kind)) place = LADSPA_IS_PORT_INPUT(kind) ? in[from++] : out[to++];
            ladspa->connect_port(handles[i], port, place);
        }
        if (ladspa->activate) ladspa->activate(handles[i]);
    }
}

static void run_ladspa(void) {
    for (int i = 0; i < instance_count; i++) ladspa->run(handles[i], cycle);
}
#endif

#ifdef HAVE_LV2
static LilvInstance *instances[2];
static char *uris[4096];
static uint32_t uri_count;
// Plug-ins read and write atoms here: a header and room.
typedef struct { LV2_Atom_Sequence sequence; char room[atom_room]; } events;
static events *atom_inputs[2 * most_ports], *atom_outputs[2 * most_ports];
static int atom_input_count, atom_output_count;

static LV2_URID map_uri(LV2_URID_Map_Handle handle, const char *uri) {
    (void)handle;
    for (uint32_t i = 0; i < uri_count; i++)
        if (!strcmp(uris[i], uri)) return i + 1;
    if (uri_count == 4096) return 0;
    uris[uri_count] = strdup(uri);
    return ++uri_count;
}

static void clear_atoms(void) {
    for (int i = 0; i < atom_input_count; i++) {
        atom_inputs[i]->sequence.atom.size = sizeof(LV2_Atom_Sequence_Body);
        atom_inputs[i]->sequence.atom.type = map_uri(NULL, LV2_ATOM__Sequence);
        memset(&atom_inputs[i]->sequence.body, 0, sizeof(LV2_Atom_Sequence_Body));
    }
    for (int i = 0; i < atom_output_count; i++) {
        atom_outputs[i]->sequence.atom.size = atom_room;
        atom_outputs[i]->sequence.atom.type = map_uri(NULL, LV2_ATOM__Chunk);
    }
}

// The worker does at once what a plug-in schedules.
static LV2_Worker_Status respond(LV2_Worker_Respond_Handle handle, uint32_t size, const void *data) {
    LilvInstance *instance = *(LilvInstance **)handle;
    const LV2_Worker_Interface *worker = lilv_instance_get_extension_data(instance, LV2_WORKER__interface);
    return worker->work_response ? worker->work_response(lilv_instance_get_handle(instance), size, data) : LV2_WORKER_SUCCESS;
}

static LV2_Worker_Status schedule(LV2_Worker_Schedule_Handle handle, uint32_t size, const void *data) {
    LilvInstance *instance = *(LilvInstance **)handle;
    const LV2_Worker_Interface *worker =
        instance ? lilv_instance_get_extension_data(instance, LV2_WORKER__interface) : NULL;
    if (!worker) return LV2_WORKER_ERR_UNKNOWN;
    return worker->work(lilv_instance_get_handle(instance), respond, handle, size, data);
}

static void open_lv2(const char *uri) {
    LilvWorld *world = lilv_world_new();
    lilv_world_load_all(world);
    LilvNode *name = lilv_new_uri(world, uri);
    const LilvPlugin *plugin = lilv_plugins_get_by_uri(lilv_world_get_all_plugins(world), name);
    if (!plugin) stop("There is no such plug-in", uri);
    static LV2_URID_Map map = {NULL, map_uri};
    static const int32_t length = cycle;
    static const float samples = rate;
    static LV2_Options_Option options[5];
    LV2_URID integer = map_uri(NULL, LV2_ATOM__Int), number = map_uri(NULL, LV2_ATOM__Float);
    const char *lengths[3] = {LV2_BUF_SIZE__minBlockLength, LV2_BUF_SIZE__maxBlockLength, LV2_BUF_SIZE__nominalBlockLength};
    for (int i = 0; i < 3; i++)
        options[i] = (LV2_Options_Option){LV2_OPTIONS_INSTANCE, 0, map_uri(NULL, lengths[i]), 4, integer, &length};
    options[3] =
        (LV2_Options_Option){LV2_OPTIONS_INSTANCE, 0, map_uri(NULL, LV2_PARAMETERS__sampleRate), 4, number, &samples};
    LV2_Feature mapping = {LV2_URID__map, &map}, chosen = {LV2_OPTIONS__options, options};
    LV2_Feature bounded = {LV2_BUF_SIZE__boundedBlockLength, NULL};
    static LV2_Worker_Schedule schedules[2] = {{&instances[0], schedule}, {&instances[1], schedule}};

    uint32_t ports = lilv_plugin_get_num_ports(plugin);
    if (ports > most_ports) stop("It has too many ports", uri);
    static float controls[most_ports];
    lilv_plugin_get_port_ranges_float(plugin, NULL, NULL, controls);
    LilvNode *audio = lilv_new_uri(world, LILV_URI_AUDIO_PORT), *input = lilv_new_uri(world, LILV_URI_INPUT_PORT);
    LilvNode *atom = lilv_new_uri(world, LILV_URI_ATOM_PORT);
    int inputs = 0, outputs = 0;
    for (uint32_t i = 0; i < ports; i++) {
        const LilvPort *port = lilv_plugin_get_port_by_index(plugin, i);
        bool is_input = lilv_port_is_a(plugin, port, input);
        if (lilv_port_is_a(plugin, port, audio)) is_input ? inputs++ : outputs++;
        else if (is_input) {
            float usual = isnan(controls[i]) ? 0 : controls[i];
            controls[i] = value_of(lilv_node_as_string(lilv_port_get_symbol(plugin, port)), usual);
        }
    }
    instance_count = instances_for(inputs, outputs);
    for (int number = 0; number < instance_count; number++) {
        LV2_Feature working = {LV2_WORKER__schedule, &schedules[number]};
        const LV2_Feature *features[] = {&mapping, &chosen, &bounded, &working, NULL};
        LilvInstance *instance = lilv_plugin_instantiate(plugin, rate, features);
        if (!instance) stop("It cannot be made", uri);
        int from = number, to = number;
        for (uint32_t i = 0; i < ports; i++) {
            const LilvPort *port = lilv_plugin_get_port_by_index(plugin, i);
            bool is_input = lilv_port_is_a(plugin, port, input);
            void *place = &controls[i];
            if (lilv_port_is_a(plugin, port, audio)) place = is_input ? in[from++] : out[to++];
            if (lilv_port_is_a(plugin, port, atom)) {
                place = calloc(1, sizeof(events));
                if (is_input) atom_inputs[atom_input_count++] = place;
                else atom_outputs[atom_output_count++] = place;
            }
            lilv_instance_connect_port(instance, i, place);
        }
        instances[number] = instance;
        clear_atoms();
        lilv_instance_activate(instance);
    }
}

static void run_lv2(void) {
    clear_atoms();
    for (int i = 0; i < instance_count; i++) lilv_instance_run(instances[i], cycle);
}
#endif

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int count, char **words) {
    if (count < 7) return 2;
    settings = words + 7;
    setting_count = count - 7;
    void (*run)(void) = NULL;
#ifdef HAVE_LADSPA
    if (!strcmp(words[1], "ladspa")) open_ladspa(words[2], words[3]), run = run_ladspa;
#endif
#ifdef HAVE_LV2
    if (!strcmp(words[1], "lv2")) open_lv2(words[2]), run = run_lv2;
#endif
    if (!run) return 3;
    all_used();
    // Flushes denormals, as hosts do, and we.
    _mm_setcsr(_mm_getcsr() | 0x8040);

    FILE *file = fopen(words[5], "rb");
    if (!file) stop("It cannot be read", words[5]);
    fseek(file, 0, SEEK_END);
    long frames = ftell(file) / 8 / cycle * cycle;
    rewind(file);
    float *both = malloc(8 * frames), *sound[2] = {malloc(4 * frames), malloc(4 * frames)};
    if (!frames || (long)fread(both, 8, frames, file) != frames) stop("It is too short", words[5]);
    fclose(file);
    for (long i = 0; i < frames; i++)
        for (int channel = 0; channel < 2; channel++) sound[channel][i] = both[2 * i + channel];

    int is_timed = !strcmp(words[4], "time");
    // A second first: for the caches, and for what settles.
    long warm = is_timed ? rate / cycle * cycle : 0;
    long last = is_timed ? warm + (long)(atof(words[6]) * rate) / cycle * cycle : frames;
    double start = now();
    for (long done = 0; done < last; done += cycle) {
        if (done == warm) start = now();
        for (int channel = 0; channel < 2; channel++) memcpy(in[channel], sound[channel] + done % frames, sizeof in[0]);
        run();
        for (int channel = 0; channel < 2; channel++)
            for (int i = 0; i < cycle; i++) sum[channel][i] = 0;
        for (int channel = 0; channel < 2; channel++)
            for (int i = 0; i < cycle; i++) sum[channel][i] += out[channel][i];
        if (!is_timed)
            for (int i = 0; i < cycle; i++)
                for (int channel = 0; channel < 2; channel++) both[2 * (done + i) + channel] = sum[channel][i];
    }
    if (is_timed) {
        printf("%.3f\n", (now() - start) / (last - warm));
        return 0;
    }
    file = fopen(words[6], "wb");
    if (!file || (long)fwrite(both, 8, frames, file) != frames || fclose(file)) stop("It cannot be written", words[6]);
    // Not through the ends of plug-ins, some of which wait for threads of theirs.
    _exit(0);
}
