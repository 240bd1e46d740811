// A run of a plug-in, on the render thread: nothing here allocates or waits.

#include "internal.h"

#ifdef CLV2_HAS_LILV

float *clv2_controls(struct clv2_instance *instance) { return instance->controls; }

int clv2_latency(const struct clv2_instance *instance) {
    return atomic_load_explicit(&instance->latency, memory_order_relaxed);
}

bool clv2_begin(struct clv2_instance *instance, bool is_offline) {
    int is_free = CLV2_FREE;
    if (!atomic_compare_exchange_strong_explicit(
            &instance->gate, &is_free, CLV2_RUNS, memory_order_acquire, memory_order_relaxed))
        return false;
    instance->is_offline = is_offline;
    // The plug-in may have asked for work before, such as loading the files of its state: it is done in every offline run alike.
    if (is_offline) clv2_do_work(instance);
    const struct clv2_plugin *plugin = instance->description;
    if (instance->freewheel_port >= 0) instance->controls[instance->freewheel_port] = is_offline ? 1 : 0;
    for (int i = 0; i < plugin->port_count; i++) {
        if (!instance->sequences[i]) continue;
        LV2_Atom_Sequence *sequence = (LV2_Atom_Sequence *)instance->sequences[i];
        if (plugin->ports[i].is_input) {
            sequence->atom.type = clv2_ids.sequence;
            sequence->atom.size = sizeof(LV2_Atom_Sequence_Body);
        } else {
            // The room that the plug-in may fill.
            sequence->atom.type = clv2_ids.chunk;
            sequence->atom.size = instance->capacities[i];
        }
        sequence->body.unit = 0;
        sequence->body.pad = 0;
    }
    return true;
}

// MARK: - Events

/// Returns the place for an event's body of `size` bytes at the end of a port's events; NULL: there is no more room.
static void *add_event(struct clv2_instance *instance, int port, int frame, LV2_URID type, uint32_t size) {
    LV2_Atom_Sequence *sequence = (LV2_Atom_Sequence *)instance->sequences[port];
    uint32_t padded = lv2_atom_pad_size((uint32_t)sizeof(LV2_Atom_Event) + size);
    if (sequence->atom.size + padded > instance->capacities[port]) return NULL;
    LV2_Atom_Event *event = lv2_atom_sequence_end(&sequence->body, sequence->atom.size);
    event->time.frames = frame;
    event->body.type = type;
    event->body.size = size;
    sequence->atom.size += padded;
    return event + 1;
}

void clv2_add_midi(struct clv2_instance *instance, int frame, const uint8_t *bytes, int count, bool ends) {
    if (instance->midi_in < 0 || count < 1) return;
    if (instance->sysex_count == 0 && ends) {
        void *body = add_event(instance, instance->midi_in, frame, clv2_ids.midi, (uint32_t)count);
        if (body) memcpy(body, bytes, (size_t)count);
        return;
    }
    // A message in parts; one that is too long is left out as a whole.
    if (bytes[0] == 0xF0) instance->sysex_count = 0;
    int room = (int)sizeof instance->sysex - instance->sysex_count;
    if (instance->sysex_count >= 0 && count <= room) {
        memcpy(instance->sysex + instance->sysex_count, bytes, (size_t)count);
        instance->sysex_count += count;
    } else {
        instance->sysex_count = -1;
    }
    if (!ends) return;
    if (instance->sysex_count > 0) {
        uint32_t size = (uint32_t)instance->sysex_count;
        void *body = add_event(instance, instance->midi_in, frame, clv2_ids.midi, size);
        if (body) memcpy(body, instance->sysex, size);
    }
    instance->sysex_count = 0;
}

void clv2_add_position(struct clv2_instance *instance, const struct clv2_position *position, int frames) {
    if (instance->position_in < 0) return;
    const struct clv2_position *expected = &instance->expected;
    double bars_apart = (double)(position->bar - expected->bar) * position->beats_per_bar + position->bar_beat - expected->bar_beat;
    bool is_news = !instance->has_position || position->frame != expected->frame || position->speed != expected->speed ||
                   position->beats_per_minute != expected->beats_per_minute ||
                   position->beats_per_bar != expected->beats_per_bar || position->beat_unit != expected->beat_unit ||
                   bars_apart > 1e-6 || bars_apart < -1e-6;
    if (is_news) {
        uint8_t memory[512];
        LV2_Atom_Forge forge;
        lv2_atom_forge_init(&forge, &clv2_map);
        lv2_atom_forge_set_buffer(&forge, memory, sizeof memory);
        LV2_Atom_Forge_Frame frame;
        const struct clv2_urids *ids = &clv2_ids;
        lv2_atom_forge_object(&forge, &frame, 0, ids->position);
        lv2_atom_forge_key(&forge, ids->frame);
        lv2_atom_forge_long(&forge, position->frame);
        lv2_atom_forge_key(&forge, ids->speed);
        lv2_atom_forge_float(&forge, (float)position->speed);
        lv2_atom_forge_key(&forge, ids->bar);
        lv2_atom_forge_long(&forge, position->bar);
        lv2_atom_forge_key(&forge, ids->bar_beat);
        lv2_atom_forge_float(&forge, (float)position->bar_beat);
        lv2_atom_forge_key(&forge, ids->beat_unit);
        lv2_atom_forge_int(&forge, position->beat_unit);
        lv2_atom_forge_key(&forge, ids->beats_per_bar);
        lv2_atom_forge_float(&forge, (float)position->beats_per_bar);
        lv2_atom_forge_key(&forge, ids->beats_per_minute);
        lv2_atom_forge_float(&forge, (float)position->beats_per_minute);
        lv2_atom_forge_pop(&forge, &frame);
        const LV2_Atom *object = (const LV2_Atom *)memory;
        void *body = add_event(instance, instance->position_in, 0, object->type, object->size);
        if (body) memcpy(body, object + 1, object->size);
        instance->has_position = body != NULL;
    }
    instance->expected = *position;
    if (position->speed == 0) return;
    instance->expected.frame += frames;
    double beats = position->bar_beat + frames / instance->rate * position->beats_per_minute / 60;
    double bars = position->beats_per_bar > 0 ? floor(beats / position->beats_per_bar) : 0;
    instance->expected.bar += (int64_t)bars;
    instance->expected.bar_beat = beats - bars * position->beats_per_bar;
}

bool clv2_next_midi(
    struct clv2_instance *instance, uint32_t *cursor, int *frame, const uint8_t **bytes, int *count) {
    if (instance->midi_out < 0) return false;
    const LV2_Atom_Sequence *sequence = (const LV2_Atom_Sequence *)instance->sequences[instance->midi_out];
    uint32_t size = sequence->atom.size;
    if (sequence->atom.type != clv2_ids.sequence || size > instance->capacities[instance->midi_out]) return false;
    const uint8_t *base = (const uint8_t *)&sequence->body;
    if (*cursor == 0) *cursor = sizeof(LV2_Atom_Sequence_Body);
    while (*cursor + sizeof(LV2_Atom_Event) <= size) {
        const LV2_Atom_Event *event = (const LV2_Atom_Event *)(base + *cursor);
        if (event->body.size > size - *cursor - sizeof(LV2_Atom_Event)) return false;
        *cursor += lv2_atom_pad_size((uint32_t)sizeof(LV2_Atom_Event) + event->body.size);
        if (event->body.type != clv2_ids.midi || event->body.size == 0) continue;
        *frame = (int)event->time.frames;
        *bytes = (const uint8_t *)(event + 1);
        *count = (int)event->body.size;
        return true;
    }
    return false;
}

// MARK: - Sound

void clv2_run(struct clv2_instance *instance, int frames) {
    instance->descriptor->run(instance->handle, (uint32_t)frames);
    if (instance->latency_port >= 0) {
        float told = instance->controls[instance->latency_port];
        int latency = told > 0 && told < 1e8f ? (int)(told + 0.5f) : 0;
        atomic_store_explicit(&instance->latency, latency, memory_order_relaxed);
    }
}

void clv2_end(struct clv2_instance *instance) {
    if (instance->worker) {
        int64_t size;
        while ((size = clv2_ring_read(&instance->answers, instance->answer)) >= 0)
            if (instance->worker->work_response)
                instance->worker->work_response(instance->handle, (uint32_t)size, instance->answer);
        if (instance->worker->end_run) instance->worker->end_run(instance->handle);
    }
    atomic_store_explicit(&instance->gate, CLV2_FREE, memory_order_release);
}

#endif
