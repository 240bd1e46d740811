// A node with MIDI ports, in the group of the streams. From PipeWire 1.4 on messages are universal packets (UMP) unless a port
// asks for bytes, as these do; what comes as packets all the same is read too.

#include "internal.h"

#ifdef CPW_HAS_PIPEWIRE

/// The kind of a message in a list, by its number: older headers do not have the name.
#define CONTROL_UMP 4

/// The bytes of messages that a link carries in a cycle: of longer lists the receiver gets nothing (0.3.65).
#define LINK_BYTES 4096u

struct port {
    int number;
    struct pw_buffer *buffer;
    struct spa_pod_builder builder;
    struct spa_pod_frame frame;
    /// A long message that comes in packets.
    uint8_t pieces[8192];
    size_t count;
};

struct cpw_ports {
    struct pw_filter *filter;
    struct spa_hook hook;
    struct cpw_ports_events events;
    void *self;
    int inputs, outputs;
    struct port **ports;
};

static void process(void *data, struct spa_io_position *position) {
    (void)position;
    cpw_ports *ports = data;
    ports->events.process(ports->self, ports);
}

static void state_changed(void *data, enum pw_filter_state old, enum pw_filter_state state, const char *error) {
    (void)old, (void)error;
    cpw_ports *ports = data;
    ports->events.state(ports->self, (enum cpw_state)state, pw_filter_get_node_id(ports->filter));
}

static const struct pw_filter_events filter_events = {
    PW_VERSION_FILTER_EVENTS,
    .state_changed = state_changed,
    .process = process,
};

cpw_ports *cpw_ports_new(
    cpw_connection *connection, cpw_words words, int inputs, int outputs, const struct cpw_ports_events *events,
    void *self, int *error) {
    cpw_ports *ports = calloc(1, sizeof *ports);
    *error = -ENOMEM;
    if (!ports) return NULL;
    *ports = (cpw_ports){.events = *events, .self = self, .inputs = inputs, .outputs = outputs};
    ports->ports = calloc((size_t)(inputs + outputs), sizeof *ports->ports);
    struct pw_properties *properties = cpw_properties(words);
    const char *name = pw_properties_get(properties, PW_KEY_NODE_NAME);
    ports->filter = pw_filter_new(connection->core, name ? name : "RenderStack", properties);
    if (!ports->ports || !ports->filter) return cpw_ports_free(ports), NULL;
    pw_filter_add_listener(ports->filter, &ports->hook, &filter_events, ports);
    for (int i = 0; i < inputs + outputs; i++) {
        bool is_input = i < inputs;
        char port_name[32];
        snprintf(port_name, sizeof port_name, "midi_%s_%d", is_input ? "in" : "out", is_input ? i + 1 : i - inputs + 1);
        struct port *port = ports->ports[i] = pw_filter_add_port(
            ports->filter, is_input ? PW_DIRECTION_INPUT : PW_DIRECTION_OUTPUT, PW_FILTER_PORT_FLAG_MAP_BUFFERS,
            sizeof(struct port),
            pw_properties_new(PW_KEY_FORMAT_DSP, "8 bit raw midi", PW_KEY_PORT_NAME, port_name, NULL), NULL, 0);
        if (!port) return cpw_ports_free(ports), NULL;
        memset(port, 0, sizeof *port);
    }
    *error = pw_filter_connect(ports->filter, PW_FILTER_FLAG_RT_PROCESS, NULL, 0);
    if (*error < 0) return cpw_ports_free(ports), NULL;
    return ports;
}

void cpw_ports_stop(cpw_ports *ports) { pw_filter_set_active(ports->filter, false); }

void cpw_ports_free(cpw_ports *ports) {
    if (ports->filter) {
        if (ports->hook.link.next) spa_hook_remove(&ports->hook);
        pw_filter_destroy(ports->filter);
    }
    free(ports->ports);
    free(ports);
}

// MARK: On the data thread

typedef void (*reader)(void *self, int input, uint32_t frame, const uint8_t *bytes, size_t count);

/// Reads universal packets: channel messages and system messages of MIDI 1, and long messages in their pieces.
static void read_packets(
    struct port *port, int input, uint32_t frame, const uint32_t *words, size_t count, void *self, reader each) {
    static const uint8_t sizes[16] = {1, 1, 1, 2, 2, 4, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4};
    for (size_t i = 0; i < count; i += sizes[words[i] >> 28]) {
        uint32_t word = words[i];
        uint8_t kind = word >> 28;
        if (i + sizes[kind] > count) return;
        if (kind == 1 || kind == 2) {
            uint8_t bytes[3] = {(uint8_t)(word >> 16), (uint8_t)(word >> 8), (uint8_t)word};
            uint8_t status = bytes[0];
            size_t length = status >= 0xF4 ? 1 : status == 0xF1 || status == 0xF3 || (status & 0xE0) == 0xC0 ? 2 : 3;
            each(self, input, frame, bytes, length);
        } else if (kind == 3) {
            uint8_t status = (word >> 20) & 15, length = (word >> 16) & 15;
            uint32_t next = words[i + 1];
            uint8_t bytes[6] = {
                (uint8_t)(word >> 8),  (uint8_t)word,        (uint8_t)(next >> 24),
                (uint8_t)(next >> 16), (uint8_t)(next >> 8), (uint8_t)next,
            };
            if (status < 2) port->pieces[0] = 0xF0, port->count = 1;
            for (int b = 0; b < SPA_MIN(length, 6) && port->count > 0; b++)
                if (port->count < sizeof port->pieces - 1) port->pieces[port->count++] = bytes[b];
            if ((status == 0 || status == 3) && port->count > 0) {
                port->pieces[port->count++] = 0xF7;
                each(self, input, frame, port->pieces, port->count);
                port->count = 0;
            }
        }
    }
}

void cpw_ports_read(cpw_ports *ports, int input, void *self, reader each) {
    struct port *port = ports->ports[input];
    struct pw_buffer *buffer = pw_filter_dequeue_buffer(port);
    if (!buffer) return;
    struct spa_data *data = &buffer->buffer->datas[0];
    struct spa_pod *pod = data->data
        ? spa_pod_from_data(data->data, data->maxsize, data->chunk->offset, data->chunk->size) : NULL;
    if (pod && spa_pod_is_sequence(pod)) {
        struct spa_pod_control *control;
        SPA_POD_SEQUENCE_FOREACH((struct spa_pod_sequence *)pod, control) {
            const uint8_t *bytes = SPA_POD_BODY_CONST(&control->value);
            size_t count = SPA_POD_BODY_SIZE(&control->value);
            if (control->type == SPA_CONTROL_Midi) each(self, input, control->offset, bytes, count);
            if (control->type == CONTROL_UMP)
                read_packets(port, input, control->offset, (const uint32_t *)bytes, count / 4, self, each);
        }
    }
    pw_filter_queue_buffer(port, buffer);
}

bool cpw_ports_begin(cpw_ports *ports, int output) {
    struct port *port = ports->ports[ports->inputs + output];
    port->buffer = pw_filter_dequeue_buffer(port);
    if (!port->buffer) return false;
    struct spa_data *data = &port->buffer->buffer->datas[0];
    spa_pod_builder_init(&port->builder, data->data, SPA_MIN(data->maxsize, LINK_BYTES));
    spa_pod_builder_push_sequence(&port->builder, &port->frame, 0);
    return true;
}

bool cpw_ports_write(cpw_ports *ports, int output, uint32_t frame, const uint8_t *bytes, size_t count) {
    struct port *port = ports->ports[ports->inputs + output];
    // A message in a list has 16 bytes before it, and is filled up to 8.
    if (!port->buffer || port->builder.state.offset + 24 + count > port->builder.size) return false;
    spa_pod_builder_control(&port->builder, frame, SPA_CONTROL_Midi);
    spa_pod_builder_bytes(&port->builder, bytes, (uint32_t)count);
    return true;
}

void cpw_ports_end(cpw_ports *ports, int output) {
    struct port *port = ports->ports[ports->inputs + output];
    if (!port->buffer) return;
    spa_pod_builder_pop(&port->builder, &port->frame);
    struct spa_chunk *chunk = port->buffer->buffer->datas[0].chunk;
    chunk->offset = 0;
    chunk->stride = 1;
    chunk->size = SPA_MIN(port->builder.state.offset, port->builder.size);
    pw_filter_queue_buffer(port, port->buffer);
    port->buffer = NULL;
}

#endif
