#ifndef CJACK_SHIM_H
#define CJACK_SHIM_H

#if !__has_include(<jack/jack.h>)
#error RenderStack needs the headers of JACK: please install libjack-jackd2-dev (its name in Debian), or build without the trait JACK: traits: ["ALSA"] in your Package.swift, --traits ALSA in the clone.
#else

#include <jack/jack.h>
#include <jack/metadata.h>
#include <jack/midiport.h>
#include <jack/thread.h>
#include <jack/transport.h>
#include <string.h>

// Declarations that Swift cannot import: a function with a variable number of arguments, and packed structures.

static inline jack_client_t *cjack_client_open(
    const char *name, unsigned options, const char *server, unsigned *status) {
    jack_status_t result = (jack_status_t)0;
    jack_client_t *client =
        server ? jack_client_open(name, (jack_options_t)(options | JackServerName), &result, server)
               : jack_client_open(name, (jack_options_t)options, &result);
    *status = (unsigned)result;
    return client;
}

/// Whether the library is PipeWire's, in the place of JACK's own.
static inline int cjack_is_pipewire(void) {
    const char *version = jack_get_version_string ? jack_get_version_string() : NULL;
    return version && strstr(version, "PipeWire") != NULL;
}

static inline void cjack_get_latency(
    jack_port_t *port, jack_latency_callback_mode_t mode, jack_nframes_t *least, jack_nframes_t *most) {
    jack_latency_range_t range = {0, 0};
    jack_port_get_latency_range(port, mode, &range);
    *least = range.min;
    *most = range.max;
}

static inline void cjack_set_latency(
    jack_port_t *port, jack_latency_callback_mode_t mode, jack_nframes_t least, jack_nframes_t most) {
    jack_latency_range_t range = {least, most};
    jack_port_set_latency_range(port, mode, &range);
}

struct cjack_position {
    int state;
    jack_nframes_t frame;
    int has_bars;
    int bar, beat;
    double tick, beats_per_bar, beat_type, ticks_per_beat, beats_per_minute;
    jack_nframes_t bars_offset;
};

static inline struct cjack_position cjack_transport_query(const jack_client_t *client) {
    jack_position_t position;
    struct cjack_position result = {0};
    result.state = (int)jack_transport_query(client, &position);
    result.frame = position.frame;
    if (position.valid & JackPositionBBT) {
        result.has_bars = 1;
        result.bar = position.bar;
        result.beat = position.beat;
        result.tick = position.tick;
        result.beats_per_bar = position.beats_per_bar;
        result.beat_type = position.beat_type;
        result.ticks_per_beat = position.ticks_per_beat;
        result.beats_per_minute = position.beats_per_minute;
        if (position.valid & JackBBTFrameOffset) result.bars_offset = position.bbt_offset;
    }
    return result;
}

static inline jack_nframes_t cjack_position_frame(const jack_position_t *position) { return position->frame; }

static inline void cjack_position_set_bars(
    jack_position_t *position, int bar, int beat, int tick, double bar_start_tick, float beats_per_bar,
    float beat_type, double ticks_per_beat, double beats_per_minute) {
    position->valid = JackPositionBBT;
    position->bar = bar;
    position->beat = beat;
    position->tick = tick;
    position->bar_start_tick = bar_start_tick;
    position->beats_per_bar = beats_per_bar;
    position->beat_type = beat_type;
    position->ticks_per_beat = ticks_per_beat;
    position->beats_per_minute = beats_per_minute;
}

// A callback whose first argument Swift sees as an incomplete type.
typedef void (*cjack_timebase)(int state, jack_nframes_t frames, jack_position_t *position, int is_new, void *argument);
static inline int cjack_set_timebase(jack_client_t *client, int conditional, cjack_timebase callback, void *argument) {
    return jack_set_timebase_callback(client, conditional, (JackTimebaseCallback)callback, argument);
}

#endif
#endif
