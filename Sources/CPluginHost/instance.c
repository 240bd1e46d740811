// One plug-in that is loaded, its memory, and its life.

#include "internal.h"
#include <dlfcn.h>
#include <time.h>

#ifdef CLV2_HAS_LILV

#define RING_SIZE (1u << 17)

static bool make_sequence(struct clv2_instance *instance, int port) {
    size_t size = 32768, wanted = instance->description->ports[port].minimum_size;
    if (wanted > size) size = wanted < (1u << 26) ? wanted : 1u << 26;
    size = (size + 63) & ~(size_t)63;
    instance->sequences[port] = (uint8_t *)cplugin_memory_add(instance->memory, CPLUGIN_OTHER, (int)(size / sizeof(float)));
    if (!instance->sequences[port]) return false;
    instance->capacities[port] = (uint32_t)(size - sizeof(LV2_Atom));
    // A plug-in may look at its events before the first run.
    LV2_Atom_Sequence *sequence = (LV2_Atom_Sequence *)instance->sequences[port];
    sequence->atom.type = clv2_ids.sequence;
    sequence->atom.size = sizeof(LV2_Atom_Sequence_Body);
    return true;
}

/// Gives each port its memory; `false`, with a sentence: one is of a kind that this host does not know.
static bool connect_ports(struct clv2_instance *instance, char *error) {
    const struct clv2_plugin *plugin = instance->description;
    instance->midi_in = instance->midi_out = instance->position_in = instance->latency_port = instance->freewheel_port = -1;
    for (int i = 0; i < plugin->port_count; i++) {
        const struct clv2_port *port = &plugin->ports[i];
        void *memory = NULL;
        switch (port->kind) {
        case CLV2_AUDIO:
        case CLV2_CV: {
            enum cplugin_use use = port->kind == CLV2_CV  ? CPLUGIN_OTHER
                                   : !port->is_input      ? CPLUGIN_OUTPUT
                                   : port->is_side_chain ? CPLUGIN_SIDE
                                                         : CPLUGIN_INPUT;
            float *samples = cplugin_memory_add(instance->memory, use, instance->frames);
            memory = samples;
            if (!port->is_input) instance->outputs[i] = samples;
            if (port->kind == CLV2_CV && port->is_input && samples && isfinite(port->initial))
                for (int frame = 0; frame < instance->frames; frame++) samples[frame] = port->initial;
            break;
        }
        case CLV2_CONTROL:
            memory = &instance->controls[i];
            instance->controls[i] = isfinite(port->initial) ? port->initial : 0;
            if (port->is_latency && !port->is_input) instance->latency_port = i;
            if (port->is_freewheel && port->is_input) instance->freewheel_port = i;
            break;
        case CLV2_EVENTS:
            memory = make_sequence(instance, i) ? instance->sequences[i] : NULL;
            if (port->is_input && port->takes_midi && instance->midi_in < 0) instance->midi_in = i;
            if (!port->is_input && port->takes_midi && instance->midi_out < 0) instance->midi_out = i;
            if (port->is_input && port->takes_position && instance->position_in < 0) instance->position_in = i;
            break;
        case CLV2_OTHER:
            if (!port->is_optional) {
                clv2_say(error, "%.200s has a port of a kind that is not known here (\"%.100s\")", plugin->name, port->symbol);
                return false;
            }
        }
        if (!memory && port->kind != CLV2_OTHER) {
            clv2_say(error, "There is no memory for the ports of %.200s", plugin->name);
            return false;
        }
        instance->descriptor->connect_port(instance->handle, (uint32_t)i, memory);
    }
    return true;
}

/// Says why a library cannot be loaded, or that it does not make an instance.
static void say_why(const struct clv2_plugin *plugin, double rate, char *error) {
    void *library = *plugin->library ? dlopen(plugin->library, RTLD_NOW) : NULL;
    const char *reason = library ? "its library does not make it" : *plugin->library ? dlerror() : "it names no library";
    clv2_say(error, "%.200s cannot be loaded at %g Hz: %.200s", plugin->name, rate, reason ? reason : "its library is damaged");
    if (library) dlclose(library);
}

struct clv2_instance *clv2_instance_new(
    const char *uri, double rate, int frames, int latency, struct cplugin_memory *memory, char *error) {
    struct clv2_plugin *description = clv2_describe(uri, error);
    if (!description) return NULL;
    struct clv2_instance *instance = calloc(1, sizeof *instance);
    size_t ports = (size_t)description->port_count + 1;
    if (!instance || *description->missing) {
        if (instance) clv2_say(error, "%.200s requires %.200s, which this host does not have", description->name, description->missing);
        clv2_free_plugin(description);
        free(instance);
        return NULL;
    }
    instance->description = description;
    instance->rate = rate;
    instance->frames = frames < 1 ? 1 : frames;
    instance->memory = memory;
    atomic_store(&instance->latency, latency);
    instance->controls = cplugin_memory_add(memory, CPLUGIN_OTHER, description->port_count > 0 ? description->port_count : 1);
    instance->outputs = calloc(ports, sizeof *instance->outputs);
    instance->sequences = calloc(ports, sizeof *instance->sequences);
    instance->capacities = calloc(ports, sizeof *instance->capacities);
    bool is_made = instance->controls && instance->outputs && instance->sequences && instance->capacities;
    if (is_made && description->has_worker) {
        instance->message = malloc(RING_SIZE);
        instance->answer = malloc(RING_SIZE);
        is_made = instance->message && instance->answer && clv2_ring_init(&instance->requests, RING_SIZE) &&
                  clv2_ring_init(&instance->answers, RING_SIZE);
    }
    if (!is_made) {
        clv2_say(error, "There is no memory for %.200s", description->name);
        clv2_instance_free(instance);
        return NULL;
    }
    clv2_features(instance);
    LilvWorld *world = clv2_world_lock();
    instance->plugin = clv2_plugin_by_uri(world, uri);
    instance->lilv = instance->plugin ? lilv_plugin_instantiate(instance->plugin, rate, instance->features) : NULL;
    clv2_world_unlock();
    if (!instance->lilv) {
        say_why(description, rate, error);
        clv2_instance_free(instance);
        return NULL;
    }
    instance->descriptor = lilv_instance_get_descriptor(instance->lilv);
    instance->handle = lilv_instance_get_handle(instance->lilv);
    if (description->has_worker && instance->descriptor->extension_data)
        instance->worker = instance->descriptor->extension_data(LV2_WORKER__interface);
    if (!connect_ports(instance, error)) {
        clv2_instance_free(instance);
        return NULL;
    }
    clv2_restore_default(instance);
    lilv_instance_activate(instance->lilv);
    return instance;
}

void clv2_instance_free(struct clv2_instance *instance) {
    if (!instance) return;
    if (instance->lilv) {
        if (instance->descriptor) lilv_instance_deactivate(instance->lilv);
        clv2_world_lock();
        lilv_instance_free(instance->lilv);
        clv2_world_unlock();
    }
    free(instance->outputs);
    free(instance->sequences);
    free(instance->capacities);
    free(instance->requests.memory);
    free(instance->answers.memory);
    free(instance->message);
    free(instance->answer);
    clv2_free_plugin(instance->description);
    free(instance);
}

// MARK: - Beside the audio

static bool can_begin_work(struct clv2_instance *instance) {
    bool is_idle = false;
    return atomic_compare_exchange_strong(&instance->works, &is_idle, true);
}

void clv2_begin_work(struct clv2_instance *instance) {
    while (!can_begin_work(instance)) nanosleep(&(struct timespec){0, 100000}, NULL);
}

void clv2_end_work(struct clv2_instance *instance) { atomic_store(&instance->works, false); }

static void reset(struct clv2_instance *instance);

void clv2_hold(struct clv2_instance *instance) {
    for (;;) {
        int gate = atomic_load(&instance->gate);
        if ((gate == CLV2_FREE || gate == CLV2_RESETS) &&
            atomic_compare_exchange_strong(&instance->gate, &gate, CLV2_HELD)) {
            clv2_begin_work(instance);
            if (gate == CLV2_RESETS) reset(instance);
            return;
        }
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
}

void clv2_let_go(struct clv2_instance *instance) {
    clv2_end_work(instance);
    atomic_store(&instance->gate, CLV2_FREE);
}

static LV2_Worker_Status respond(LV2_Worker_Respond_Handle handle, uint32_t size, const void *data) {
    struct clv2_instance *instance = handle;
    return clv2_ring_write(&instance->answers, size, data) ? LV2_WORKER_SUCCESS : LV2_WORKER_ERR_NO_SPACE;
}

/// The plug-in's request from its run. Offline it is answered at once, as a host has to that need not hurry.
LV2_Worker_Status clv2_schedule(LV2_Worker_Schedule_Handle handle, uint32_t size, const void *data) {
    struct clv2_instance *instance = handle;
    // A plug-in that is restoring its state may ask before it says that it has a worker at all.
    if (!instance->worker || !instance->worker->work) return LV2_WORKER_ERR_UNKNOWN;
    if (instance->is_offline && clv2_ring_is_empty(&instance->requests) && can_begin_work(instance)) {
        LV2_Worker_Status status = instance->worker->work(instance->handle, respond, instance, size, data);
        clv2_end_work(instance);
        return status;
    }
    return clv2_ring_write(&instance->requests, size, data) ? LV2_WORKER_SUCCESS : LV2_WORKER_ERR_NO_SPACE;
}

static void reset(struct clv2_instance *instance) {
    lilv_instance_deactivate(instance->lilv);
    for (int i = 0; i < instance->description->port_count; i++)
        if (instance->outputs[i]) memset(instance->outputs[i], 0, (size_t)instance->frames * sizeof(float));
    instance->has_position = false;
    instance->sysex_count = 0;
    lilv_instance_activate(instance->lilv);
}

void clv2_service(struct clv2_instance *instance) {
    int asked = CLV2_RESETS;
    if (atomic_compare_exchange_strong(&instance->gate, &asked, CLV2_HELD)) {
        clv2_begin_work(instance);
        reset(instance);
        clv2_let_go(instance);
    }
    clv2_do_work(instance);
}

void clv2_do_work(struct clv2_instance *instance) {
    if (!instance->worker || !instance->worker->work || clv2_ring_is_empty(&instance->requests)) return;
    clv2_begin_work(instance);
    int64_t size;
    while ((size = clv2_ring_read(&instance->requests, instance->message)) >= 0)
        instance->worker->work(instance->handle, respond, instance, (uint32_t)size, instance->message);
    clv2_end_work(instance);
}

void clv2_ask_for_reset(struct clv2_instance *instance, bool is_offline) {
    int is_free = CLV2_FREE;
    if (!is_offline) {
        atomic_compare_exchange_strong(&instance->gate, &is_free, CLV2_RESETS);
    } else {
        clv2_hold(instance);
        reset(instance);
        clv2_let_go(instance);
    }
}

#endif
