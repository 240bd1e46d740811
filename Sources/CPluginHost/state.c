// The state of an instance as text, and back; presets are such states that the plug-in brings.

#include "internal.h"

#ifdef CLV2_HAS_LILV

/// The name of a state in its text.
#define STATE "urn:renderstack:state"

static int port_by_symbol(const struct clv2_instance *instance, const char *symbol) {
    for (int i = 0; i < instance->description->port_count; i++)
        if (strcmp(instance->description->ports[i].symbol, symbol) == 0) return i;
    return -1;
}

struct giver {
    struct clv2_instance *instance;
    const float *values;
};

static const void *get_value(const char *symbol, void *data, uint32_t *size, uint32_t *type) {
    const struct giver *giver = data;
    const struct clv2_instance *instance = giver->instance;
    int port = port_by_symbol(instance, symbol);
    *size = 0;
    *type = 0;
    if (port < 0 || instance->description->ports[port].kind != CLV2_CONTROL) return NULL;
    *size = sizeof(float);
    *type = clv2_ids.float_;
    return &giver->values[port];
}

char *clv2_save(struct clv2_instance *instance, const float *values, char *error) {
    struct giver giver = {instance, values};
    LilvWorld *world = clv2_world_lock();
    clv2_begin_work(instance);
    LilvState *state = lilv_state_new_from_instance(
        instance->plugin, instance->lilv, &clv2_map, NULL, NULL, NULL, NULL, get_value, &giver,
        LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE, instance->features);
    clv2_end_work(instance);
    char *text = NULL;
    if (state) {
        char *made = lilv_state_to_string(
            world, &clv2_map, &clv2_unmap, state, STATE, NULL);
        text = made ? clv2_copy(made) : NULL;
        lilv_free(made);
        lilv_state_free(state);
    }
    clv2_world_unlock();
    if (!text) clv2_say(error, "%.200s does not save its state", instance->description->name);
    return text;
}

struct receiver {
    struct clv2_instance *instance;
    float *values;
    bool *found;
};

static void set_value(const char *symbol, void *data, const void *value, uint32_t size, uint32_t type) {
    struct receiver *receiver = data;
    int port = port_by_symbol(receiver->instance, symbol);
    if (port < 0) return;
    double number;
    const struct clv2_urids *ids = &clv2_ids;
    if (type == ids->float_ && size == sizeof(float))
        number = *(const float *)value;
    else if (type == ids->double_ && size == sizeof(double))
        number = *(const double *)value;
    else if ((type == ids->int_ || type == ids->bool_) && size == sizeof(int32_t))
        number = *(const int32_t *)value;
    else if (type == ids->long_ && size == sizeof(int64_t))
        number = (double)*(const int64_t *)value;
    else
        return;
    receiver->values[port] = (float)number;
    receiver->found[port] = true;
}

static void restore(struct clv2_instance *instance, const LilvState *state, struct receiver *receiver) {
    clv2_hold(instance);
    lilv_state_restore(state, instance->lilv, set_value, receiver, 0, instance->features);
    clv2_let_go(instance);
}

static bool is_for(const struct clv2_instance *instance, const LilvState *state) {
    const LilvNode *uri = lilv_state_get_plugin_uri(state);
    return !uri || strcmp(lilv_node_as_uri(uri), instance->description->uri) == 0;
}

bool clv2_restore(struct clv2_instance *instance, const char *text, float *values, bool *found, char *error) {
    if (!clv2_check_text(text, STATE, error)) return false;
    LilvWorld *world = clv2_world_lock();
    LilvState *state = lilv_state_new_from_string(world, &clv2_map, text);
    bool fits = state && is_for(instance, state);
    struct receiver receiver = {instance, values, found};
    if (fits)
        restore(instance, state, &receiver);
    else if (state)
        clv2_say(
            error, "The state belongs to the plug-in %.200s, not to %.200s", lilv_node_as_uri(lilv_state_get_plugin_uri(state)),
            instance->description->name);
    else
        clv2_say(error, "The text is not the state of a plug-in");
    if (state) lilv_state_free(state);
    clv2_world_unlock();
    return fits;
}

bool clv2_restore_preset(struct clv2_instance *instance, const char *uri, float *values, bool *found, char *error) {
    LilvWorld *world = clv2_world_lock();
    LilvNode *node = lilv_new_uri(world, uri);
    bool is_good = !node || clv2_check_files(world, instance->plugin, node, true, error);
    if (node && is_good) lilv_world_load_resource(world, node);
    LilvState *state = node && is_good ? lilv_state_new_from_world(world, &clv2_map, node) : NULL;
    bool fits = state && is_for(instance, state);
    struct receiver receiver = {instance, values, found};
    if (fits)
        restore(instance, state, &receiver);
    else if (is_good)
        clv2_say(error, "%.200s has no preset \"%.200s\"", instance->description->name, uri);
    if (state) lilv_state_free(state);
    lilv_node_free(node);
    clv2_world_unlock();
    return fits;
}

bool clv2_restore_default(struct clv2_instance *instance) {
    LilvWorld *world = clv2_world_lock();
    LilvNode *feature = lilv_new_uri(world, LV2_STATE__loadDefaultState);
    const LilvNode *uri = lilv_plugin_get_uri(instance->plugin);
    char unused[CLV2_ERROR];
    bool has_default =
        lilv_plugin_has_feature(instance->plugin, feature) && clv2_check_files(world, instance->plugin, uri, false, unused);
    lilv_node_free(feature);
    if (has_default) {
        LilvState *state = lilv_state_new_from_world(world, &clv2_map, uri);
        if (state) {
            lilv_state_restore(state, instance->lilv, NULL, NULL, 0, instance->features);
            lilv_state_free(state);
        }
    }
    clv2_world_unlock();
    return has_default;
}

#endif
