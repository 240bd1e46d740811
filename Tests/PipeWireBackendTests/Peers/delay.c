// A program of PipeWire's own kind (a pw_filter) that says that it delays what goes through it, "delay:in" to "delay:out".
//
//     delay NANOSECONDS [FRAMES]     until its standard input ends

#include <pipewire/pipewire.h>
#include <pipewire/filter.h>
#include <spa/param/latency-utils.h>
#include <spa/pod/builder.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pw_filter *filter;
static void *in, *out;

static void process(void *data, struct spa_io_position *position) {
    (void)data;
    uint32_t frames = position->clock.duration;
    float *from = pw_filter_get_dsp_buffer(in, frames), *to = pw_filter_get_dsp_buffer(out, frames);
    if (to) from ? memcpy(to, from, frames * sizeof *to) : memset(to, 0, frames * sizeof *to);
}
static const struct pw_filter_events events = {PW_VERSION_FILTER_EVENTS, .process = process};

static void *port(enum pw_direction direction, const char *name) {
    return pw_filter_add_port(
        filter, direction, PW_FILTER_PORT_FLAG_MAP_BUFFERS, sizeof(int),
        pw_properties_new(PW_KEY_FORMAT_DSP, "32 bit float mono audio", PW_KEY_PORT_NAME, name, NULL), NULL, 0);
}

/// Who is linked to the port learns how late it makes the sound.
static void say(void *port, enum spa_direction direction, uint64_t delay, uint32_t frames) {
    uint8_t memory[256];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    struct spa_latency_info info = {
        .direction = direction, .min_ns = delay, .max_ns = delay, .min_rate = frames, .max_rate = frames};
    const struct spa_pod *latency = spa_latency_build(&builder, SPA_PARAM_Latency, &info);
    pw_filter_update_params(filter, port, &latency, 1);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    pw_init(NULL, NULL);
    struct pw_thread_loop *loop = pw_thread_loop_new("delay", NULL);
    pw_thread_loop_start(loop);
    pw_thread_loop_lock(loop);
    filter = pw_filter_new_simple(
        pw_thread_loop_get_loop(loop), "delay", pw_properties_new(PW_KEY_NODE_NAME, "delay", PW_KEY_MEDIA_TYPE, "Audio", NULL),
        &events, NULL);
    in = port(PW_DIRECTION_INPUT, "in");
    out = port(PW_DIRECTION_OUTPUT, "out");
    enum pw_filter_flags flags = PW_FILTER_FLAG_RT_PROCESS;
#if PW_CHECK_VERSION(1, 2, 0)
    flags |= PW_FILTER_FLAG_CUSTOM_LATENCY;
#endif
    int error = pw_filter_connect(filter, flags, NULL, 0);
    uint64_t delay = strtoull(argv[1], NULL, 10);
    uint32_t frames = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    say(in, SPA_DIRECTION_INPUT, delay, frames);
    say(out, SPA_DIRECTION_OUTPUT, delay, frames);
    pw_thread_loop_unlock(loop);
    if (error < 0) return 3;
    char byte;
    while (read(0, &byte, 1) > 0) {}
    return 0;
}
