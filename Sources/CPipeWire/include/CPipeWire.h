// PipeWire as plain functions and structures: a connection, a stream in each direction, a node with MIDI ports.
//
// PipeWire is an interface of C made of macros, inline functions and structures of variable length; Swift sees none of that.
// Without PipeWire's headers at build time every function is there, and ``cpw_open`` says that they are missing.
//
// All functions are for threads that hold the connection's lock (`cpw_lock`), but for those that say "data thread".

#ifndef CPIPEWIRE_H
#define CPIPEWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPW_CHANNELS 64

typedef struct cpw_connection cpw_connection;
typedef struct cpw_stream cpw_stream;
typedef struct cpw_ports cpw_ports;

/// Keys and values in turn, with a null pointer at the end.
typedef const char *_Nullable const *cpw_words;

// MARK: - A connection

/// A connection tells these things, on its own thread, which holds its lock.
struct cpw_connection_events {
    /// The daemon is gone, or has refused something, in its words.
    void (*_Nonnull failed)(void *_Nonnull self, bool is_lost, const char *_Nonnull words);
    /// There is an object: a node, a port, a link. ``cpw_property`` reads its properties.
    void (*_Nonnull came)(void *_Nonnull self, uint32_t id, const char *_Nonnull type, const void *_Nullable properties);
    void (*_Nonnull went)(void *_Nonnull self, uint32_t id);
    /// A value of the metadata "default" or "settings"; null: it has gone.
    void (*_Nonnull said)(void *_Nonnull self, const char *_Nonnull key, const char *_Nullable value);
};

/// Connects to the daemon.
///
/// - Parameter remote: The name of its socket; null for the usual one.
/// - Returns: The connection, whose thread runs; null with an error number below 0.
cpw_connection *_Nullable cpw_open(
    const char *_Nullable remote, cpw_words _Nonnull properties, const struct cpw_connection_events *_Nonnull events,
    void *_Nonnull self, int *_Nonnull error);

/// Ends the connection. Without its lock; when it returns nothing is called any more.
void cpw_close(cpw_connection *_Nonnull connection);
void cpw_lock(cpw_connection *_Nonnull connection);
void cpw_unlock(cpw_connection *_Nonnull connection);

/// Waits until the daemon has answered all that was asked so far. `false`: it has not in that many seconds.
bool cpw_round_trip(cpw_connection *_Nonnull connection, int seconds);

/// A property of an object that has come; null if it has none of that key.
const char *_Nullable cpw_property(const void *_Nullable properties, const char *_Nonnull key);

/// The version of the library, and whether it is there.
const char *_Nonnull cpw_version(void);
bool cpw_is_available(void);

// MARK: - A stream

enum cpw_state { CPW_FAILED = -1, CPW_UNCONNECTED, CPW_CONNECTING, CPW_PAUSED, CPW_STREAMING };

struct cpw_stream_events {
    /// A cycle. On the data thread.
    void (*_Nonnull process)(void *_Nonnull self, cpw_stream *_Nonnull stream);
    /// Another state; the number of its node, `UINT32_MAX` before the daemon has given one.
    void (*_Nonnull state)(void *_Nonnull self, enum cpw_state state, uint32_t node, const char *_Nullable error);
    /// The volumes of the channels as the desktop has set them, or, without any, whether it is mute.
    void (*_Nonnull volume)(void *_Nonnull self, const float *_Nullable volumes, int count, bool is_mute);
};

/// The number by which PipeWire knows a channel's place.
uint32_t cpw_position_mono(void);
uint32_t cpw_position_aux(int number);
/// FL, FR, FC, LFE, RL, RR, SL, SR.
uint32_t cpw_position(int number);

cpw_stream *_Nullable cpw_stream_new(
    cpw_connection *_Nonnull connection, bool is_playback, bool connects, cpw_words _Nonnull properties,
    const uint32_t *_Nonnull positions, int channels, int rate, const struct cpw_stream_events *_Nonnull events,
    void *_Nonnull self, int *_Nonnull error);
/// Has the graph call it no more. Then wait for the daemon (`cpw_round_trip`) before the stream is freed: what the daemon sends about a
/// node that is gone already has files with it, which 0.3.65 would leave open.
void cpw_stream_stop(cpw_stream *_Nonnull stream);
void cpw_stream_free(cpw_stream *_Nonnull stream);
int cpw_stream_set_volume(cpw_stream *_Nonnull stream, float volume);
int cpw_stream_set_mute(cpw_stream *_Nonnull stream, bool is_mute);
/// Changes a property, such as `media.name`.
void cpw_stream_set_property(cpw_stream *_Nonnull stream, const char *_Nonnull key, const char *_Nonnull value);
/// Tells the graph how late the sound is that a stream plays, from where it came in, or how late it will be heard that a stream captures:
/// in nanoseconds.
int cpw_stream_set_latency(cpw_stream *_Nonnull stream, int64_t nanoseconds);

/// The times of a cycle.
struct cpw_times {
    /// The time at which the cycle began, of CLOCK_MONOTONIC, and the nanoseconds between the stream and the device.
    int64_t now, delay;
    /// The clock of the graph: its frame, the frames and the rate of this cycle.
    uint64_t frame;
    uint32_t duration, rate;
    /// The clock's number: another driver has another one.
    uint32_t clock;
    bool is_freewheeling, is_rolling, has_bars;
    /// The frame of the transport, and the beats of its segment.
    int64_t transport_frame;
    double beat, beats_per_bar, beat_type, beats_per_minute;
};

/// The times of the cycle. `false`: there are none yet. On the data thread.
bool cpw_stream_times(cpw_stream *_Nonnull stream, struct cpw_times *_Nonnull times);

/// Takes a buffer: where its channels are, and how many frames it has, or is to get; -1 if there is none. On the data thread.
int cpw_stream_take(cpw_stream *_Nonnull stream, float *_Nullable *_Nonnull channels);
/// Gives it back, with that many frames. On the data thread.
void cpw_stream_give(cpw_stream *_Nonnull stream, int frames);

// MARK: - MIDI ports

struct cpw_ports_events {
    /// A cycle. On the data thread.
    void (*_Nonnull process)(void *_Nonnull self, cpw_ports *_Nonnull ports);
    /// Another state; the number of its node, `UINT32_MAX` before the daemon has given one.
    void (*_Nonnull state)(void *_Nonnull self, enum cpw_state state, uint32_t node);
};

cpw_ports *_Nullable cpw_ports_new(
    cpw_connection *_Nonnull connection, cpw_words _Nonnull properties, int inputs, int outputs,
    const struct cpw_ports_events *_Nonnull events, void *_Nonnull self, int *_Nonnull error);
/// As of a stream.
void cpw_ports_stop(cpw_ports *_Nonnull ports);
void cpw_ports_free(cpw_ports *_Nonnull ports);

/// Goes through the messages of an input in this cycle: takes the buffer, and calls `each`. On the data thread.
void cpw_ports_read(
    cpw_ports *_Nonnull ports, int input, void *_Nonnull self,
    void (*_Nonnull each)(void *_Nonnull self, int input, uint32_t frame, const uint8_t *_Nonnull bytes, size_t count));

/// Begins the messages of an output in this cycle, adds one, and hands them over. On the data thread.
bool cpw_ports_begin(cpw_ports *_Nonnull ports, int output);
bool cpw_ports_write(
    cpw_ports *_Nonnull ports, int output, uint32_t frame, const uint8_t *_Nonnull bytes, size_t count);
void cpw_ports_end(cpw_ports *_Nonnull ports, int output);

#endif
