// Reads PipeWire's profiler until standard input ends, and then prints what it saw.
//
//     profile
//
// A line for the daemon, "gaps COUNT", of the rows of cycles that its clock has left out, and one for each node, "NAME cycles COUNT waited
// MEAN busy MEAN most MOST", in microseconds: from the signal to its wake-up, and from there to its end.

#include <pipewire/pipewire.h>
#include <pipewire/extensions/profiler.h>
#include <pipewire/impl.h>
#include <spa/param/profiler.h>
#include <spa/pod/parser.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct node {
    char name[128];
    long cycles;
    double waited, busy, most;
} nodes[64];
static int count;
static int gaps;
static struct pw_registry *registry;
static struct pw_proxy *profiler;
static struct spa_hook registry_hook, profiler_hook;

static void note(const struct spa_pod *pod) {
    int32_t id, status;
    int64_t previous, signal, awake, finish;
    const char *name = NULL;
    struct spa_fraction latency;
    if (spa_pod_parse_struct(
            pod, SPA_POD_Int(&id), SPA_POD_String(&name), SPA_POD_Long(&previous), SPA_POD_Long(&signal), SPA_POD_Long(&awake),
            SPA_POD_Long(&finish), SPA_POD_Int(&status), SPA_POD_Fraction(&latency)) < 0 || !name)
        return;
    // A node that was not called in this cycle has the times of another.
    if (awake < signal || finish < awake || signal < previous) return;
    int i = 0;
    while (i < count && strcmp(nodes[i].name, name)) i++;
    if (i == 64) return;
    if (i == count) snprintf(nodes[count++].name, sizeof nodes[0].name, "%s", name);
    nodes[i].cycles++;
    nodes[i].waited += (awake - signal) * 1e-3;
    nodes[i].busy += (finish - awake) * 1e-3;
    nodes[i].most = SPA_MAX(nodes[i].most, (finish - awake) * 1e-3);
}

static void note_clock(const struct spa_pod *pod) {
    static int64_t next;
    static int32_t last = -1;
    int32_t flags, id;
    const char *name;
    int64_t nanoseconds, position, duration;
    struct spa_fraction rate;
    if (spa_pod_parse_struct(
            pod, SPA_POD_Int(&flags), SPA_POD_Int(&id), SPA_POD_String(&name), SPA_POD_Long(&nanoseconds),
            SPA_POD_Fraction(&rate), SPA_POD_Long(&position), SPA_POD_Long(&duration)) < 0)
        return;
    if (last < 0) fprintf(stderr, "profiling\n");
    // After a gap the profiler tells cycles twice.
    if (id == last && position > next) gaps++;
    if (id != last || position + duration > next) next = position + duration;
    last = id;
}

static void on_profile(void *data, const struct spa_pod *pod) {
    (void)data;
    struct spa_pod *object;
    struct spa_pod_prop *p;
    SPA_POD_STRUCT_FOREACH(pod, object) {
        if (!spa_pod_is_object_type(object, SPA_TYPE_OBJECT_Profiler)) continue;
        SPA_POD_OBJECT_FOREACH((struct spa_pod_object *)object, p) {
            if (p->key == SPA_PROFILER_followerBlock) note(&p->value);
            if (p->key == SPA_PROFILER_clock) note_clock(&p->value);
        }
    }
}
static const struct pw_profiler_events profiler_events = {PW_VERSION_PROFILER_EVENTS, .profile = on_profile};

static void on_global(
    void *data, uint32_t id, uint32_t permissions, const char *type, uint32_t version, const struct spa_dict *properties) {
    (void)data, (void)permissions, (void)version, (void)properties;
    if (profiler || strcmp(type, PW_TYPE_INTERFACE_Profiler)) return;
    profiler = pw_registry_bind(registry, id, type, PW_VERSION_PROFILER, 0);
    pw_proxy_add_object_listener(profiler, &profiler_hook, &profiler_events, NULL);
}
static const struct pw_registry_events registry_events = {PW_VERSION_REGISTRY_EVENTS, .global = on_global};

int main(int argc, char **argv) {
    pw_init(&argc, &argv);
    struct pw_thread_loop *loop = pw_thread_loop_new("profile", NULL);
    pw_thread_loop_start(loop);
    pw_thread_loop_lock(loop);
    struct pw_context *context = pw_context_new(pw_thread_loop_get_loop(loop), NULL, 0);
    pw_context_load_module(context, "libpipewire-module-profiler", NULL, NULL);
    struct pw_core *core = pw_context_connect(context, NULL, 0);
    if (!core) return 3;
    registry = pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
    pw_registry_add_listener(registry, &registry_hook, &registry_events, NULL);
    pw_thread_loop_unlock(loop);
    char byte;
    while (read(0, &byte, 1) > 0) {}
    pw_thread_loop_lock(loop);
    printf("gaps %d\n", gaps);
    for (int i = 0; i < count; i++)
        printf("%s cycles %ld waited %.1f busy %.1f most %.1f\n", nodes[i].name, nodes[i].cycles,
            nodes[i].waited / nodes[i].cycles, nodes[i].busy / nodes[i].cycles, nodes[i].most);
    return profiler ? 0 : 4;
}
