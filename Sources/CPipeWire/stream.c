// A stream of planar floats in one direction: the desktop gives it a volume, a converter and a device.

#include "internal.h"

#ifdef CPW_HAS_PIPEWIRE

struct cpw_stream {
    struct pw_stream *stream;
    struct spa_hook hook;
    struct cpw_stream_events events;
    void *self;
    bool is_playback;
    int channels;
    /// PipeWire's own memory, with the times of each cycle.
    _Atomic(const struct spa_io_position *) position;
    /// The most by which what is linked delays the sound: cycles, frames of the graph, and nanoseconds.
    _Atomic float latency_cycles;
    _Atomic int32_t latency_frames;
    _Atomic int64_t latency_nanoseconds;
    /// The buffer between taking and giving.
    struct pw_buffer *buffer;
};

uint32_t cpw_position_mono(void) { return SPA_AUDIO_CHANNEL_MONO; }
uint32_t cpw_position_aux(int number) { return SPA_AUDIO_CHANNEL_AUX0 + (uint32_t)number; }
uint32_t cpw_position(int number) {
    static const uint32_t places[] = {
        SPA_AUDIO_CHANNEL_FL, SPA_AUDIO_CHANNEL_FR, SPA_AUDIO_CHANNEL_FC, SPA_AUDIO_CHANNEL_LFE,
        SPA_AUDIO_CHANNEL_RL, SPA_AUDIO_CHANNEL_RR, SPA_AUDIO_CHANNEL_SL, SPA_AUDIO_CHANNEL_SR,
    };
    return places[number & 7];
}

static void process(void *data) {
    cpw_stream *stream = data;
    stream->events.process(stream->self, stream);
}

static void state_changed(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error) {
    (void)old;
    cpw_stream *stream = data;
    stream->events.state(stream->self, (enum cpw_state)state, pw_stream_get_node_id(stream->stream), error);
}

static void io_changed(void *data, uint32_t id, void *area, uint32_t size) {
    cpw_stream *stream = data;
    if (id == SPA_IO_Position)
        atomic_store(&stream->position, size >= sizeof(struct spa_io_position) ? area : NULL);
}

static void control_info(void *data, uint32_t id, const struct pw_stream_control *control) {
    cpw_stream *stream = data;
    if (id == SPA_PROP_channelVolumes && control->n_values > 0)
        stream->events.volume(stream->self, control->values, (int)control->n_values, false);
    if (id == SPA_PROP_mute && control->n_values > 0)
        stream->events.volume(stream->self, NULL, 0, control->values[0] >= 0.5f);
}

/// Notes how late the sound is on the way to the devices, or from them.
static void note_latency(cpw_stream *stream, const struct spa_pod *param) {
    struct spa_latency_info info;
    if (spa_latency_parse(param, &info) < 0) return;
    // What plays hears from the inputs that it is linked to.
    if (info.direction != (stream->is_playback ? SPA_DIRECTION_INPUT : SPA_DIRECTION_OUTPUT)) return;
    atomic_store(&stream->latency_cycles, info.max_quantum);
    atomic_store(&stream->latency_frames, (int32_t)info.max_rate);
    atomic_store(&stream->latency_nanoseconds, (int64_t)info.max_ns);
}

/// Asks for buffers that hold the longest cycle of a graph, at four times its rate.
static void param_changed(void *data, uint32_t id, const struct spa_pod *param) {
    cpw_stream *stream = data;
    if (id == SPA_PARAM_Latency && param) note_latency(stream, param);
    if (id != SPA_PARAM_Format || !param) return;
    uint8_t memory[512];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const int32_t most = 32768 * (int)sizeof(float);
    const struct spa_pod *buffers = spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers,
        SPA_PARAM_BUFFERS_buffers, SPA_POD_CHOICE_RANGE_Int(4, 2, 8),
        SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(stream->channels),
        SPA_PARAM_BUFFERS_size, SPA_POD_CHOICE_RANGE_Int(most, 64, 8 * most),
        SPA_PARAM_BUFFERS_stride, SPA_POD_Int(sizeof(float)));
    pw_stream_update_params(stream->stream, &buffers, 1);
}

static const struct pw_stream_events stream_events = {
    PW_VERSION_STREAM_EVENTS,
    .state_changed = state_changed,
    .control_info = control_info,
    .io_changed = io_changed,
    .param_changed = param_changed,
    .process = process,
};

cpw_stream *cpw_stream_new(
    cpw_connection *connection, bool is_playback, bool connects, cpw_words words, const uint32_t *positions, int channels,
    int rate, const struct cpw_stream_events *events, void *self, int *error) {
    cpw_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return *error = -ENOMEM, NULL;
    stream->events = *events;
    stream->self = self;
    stream->is_playback = is_playback;
    stream->channels = SPA_CLAMP(channels, 1, CPW_CHANNELS);
    struct pw_properties *properties = cpw_properties(words);
    const char *name = pw_properties_get(properties, PW_KEY_NODE_NAME);
    stream->stream = pw_stream_new(connection->core, name ? name : "RenderStack", properties);
    *error = -errno;
    if (!stream->stream) return free(stream), NULL;
    pw_stream_add_listener(stream->stream, &stream->hook, &stream_events, stream);
    struct spa_audio_info_raw info = SPA_AUDIO_INFO_RAW_INIT(
            .format = SPA_AUDIO_FORMAT_F32P, .channels = (uint32_t)stream->channels, .rate = (uint32_t)rate);
    for (int i = 0; i < stream->channels; i++) info.position[i] = positions[i];
    uint8_t memory[2048];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *format = spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat, &info);
    *error = pw_stream_connect(
        stream->stream, is_playback ? PW_DIRECTION_OUTPUT : PW_DIRECTION_INPUT, PW_ID_ANY,
        (connects ? PW_STREAM_FLAG_AUTOCONNECT : 0) | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_RT_PROCESS, &format, 1);
    if (*error < 0) return cpw_stream_free(stream), NULL;
    return stream;
}

void cpw_stream_stop(cpw_stream *stream) { pw_stream_set_active(stream->stream, false); }

void cpw_stream_free(cpw_stream *stream) {
    spa_hook_remove(&stream->hook);
    pw_stream_destroy(stream->stream);
    free(stream);
}

int cpw_stream_set_volume(cpw_stream *stream, float volume) {
    float volumes[CPW_CHANNELS];
    for (int i = 0; i < stream->channels; i++) volumes[i] = volume;
    return pw_stream_set_control(
        stream->stream, SPA_PROP_channelVolumes, (uint32_t)stream->channels, volumes, 0);
}

int cpw_stream_set_mute(cpw_stream *stream, bool is_mute) {
    float value = is_mute;
    return pw_stream_set_control(stream->stream, SPA_PROP_mute, 1, &value, 0);
}

void cpw_stream_set_property(cpw_stream *stream, const char *key, const char *value) {
    pw_stream_update_properties(stream->stream, &SPA_DICT_INIT(&SPA_DICT_ITEM_INIT(key, value), 1));
}

int cpw_stream_set_latency(cpw_stream *stream, int64_t nanoseconds) {
    uint8_t memory[256];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    struct spa_latency_info info = {
        .direction = stream->is_playback ? SPA_DIRECTION_OUTPUT : SPA_DIRECTION_INPUT,
        .min_ns = (uint64_t)nanoseconds,
        .max_ns = (uint64_t)nanoseconds,
    };
    const struct spa_pod *latency = spa_latency_build(&builder, SPA_PARAM_Latency, &info);
    return pw_stream_update_params(stream->stream, &latency, 1);
}

// MARK: On the data thread

void cpw_read_position(const struct spa_io_position *position, struct cpw_times *times) {
    const struct spa_io_clock *clock = &position->clock;
    times->frame = clock->position;
    times->duration = (uint32_t)clock->duration;
    times->rate = clock->rate.denom;
    times->clock = clock->id;
    times->is_freewheeling = clock->flags & SPA_IO_CLOCK_FLAG_FREEWHEEL;
    times->is_rolling = position->state == SPA_IO_POSITION_STATE_RUNNING;
    const struct spa_io_segment *segment = &position->segments[0];
    // Before its start, and so wherever the transport was put while it stood, it is where the segment begins.
    int64_t running = SPA_MAX((int64_t)clock->position - position->offset - (int64_t)segment->start, 0);
    times->transport_frame
        = (int64_t)segment->position + (int64_t)((double)running * (segment->rate == 0 ? 1 : segment->rate));
    times->has_bars = segment->bar.flags & SPA_IO_SEGMENT_BAR_FLAG_VALID;
    if (!times->has_bars) return;
    times->beat = segment->bar.beat;
    // Newer versions of PipeWire's libjack count the bars from 1 there, and tell the ticks of a beat besides, behind the beat.
    double ticks;
    memcpy(&ticks, (const char *)&segment->bar.beat + 2 * sizeof(double), sizeof ticks);
    if (ticks > 0) times->beat -= segment->bar.signature_num;
    times->beats_per_bar = segment->bar.signature_num;
    times->beat_type = segment->bar.signature_denom;
    times->beats_per_minute = segment->bar.bpm;
}

bool cpw_stream_times(cpw_stream *stream, struct cpw_times *times) {
    const struct spa_io_position *position = atomic_load(&stream->position);
    if (!position || position->clock.rate.denom == 0) return false;
    *times = (struct cpw_times){0};
    cpw_read_position(position, times);
    // pw_stream_get_time_n tells the same time and, in 0.3.65, a delay without what is told in nanoseconds.
    times->now = (int64_t)position->clock.nsec;
    double frames = (double)atomic_load(&stream->latency_cycles) * times->duration + atomic_load(&stream->latency_frames);
    double told = frames * SPA_NSEC_PER_SEC / times->rate + (double)atomic_load(&stream->latency_nanoseconds);
    // Nonsense of another program must not overflow, nor be no number: a minute is the most.
    const double most = 60.0 * SPA_NSEC_PER_SEC;
    times->delay = told > 0 ? (int64_t)(told < most ? told : most) : 0;
    return true;
}

int cpw_stream_take(cpw_stream *stream, float **channels) {
    struct pw_buffer *buffer = stream->buffer = pw_stream_dequeue_buffer(stream->stream);
    if (!buffer) return -1;
    struct spa_buffer *data = buffer->buffer;
    uint32_t frames = UINT32_MAX;
    for (int i = 0; i < stream->channels; i++) {
        struct spa_data *place = &data->datas[SPA_MIN((uint32_t)i, data->n_datas - 1)];
        uint32_t offset = stream->is_playback ? 0 : SPA_MIN(place->chunk->offset, place->maxsize);
        uint32_t size = stream->is_playback ? place->maxsize : SPA_MIN(place->chunk->size, place->maxsize - offset);
        channels[i] = place->data ? SPA_PTROFF(place->data, offset, float) : NULL;
        frames = place->data ? SPA_MIN(frames, size / sizeof(float)) : 0;
    }
    // Whoever asks may count with more channels than this stream has, as long as another one takes its place.
    for (int i = stream->channels; i < CPW_CHANNELS; i++) channels[i] = NULL;
    if (!stream->is_playback) return (int)frames;
    uint64_t asked = buffer->requested;
    const struct spa_io_position *position = atomic_load(&stream->position);
    if (asked == 0) asked = position ? position->clock.duration : 0;
    return (int)SPA_MIN(asked, frames);
}

void cpw_stream_give(cpw_stream *stream, int frames) {
    struct pw_buffer *buffer = stream->buffer;
    if (!buffer) return;
    stream->buffer = NULL;
    if (stream->is_playback) {
        for (uint32_t i = 0; i < buffer->buffer->n_datas; i++) {
            struct spa_chunk *chunk = buffer->buffer->datas[i].chunk;
            chunk->offset = 0;
            chunk->stride = sizeof(float);
            chunk->size = (uint32_t)frames * sizeof(float);
        }
        buffer->size = (uint64_t)frames;
    }
    pw_stream_queue_buffer(stream->stream, buffer);
}

#endif
