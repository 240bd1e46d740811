// Without PipeWire at build time: every function is there, and there is no connection, so the others are never called.

#include "internal.h"

#ifndef CPW_HAS_PIPEWIRE

bool cpw_is_available(void) { return false; }
const char *cpw_version(void) { return ""; }
cpw_connection *cpw_open(
    const char *remote, cpw_words properties, const struct cpw_connection_events *events, void *self, int *error) {
    return (void)remote, (void)properties, (void)events, (void)self, *error = 0, NULL;
}
void cpw_close(cpw_connection *connection) { (void)connection; }
void cpw_lock(cpw_connection *connection) { (void)connection; }
void cpw_unlock(cpw_connection *connection) { (void)connection; }
bool cpw_round_trip(cpw_connection *connection, int seconds) { return (void)connection, (void)seconds, false; }
const char *cpw_property(const void *properties, const char *key) { return (void)properties, (void)key, NULL; }
uint32_t cpw_position_mono(void) { return 0; }
uint32_t cpw_position_aux(int number) { return (uint32_t)number; }
uint32_t cpw_position(int number) { return (uint32_t)number; }
cpw_stream *cpw_stream_new(
    cpw_connection *connection, bool is_playback, bool connects, cpw_words words, const uint32_t *positions, int channels,
    int rate, const struct cpw_stream_events *events, void *self, int *error) {
    (void)connection, (void)is_playback, (void)connects, (void)words, (void)positions, (void)channels, (void)rate;
    return (void)events, (void)self, *error = 0, NULL;
}
void cpw_stream_stop(cpw_stream *stream) { (void)stream; }
void cpw_stream_free(cpw_stream *stream) { (void)stream; }
int cpw_stream_set_volume(cpw_stream *stream, float volume) { return (void)stream, (void)volume, 0; }
int cpw_stream_set_mute(cpw_stream *stream, bool is_mute) { return (void)stream, (void)is_mute, 0; }
void cpw_stream_set_property(cpw_stream *stream, const char *key, const char *value) {
    (void)stream, (void)key, (void)value;
}
int cpw_stream_set_latency(cpw_stream *stream, int64_t nanoseconds) { return (void)stream, (void)nanoseconds, 0; }
bool cpw_stream_times(cpw_stream *stream, struct cpw_times *times) { return (void)stream, (void)times, false; }
int cpw_stream_take(cpw_stream *stream, float **channels) { return (void)stream, (void)channels, -1; }
void cpw_stream_give(cpw_stream *stream, int frames) { (void)stream, (void)frames; }
cpw_ports *cpw_ports_new(
    cpw_connection *connection, cpw_words words, int inputs, int outputs, const struct cpw_ports_events *events,
    void *self, int *error) {
    (void)connection, (void)words, (void)inputs, (void)outputs;
    return (void)events, (void)self, *error = 0, NULL;
}
void cpw_ports_stop(cpw_ports *ports) { (void)ports; }
void cpw_ports_free(cpw_ports *ports) { (void)ports; }
void cpw_ports_read(
    cpw_ports *ports, int input, void *self,
    void (*each)(void *self, int input, uint32_t frame, const uint8_t *bytes, size_t count)) {
    (void)ports, (void)input, (void)self, (void)each;
}
bool cpw_ports_begin(cpw_ports *ports, int output) { return (void)ports, (void)output, false; }
bool cpw_ports_write(cpw_ports *ports, int output, uint32_t frame, const uint8_t *bytes, size_t count) {
    return (void)ports, (void)output, (void)frame, (void)bytes, (void)count, false;
}
void cpw_ports_end(cpw_ports *ports, int output) { (void)ports, (void)output; }

#endif
