// The interface of LV2 on the side of a plug-in, as far as RenderStackPlugin needs it: structures whose layout LV2 prescribes,
// declared anew, so that nothing has to be installed to build a plug-in.

#ifndef CPLUGINGUEST_H
#define CPLUGINGUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A feature that the host offers.
struct guest_feature {
    const char *_Nonnull uri;
    void *_Nullable data;
};

/// The functions that a host calls: LV2_Descriptor.
struct guest_descriptor {
    const char *_Nonnull uri;
    void *_Nullable (*_Nonnull instantiate)(
        const struct guest_descriptor *_Nonnull descriptor, double rate, const char *_Nullable bundle,
        const struct guest_feature *_Nullable const *_Nullable features);
    void (*_Nonnull connect_port)(void *_Nullable instance, uint32_t port, void *_Nullable data);
    void (*_Nullable activate)(void *_Nullable instance);
    void (*_Nonnull run)(void *_Nullable instance, uint32_t frames);
    void (*_Nullable deactivate)(void *_Nullable instance);
    void (*_Nonnull cleanup)(void *_Nullable instance);
    const void *_Nullable (*_Nullable extension_data)(const char *_Nullable uri);
};

/// The functions by which a host saves and restores what an instance keeps besides its ports: LV2_State_Interface.
struct guest_state_interface {
    int (*_Nonnull save)(
        void *_Nullable instance, void *_Nullable store, void *_Nullable handle, uint32_t flags,
        const struct guest_feature *_Nullable const *_Nullable features);
    int (*_Nonnull restore)(
        void *_Nullable instance, void *_Nullable retrieve, void *_Nullable handle, uint32_t flags,
        const struct guest_feature *_Nullable const *_Nullable features);
};

/// Gives the host a text to keep, by the function that it brings. Returns the status for it.
int guest_store_text(
    void *_Nullable store, void *_Nullable handle, uint32_t key, uint32_t type, const char *_Nonnull text);

/// Returns a text that the host has kept, with its length, or NULL.
const char *_Nullable guest_retrieve_text(
    void *_Nullable retrieve, void *_Nullable handle, uint32_t key, uint32_t type, size_t *_Nonnull length);

/// The host's number of a URI; 0 if it has no numbers.
uint32_t guest_map(const struct guest_feature *_Nullable const *_Nullable features, const char *_Nonnull uri);

/// The longest block that the host tells; 0 if it tells none.
int guest_longest_block(const struct guest_feature *_Nullable const *_Nullable features);

/// Returns the next event of a type in a port's sequence; `false` if there is none any more. `cursor` is 0 at first.
bool guest_next_event(
    const void *_Nonnull sequence, uint32_t type, uint32_t *_Nonnull cursor, int64_t *_Nonnull frame,
    const uint8_t *_Nullable *_Nonnull bytes, uint32_t *_Nonnull count);

/// The state of a host's transport.
struct guest_position {
    double speed, beats_per_minute, beats_per_bar, bar_beat;
    int64_t frame, bar;
    int beat_unit;
    bool has_tempo, has_bar, has_frame;
};

/// The numbers of the words of a position.
struct guest_words {
    uint32_t object, position, speed, frame, bar, bar_beat, beat_unit, beats_per_bar, beats_per_minute;
    uint32_t type_float, type_double, type_int, type_long;
};

/// Looks for a position in a port's sequence: the last one. `false`: there is none.
bool guest_find_position(
    const void *_Nonnull sequence, const struct guest_words *_Nonnull words, struct guest_position *_Nonnull position);

/// Empties the sequence of an output port, and returns the bytes that it may have.
uint32_t guest_begin_events(void *_Nonnull sequence, uint32_t type);

/// Adds an event. `false`: there is no room.
bool guest_add_event(
    void *_Nonnull sequence, uint32_t capacity, uint32_t type, int64_t frame, const uint8_t *_Nonnull bytes,
    uint32_t count);

#endif
