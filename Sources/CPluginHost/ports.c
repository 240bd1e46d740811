// The numbers of the ports in a description, which may be damaged.

#include "internal.h"

#ifdef CLV2_HAS_LILV

bool clv2_has_ports_in_order(LilvWorld *world, const LilvPlugin *plugin) {
    LilvNode *port_key = lilv_new_uri(world, LV2_CORE__port), *index_key = lilv_new_uri(world, LV2_CORE__index);
    LilvNodes *ports = lilv_plugin_get_value(plugin, port_key);
    unsigned count = lilv_nodes_size(ports);
    bool *seen = calloc(count + 1, sizeof *seen);
    bool is_good = seen && count <= CLV2_MOST_PORTS;
    LILV_FOREACH (nodes, i, ports) {
        const LilvNode *port = lilv_nodes_get(ports, i);
        bool is_node = is_good && (lilv_node_is_uri(port) || lilv_node_is_blank(port));
        LilvNode *index = is_node ? lilv_world_get(world, port, index_key, NULL) : NULL;
        const char *text = index ? lilv_node_as_string(index) : "";
        char *end;
        unsigned long number = strtoul(text, &end, 10);
        is_good = is_good && *text >= '0' && *text <= '9' && !*end && number < count && !seen[number];
        if (is_good) seen[number] = true;
        lilv_node_free(index);
    }
    free(seen);
    lilv_nodes_free(ports);
    lilv_node_free(port_key);
    lilv_node_free(index_key);
    return is_good && lilv_plugin_get_num_ports(plugin) == count;
}

#endif
