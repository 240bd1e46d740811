// Lists the plug-ins of this machine, and describes them.

#include "internal.h"

#ifdef CLV2_HAS_LILV

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static LilvWorld *the_world;

// URIs of what a description asks for; made once.
static struct {
    LilvNode *plugin_name, *audio, *control, *cv, *atom, *input, *midi, *position, *toggle, *integer, *enumeration, *logarithmic,
        *trigger, *rate, *hidden, *optional, *side_chain_of, *latency_property, *latency, *freewheel, *group, *name,
        *unit, *symbol, *minimum_size, *designation, *is_side_chain, *realtime, *worker_data;
} nodes;

static void make_world(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    clv2_names_prepare();
    LilvWorld *world = lilv_world_new();
    if (!world) return;
#define NODE(field, uri) nodes.field = lilv_new_uri(world, uri)
    NODE(plugin_name, LILV_NS_DOAP "name");
    NODE(audio, LV2_CORE__AudioPort), NODE(control, LV2_CORE__ControlPort), NODE(cv, LV2_CORE__CVPort);
    NODE(atom, LV2_ATOM__AtomPort);
    NODE(input, LV2_CORE__InputPort);
    NODE(midi, LV2_MIDI__MidiEvent);
    NODE(position, LV2_TIME__Position);
    NODE(toggle, LV2_CORE__toggled);
    NODE(integer, LV2_CORE__integer);
    NODE(enumeration, LV2_CORE__enumeration);
    NODE(logarithmic, LV2_PORT_PROPS__logarithmic);
    NODE(trigger, LV2_PORT_PROPS__trigger);
    NODE(rate, LV2_CORE__sampleRate);
    NODE(hidden, LV2_PORT_PROPS__notOnGUI);
    NODE(optional, LV2_CORE__connectionOptional);
    NODE(is_side_chain, LV2_CORE_PREFIX "isSideChain");
    NODE(side_chain_of, LV2_PORT_GROUPS__sideChainOf);
    NODE(latency_property, LV2_CORE__reportsLatency);
    NODE(latency, LV2_CORE__latency);
    NODE(freewheel, LV2_CORE__freeWheeling);
    NODE(group, LV2_PORT_GROUPS__group);
    NODE(name, LV2_CORE__name);
    NODE(unit, LV2_UNITS__unit);
    NODE(symbol, LV2_UNITS__symbol);
    NODE(minimum_size, LV2_RESIZE_PORT__minimumSize);
    NODE(designation, LV2_CORE__designation);
    NODE(realtime, LV2_CORE__hardRTCapable);
    NODE(worker_data, LV2_WORKER__interface);
#undef NODE
    lilv_world_load_all(world);
    the_world = world;
}

LilvWorld *clv2_world_lock(void) {
    pthread_once(&once, make_world);
    pthread_mutex_lock(&lock);
    return the_world;
}

void clv2_world_unlock(void) { pthread_mutex_unlock(&lock); }

void clv2_say(char *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, CLV2_ERROR, format, arguments);
    va_end(arguments);
}

char *clv2_copy(const char *text) { return strdup(text ? text : ""); }

bool clv2_is_available(void) { return true; }

static bool is_in_bundle(const LilvPlugin *plugin, const char *whole) {
    char *path = lilv_node_get_path(lilv_plugin_get_bundle_uri(plugin), NULL);
    char *real = path ? realpath(path, NULL) : NULL;
    bool is_inside = real && strcmp(real, whole) == 0;
    free(real);
    lilv_free(path);
    return is_inside;
}

static bool is_loaded(LilvWorld *world, const char *whole) {
    const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
    LILV_FOREACH (plugins, i, plugins)
        if (is_in_bundle(lilv_plugins_get(plugins, i), whole)) return true;
    return false;
}

bool clv2_load_bundle(const char *path, char *error) {
    LilvWorld *world = clv2_world_lock();
    char *whole = realpath(path, NULL);
    bool is_there = false;
    if (whole) {
        size_t length = strlen(whole);
        char *folder = malloc(length + 20);
        if (folder) {
            snprintf(folder, length + 20, "%s/manifest.ttl", whole);
            FILE *manifest = fopen(folder, "r");
            is_there = manifest != NULL;
            if (manifest) fclose(manifest);
            snprintf(folder, length + 20, "%s/", whole);
            if (is_there && world && !is_loaded(world, whole)) {
                LilvNode *node = lilv_new_file_uri(world, NULL, folder);
                lilv_world_load_bundle(world, node);
                lilv_world_load_specifications(world);
                lilv_node_free(node);
            }
            free(folder);
        }
        free(whole);
    }
    if (!is_there) clv2_say(error, "%.200s is not the folder of a plug-in: it has no manifest.ttl", path);
    clv2_world_unlock();
    return is_there;
}

static int compare_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

char **clv2_uris(const char *bundle, int *count) {
    LilvWorld *world = clv2_world_lock();
    *count = 0;
    char **list = NULL;
    char *whole = bundle ? realpath(bundle, NULL) : NULL;
    if (world && (!bundle || whole)) {
        const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
        list = calloc(lilv_plugins_size(plugins) + 1, sizeof *list);
        LILV_FOREACH (plugins, i, plugins) {
            const LilvPlugin *plugin = lilv_plugins_get(plugins, i);
            if (whole && !is_in_bundle(plugin, whole)) continue;
            if (list) list[(*count)++] = clv2_copy(lilv_node_as_uri(lilv_plugin_get_uri(plugin)));
        }
        if (list) qsort(list, (size_t)*count, sizeof *list, compare_text);
    }
    free(whole);
    clv2_world_unlock();
    return list;
}

void clv2_free_list(char **list, int count) {
    for (int i = 0; list && i < count; i++) free(list[i]);
    free(list);
}

const LilvPlugin *clv2_plugin_by_uri(LilvWorld *world, const char *uri) {
    LilvNode *node = clv2_is_uri(uri) ? lilv_new_uri(world, uri) : NULL;
    if (!node) return NULL;
    const LilvPlugin *plugin = lilv_plugins_get_by_uri(lilv_world_get_all_plugins(world), node);
    lilv_node_free(node);
    return plugin;
}

// The name of a plug-in; NULL if it has none: lilv's own function would complain about that on standard error.
static LilvNode *name_of(const LilvPlugin *plugin) {
    LilvNodes *names = lilv_plugin_get_value(plugin, nodes.plugin_name);
    const LilvNode *first = names ? lilv_nodes_get_first(names) : NULL;
    LilvNode *name = first && lilv_node_is_string(first) ? lilv_node_duplicate(first) : NULL;
    lilv_nodes_free(names);
    return name;
}

char *clv2_find(const char *word, char *error) {
    LilvWorld *world = clv2_world_lock();
    char *found = NULL;
    int matches = 0;
    if (world && clv2_plugin_by_uri(world, word)) {
        found = clv2_copy(word);
        matches = 1;
    } else if (world) {
        const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
        LILV_FOREACH (plugins, i, plugins) {
            const LilvPlugin *plugin = lilv_plugins_get(plugins, i);
            LilvNode *name = name_of(plugin);
            if (name && strcasecmp(lilv_node_as_string(name), word) == 0 && ++matches == 1)
                found = clv2_copy(lilv_node_as_uri(lilv_plugin_get_uri(plugin)));
            lilv_node_free(name);
        }
    }
    if (matches != 1) {
        free(found);
        found = NULL;
        if (matches)
            clv2_say(error, "%d plug-ins have the name \"%.200s\"; please give the URI of one", matches, word);
        else
            clv2_say(error, "No plug-in has the URI or the name \"%.200s\"; is its package installed, or its folder in LV2_PATH?", word);
    }
    clv2_world_unlock();
    return found;
}

// MARK: - Descriptions

static char *text_of(LilvNode *node) {
    char *text = clv2_copy(node ? lilv_node_as_string(node) : "");
    lilv_node_free(node);
    return text;
}

static float number_of(const LilvNode *node) {
    return node && (lilv_node_is_float(node) || lilv_node_is_int(node)) ? lilv_node_as_float(node)
           : node && lilv_node_is_bool(node)                            ? (float)lilv_node_as_bool(node)
                                                                        : NAN;
}

const char *clv2_last_part(const char *uri) {
    const char *part = uri;
    for (const char *c = uri; *c; c++)
        if (*c == '#' || *c == '/') part = c + 1;
    return part;
}

static char *unit_of(LilvWorld *world, const LilvPlugin *plugin, const LilvPort *port) {
    LilvNode *unit = lilv_port_get(plugin, port, nodes.unit);
    char *result = NULL;
    if (unit && lilv_node_is_uri(unit) && strncmp(lilv_node_as_uri(unit), LV2_UNITS_URI, strlen(LV2_UNITS_URI)) == 0)
        result = clv2_copy(clv2_last_part(lilv_node_as_uri(unit)));
    else if (unit)
        result = text_of(lilv_world_get(world, unit, nodes.symbol, NULL));
    lilv_node_free(unit);
    return result ? result : clv2_copy("");
}

static int compare_points(const void *a, const void *b) {
    float x = ((const struct clv2_point *)a)->value, y = ((const struct clv2_point *)b)->value;
    return (x > y) - (x < y);
}

static void add_points(const LilvPlugin *plugin, const LilvPort *port, struct clv2_port *result) {
    LilvScalePoints *points = lilv_port_get_scale_points(plugin, port);
    if (!points) return;
    struct clv2_point *list = calloc(lilv_scale_points_size(points) + 1, sizeof *list);
    int count = 0;
    LILV_FOREACH (scale_points, i, points) {
        const LilvScalePoint *point = lilv_scale_points_get(points, i);
        float value = number_of(lilv_scale_point_get_value(point));
        if (list && isfinite(value))
            list[count++] =
                (struct clv2_point){value, clv2_copy(lilv_node_as_string(lilv_scale_point_get_label(point)))};
    }
    if (list) qsort(list, (size_t)count, sizeof *list, compare_points);
    result->points = list;
    result->point_count = count;
    lilv_scale_points_free(points);
}

static void describe_port(LilvWorld *world, const LilvPlugin *plugin, uint32_t index, struct clv2_port *result) {
    const LilvPort *port = lilv_plugin_get_port_by_index(plugin, index);
    result->symbol = clv2_copy(lilv_node_as_string(lilv_port_get_symbol(plugin, port)));
    result->name = text_of(lilv_port_get_name(plugin, port));
    result->unit = unit_of(world, plugin, port);
    LilvNode *group = lilv_port_get(plugin, port, nodes.group);
    result->group = group ? text_of(lilv_world_get(world, group, nodes.name, NULL)) : clv2_copy("");
    result->kind = lilv_port_is_a(plugin, port, nodes.audio)     ? CLV2_AUDIO
                   : lilv_port_is_a(plugin, port, nodes.control) ? CLV2_CONTROL
                   : lilv_port_is_a(plugin, port, nodes.cv)      ? CLV2_CV
                   : lilv_port_is_a(plugin, port, nodes.atom)    ? CLV2_EVENTS
                                                                 : CLV2_OTHER;
    result->is_input = lilv_port_is_a(plugin, port, nodes.input);
#define HAS(field, node) result->field = lilv_port_has_property(plugin, port, nodes.node)
    HAS(is_toggle, toggle);
    HAS(is_integer, integer);
    HAS(is_enumeration, enumeration);
    HAS(is_logarithmic, logarithmic);
    HAS(is_trigger, trigger);
    HAS(scales_with_rate, rate);
    HAS(is_hidden, hidden);
    HAS(is_optional, optional);
    HAS(is_side_chain, is_side_chain);
    HAS(is_latency, latency_property);
#undef HAS
    if (group && lilv_world_ask(world, group, nodes.side_chain_of, NULL)) result->is_side_chain = true;
    lilv_node_free(group);
    LilvNode *designation = lilv_port_get(plugin, port, nodes.designation);
    if (designation && lilv_node_equals(designation, nodes.latency)) result->is_latency = true;
    if (designation && lilv_node_equals(designation, nodes.freewheel)) result->is_freewheel = true;
    lilv_node_free(designation);
    if (result->kind == CLV2_EVENTS) {
        result->takes_midi = lilv_port_supports_event(plugin, port, nodes.midi);
        result->takes_position = lilv_port_supports_event(plugin, port, nodes.position);
        LilvNode *size = lilv_port_get(plugin, port, nodes.minimum_size);
        if (size && lilv_node_is_int(size) && lilv_node_as_int(size) > 0)
            result->minimum_size = (size_t)lilv_node_as_int(size);
        lilv_node_free(size);
    }
    LilvNode *initial = NULL, *minimum = NULL, *maximum = NULL;
    lilv_port_get_range(plugin, port, &initial, &minimum, &maximum);
    result->initial = number_of(initial);
    result->minimum = number_of(minimum);
    result->maximum = number_of(maximum);
    lilv_node_free(initial);
    lilv_node_free(minimum);
    lilv_node_free(maximum);
    // Without an initial value the nearest to 0 is that.
    if (isnan(result->initial) && result->kind == CLV2_CONTROL)
        result->initial = result->minimum > 0 ? result->minimum : result->maximum < 0 ? result->maximum : 0;
    if (result->kind == CLV2_CONTROL) add_points(plugin, port, result);
}

static char *missing_feature(const LilvPlugin *plugin) {
    char *missing = NULL;
    LilvNodes *required = lilv_plugin_get_required_features(plugin);
    LILV_FOREACH (nodes, i, required) {
        // As a text: a damaged description may have something else than a URI here, whose URI is NULL.
        const char *feature = lilv_node_as_string(lilv_nodes_get(required, i));
        if (!missing && !clv2_offers(feature)) missing = clv2_copy(feature);
    }
    lilv_nodes_free(required);
    return missing ? missing : clv2_copy("");
}

static char *path_of(const LilvNode *uri) {
    char *path = uri ? lilv_node_get_path(uri, NULL) : NULL;
    char *copy = clv2_copy(path);
    lilv_free(path);
    return copy;
}

struct clv2_plugin *clv2_describe(const char *uri, char *error) {
    LilvWorld *world = clv2_world_lock();
    const LilvPlugin *plugin = world ? clv2_plugin_by_uri(world, uri) : NULL;
    bool is_good = plugin && clv2_has_ports_in_order(world, plugin);
    struct clv2_plugin *result = is_good ? calloc(1, sizeof *result) : NULL;
    if (!result) {
        if (plugin)
            clv2_say(
                error, "The description of %.200s is damaged: it does not number its ports from 0 to at most %d, each once, or "
                       "one has no symbol", uri, CLV2_MOST_PORTS - 1);
        else
            clv2_say(error, "No plug-in has the URI \"%.200s\"", uri);
        clv2_world_unlock();
        return NULL;
    }
    result->uri = clv2_copy(uri);
    result->name = text_of(name_of(plugin));
    if (!*result->name) {
        free((char *)result->name);
        result->name = clv2_copy(uri);
    }
    const LilvPluginClass *class = lilv_plugin_get_class(plugin);
    const LilvNode *label = class ? lilv_plugin_class_get_label(class) : NULL;
    result->kind = clv2_copy(label ? lilv_node_as_string(label) : "");
    result->author = text_of(lilv_plugin_get_author_name(plugin));
    LilvNode *license_key = lilv_new_uri(world, "http://usefulinc.com/ns/doap#license");
    LilvNodes *licenses = lilv_plugin_get_value(plugin, license_key);
    result->license = clv2_copy(licenses ? lilv_node_as_string(lilv_nodes_get_first(licenses)) : "");
    lilv_nodes_free(licenses);
    lilv_node_free(license_key);
    result->bundle = path_of(lilv_plugin_get_bundle_uri(plugin));
    result->library = path_of(lilv_plugin_get_library_uri(plugin));
    result->missing = missing_feature(plugin);
    result->is_realtime = lilv_plugin_has_feature(plugin, nodes.realtime);
    result->has_worker = lilv_plugin_has_extension_data(plugin, nodes.worker_data);
    uint32_t count = lilv_plugin_get_num_ports(plugin);
    struct clv2_port *ports = calloc(count + 1, sizeof *ports);
    bool has_main = false;
    for (uint32_t i = 0; ports && i < count; i++) {
        describe_port(world, plugin, i, &ports[i]);
        if (ports[i].kind == CLV2_AUDIO && ports[i].is_input && !ports[i].is_side_chain) has_main = true;
    }
    // A plug-in that calls every input a side-chain has no main input: its inputs are the main ones.
    for (uint32_t i = 0; ports && i < count && !has_main; i++) ports[i].is_side_chain = false;
    result->ports = ports;
    result->port_count = ports ? (int)count : 0;
    clv2_world_unlock();
    return result;
}

void clv2_free_plugin(struct clv2_plugin *plugin) {
    if (!plugin) return;
    for (int i = 0; i < plugin->port_count; i++) {
        const struct clv2_port *port = &plugin->ports[i];
        for (int j = 0; j < port->point_count; j++) free((char *)port->points[j].label);
        free((void *)port->points);
        free((char *)port->symbol), free((char *)port->name), free((char *)port->group), free((char *)port->unit);
    }
    free((void *)plugin->ports);
    const char *texts[] = {plugin->uri,     plugin->name,   plugin->kind,    plugin->author,
                           plugin->license, plugin->bundle, plugin->library, plugin->missing};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free((char *)texts[i]);
    free(plugin);
}

#endif
