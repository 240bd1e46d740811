// A program of PipeWire's own kind (a pw_filter), as a peer of the tests: it writes what its input gets into a file, floats as they
// come, sends a ramp, echoes MIDI as text, and sends notes.
//
//     peer record PORT FILE SECONDS      what the output port NODE:PORT sends, from the cycle in which it is linked
//     peer midi FROM TO SECONDS          prints "frame: bytes" of what FROM sends; sends a note on and off to TO every 0.1 s

#include <pipewire/pipewire.h>
#include <pipewire/filter.h>
#include <spa/control/control.h>
#include <spa/pod/builder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pw_filter *filter;
static void *in, *out;
static FILE *file;
static float *memory;
static size_t count, room;
static int is_midi;
static long cycles;

static void process(void *data, struct spa_io_position *position) {
    (void)data;
    uint32_t frames = position->clock.duration;
    if (!is_midi) {
        float *samples = pw_filter_get_dsp_buffer(in, frames);
        if (samples && count + frames < room) memcpy(memory + count, samples, frames * sizeof(float)), count += frames;
        return;
    }
    struct pw_buffer *b = pw_filter_dequeue_buffer(in);
    if (b) {
        struct spa_data *d = &b->buffer->datas[0];
        struct spa_pod *pod = spa_pod_from_data(d->data, d->maxsize, d->chunk->offset, d->chunk->size);
        struct spa_pod_control *c;
        if (pod && spa_pod_is_sequence(pod)) SPA_POD_SEQUENCE_FOREACH((struct spa_pod_sequence *)pod, c) {
            printf("%u:", c->offset);
            const uint8_t *bytes = SPA_POD_BODY(&c->value);
            for (uint32_t i = 0; i < SPA_POD_BODY_SIZE(&c->value); i++) printf(" %02x", bytes[i]);
            printf("\n");
        }
        pw_filter_queue_buffer(in, b);
    }
    if ((b = pw_filter_dequeue_buffer(out))) {
        struct spa_data *d = &b->buffer->datas[0];
        struct spa_pod_builder builder;
        struct spa_pod_frame frame;
        spa_pod_builder_init(&builder, d->data, d->maxsize);
        spa_pod_builder_push_sequence(&builder, &frame, 0);
        long every = 1 + 4800 / (long)frames;
        if (cycles % every == 0) {
            uint8_t note[3] = {cycles / every % 2 ? 0x80 : 0x90, 60, 100};
            spa_pod_builder_control(&builder, 17, SPA_CONTROL_Midi);
            spa_pod_builder_bytes(&builder, note, 3);
        }
        spa_pod_builder_pop(&builder, &frame);
        d->chunk->offset = 0;
        d->chunk->stride = 1;
        d->chunk->size = builder.state.offset;
        pw_filter_queue_buffer(out, b);
    }
    cycles++;
}
static const struct pw_filter_events events = {PW_VERSION_FILTER_EVENTS, .process = process};

static void *port(enum pw_direction direction, const char *name) {
    return pw_filter_add_port(
        filter, direction, PW_FILTER_PORT_FLAG_MAP_BUFFERS, sizeof(int),
        pw_properties_new(PW_KEY_FORMAT_DSP, is_midi ? "8 bit raw midi" : "32 bit float mono audio", PW_KEY_PORT_NAME, name, NULL),
        NULL, 0);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    is_midi = strcmp(argv[1], "midi") == 0;
    double seconds = atof(argv[4]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    pw_init(NULL, NULL);
    struct pw_thread_loop *loop = pw_thread_loop_new("peer", NULL);
    pw_thread_loop_start(loop);
    pw_thread_loop_lock(loop);
    filter = pw_filter_new_simple(
        pw_thread_loop_get_loop(loop), "peer",
        pw_properties_new(PW_KEY_NODE_NAME, "peer", PW_KEY_MEDIA_TYPE, is_midi ? "Midi" : "Audio", NULL), &events, NULL);
    room = 48000 * 60;
    memory = calloc(room, sizeof *memory);
    in = port(PW_DIRECTION_INPUT, "in");
    if (is_midi) out = port(PW_DIRECTION_OUTPUT, "out");
    int error = pw_filter_connect(filter, PW_FILTER_FLAG_RT_PROCESS, NULL, 0);
    pw_thread_loop_unlock(loop);
    if (error < 0) return 3;
    char command[512];
    snprintf(command, sizeof command,
        is_midi ? "for i in $(seq 50); do pw-link '%s' peer:in 2>/dev/null && pw-link peer:out '%s' && exit 0; sleep .1; done; exit 1"
                : "for i in $(seq 50); do pw-link '%s' peer:in 2>/dev/null && exit 0; sleep .1; done; exit 1", argv[2], argv[3]);
    if (system(command) != 0) return fprintf(stderr, "peer: no link to %s\n", argv[2]), 4;
    fprintf(stderr, "linked\n");
    usleep((useconds_t)(seconds * 1e6));
    pw_thread_loop_lock(loop);
    pw_filter_destroy(filter);
    pw_thread_loop_unlock(loop);
    if (!is_midi) {
        file = fopen(argv[3], "wb");
        if (!file) return 5;
        fwrite(memory, sizeof(float), count, file);
        fclose(file);
    }
    return 0;
}
