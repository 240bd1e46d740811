// Without lilv at build time: every function is there, and says so.

#include "internal.h"
#include <stdio.h>

#ifndef CLV2_HAS_LILV

static void say(char *error) {
    snprintf(
        error, CLV2_ERROR,
        "This program was built without lilv; please install liblilv-dev (its name in Debian) and build again");
}

bool clv2_is_available(void) { return false; }
bool clv2_load_bundle(const char *path, char *error) { return (void)path, say(error), false; }
char **clv2_uris(const char *bundle, int *count) { return (void)bundle, *count = 0, NULL; }
void clv2_free_list(char **list, int count) { (void)list, (void)count; }
char *clv2_find(const char *word, char *error) { return (void)word, say(error), NULL; }
struct clv2_plugin *clv2_describe(const char *uri, char *error) { return (void)uri, say(error), NULL; }
void clv2_free_plugin(struct clv2_plugin *plugin) { (void)plugin; }
struct clv2_preset *clv2_presets(const char *uri, int *count) { return (void)uri, *count = 0, NULL; }
void clv2_free_presets(struct clv2_preset *presets, int count) { (void)presets, (void)count; }
struct clv2_instance *clv2_instance_new(
    const char *uri, double rate, int frames, int latency, struct cplugin_memory *memory, char *error) {
    return (void)uri, (void)rate, (void)frames, (void)latency, (void)memory, say(error), NULL;
}
void clv2_instance_free(struct clv2_instance *instance) { (void)instance; }
void clv2_service(struct clv2_instance *instance) { (void)instance; }
char *clv2_save(struct clv2_instance *instance, const float *values, char *error) {
    return (void)instance, (void)values, say(error), NULL;
}
bool clv2_restore(struct clv2_instance *instance, const char *text, float *values, bool *found, char *error) {
    return (void)instance, (void)text, (void)values, (void)found, say(error), false;
}
bool clv2_restore_preset(struct clv2_instance *instance, const char *uri, float *values, bool *found, char *error) {
    return (void)instance, (void)uri, (void)values, (void)found, say(error), false;
}
static float no_controls[1];
float *clv2_controls(struct clv2_instance *instance) { return (void)instance, no_controls; }
bool clv2_begin(struct clv2_instance *instance, bool is_offline) { return (void)instance, (void)is_offline, false; }
void clv2_add_midi(struct clv2_instance *instance, int frame, const uint8_t *bytes, int count, bool ends) {
    (void)instance, (void)frame, (void)bytes, (void)count, (void)ends;
}
void clv2_add_position(struct clv2_instance *instance, const struct clv2_position *position, int frames) {
    (void)instance, (void)position, (void)frames;
}
void clv2_run(struct clv2_instance *instance, int frames) { (void)instance, (void)frames; }
bool clv2_next_midi(struct clv2_instance *instance, uint32_t *cursor, int *frame, const uint8_t **bytes, int *count) {
    return (void)instance, (void)cursor, (void)frame, (void)bytes, (void)count, false;
}
void clv2_end(struct clv2_instance *instance) { (void)instance; }
void clv2_ask_for_reset(struct clv2_instance *instance, bool is_offline) { (void)instance, (void)is_offline; }
int clv2_latency(const struct clv2_instance *instance) { return (void)instance, 0; }
int clv2_scan_start(int *to, int *from, char *error) { return (void)to, (void)from, say(error), -1; }

#endif
