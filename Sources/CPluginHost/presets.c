// The presets that plug-ins bring.

#include "internal.h"

#ifdef CLV2_HAS_LILV

static int compare_presets(const void *a, const void *b) {
    return strcmp(((const struct clv2_preset *)a)->label, ((const struct clv2_preset *)b)->label);
}

struct clv2_preset *clv2_presets(const char *uri, int *count) {
    LilvWorld *world = clv2_world_lock();
    const LilvPlugin *plugin = world ? clv2_plugin_by_uri(world, uri) : NULL;
    LilvNode *kind = plugin ? lilv_new_uri(world, LV2_PRESETS__Preset) : NULL;
    LilvNode *label_key = plugin ? lilv_new_uri(world, LILV_NS_RDFS "label") : NULL;
    LilvNodes *found = plugin ? lilv_plugin_get_related(plugin, kind) : NULL;
    struct clv2_preset *list = calloc(lilv_nodes_size(found) + 1, sizeof *list);
    *count = 0;
    LILV_FOREACH (nodes, i, found) {
        const LilvNode *preset = lilv_nodes_get(found, i);
        // What is damaged is on the list, and refused when it is loaded.
        char unused[CLV2_ERROR];
        if (lilv_node_is_uri(preset) && clv2_check_files(world, plugin, preset, true, unused))
            lilv_world_load_resource(world, preset);
        LilvNode *label = lilv_world_get(world, preset, label_key, NULL);
        if (list && lilv_node_is_uri(preset))
            list[(*count)++] = (struct clv2_preset){
                clv2_copy(lilv_node_as_uri(preset)),
                clv2_copy(label ? lilv_node_as_string(label) : clv2_last_part(lilv_node_as_uri(preset)))};
        lilv_node_free(label);
    }
    lilv_nodes_free(found);
    lilv_node_free(kind);
    lilv_node_free(label_key);
    if (list) qsort(list, (size_t)*count, sizeof *list, compare_presets);
    clv2_world_unlock();
    return list;
}

void clv2_free_presets(struct clv2_preset *presets, int count) {
    for (int i = 0; presets && i < count; i++) free((char *)presets[i].uri), free((char *)presets[i].label);
    free(presets);
}

#endif
