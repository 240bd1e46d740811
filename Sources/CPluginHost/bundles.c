// Loads the plug-ins of this machine. One damaged bundle must not take away the others.

#include "internal.h"

#ifdef CLV2_HAS_LILV

#include <glob.h>

/// Where lilv looks without LV2_PATH; the machine's name stands in two of them.
#define USUAL "~/.lv2:/usr/local/lib/lv2:/usr/local/lib/*-linux-gnu/lv2:/usr/lib/lv2:/usr/lib/*-linux-gnu/lv2"

/// Finds the manifests of a path such as LV2_PATH.
static void find(const char *path, glob_t *found) {
    char *copy = clv2_copy(path), *next = copy;
    int flags = GLOB_TILDE;
    for (char *folder; copy && (folder = strsep(&next, ":"));) {
        if (!*folder) continue;
        char *pattern = NULL;
        if (asprintf(&pattern, "%s/*/manifest.ttl", folder) < 0) continue;
        glob(pattern, flags, NULL, found);
        flags |= GLOB_APPEND;
        free(pattern);
    }
    free(copy);
}

static void load(LilvWorld *world, const char *manifest) {
    char *folder = clv2_copy(manifest);
    if (!folder) return;
    strrchr(folder, '/')[1] = 0;
    LilvNode *node = lilv_new_file_uri(world, NULL, folder);
    lilv_world_load_bundle(world, node);
    lilv_node_free(node);
    free(folder);
}

void clv2_load_all(LilvWorld *world) {
    const char *path = getenv("LV2_PATH");
    glob_t found = {0};
    size_t damaged = 0;
    find(path ? path : USUAL, &found);
    bool *is_good = calloc(found.gl_pathc + 1, sizeof *is_good);
    for (size_t i = 0; is_good && i < found.gl_pathc; i++) {
        is_good[i] = clv2_check_manifest(found.gl_pathv[i]);
        if (is_good[i]) continue;
        damaged++;
        fprintf(stderr, "RenderStack: %s is left out: it has a plug-in without a URI.\n", found.gl_pathv[i]);
    }
    if (!damaged) {
        lilv_world_load_all(world);
    } else {
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (is_good[i]) load(world, found.gl_pathv[i]);
        lilv_world_load_specifications(world);
        lilv_world_load_plugin_classes(world);
    }
    free(is_good);
    globfree(&found);
}

#endif
