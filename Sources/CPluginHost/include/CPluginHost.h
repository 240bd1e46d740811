// LV2 plug-ins as plain functions and structures: the library lilv finds and describes them, and this code does for them what
// a host has to.
//
// LV2 is an interface of C, with structures of variable length and lists of features; Swift sees none of that. Without lilv
// at build time every function is there and says that it is missing.
//
// Functions that can fail write a sentence without a full stop into `error` (CLV2_ERROR bytes) and return NULL or false.

#ifndef CPLUGINHOST_H
#define CPLUGINHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Of CPluginMemory.
struct cplugin_memory;

#define CLV2_ERROR 512

// MARK: - Finding and describing (control side; calls of several threads wait for each other)

enum clv2_kind { CLV2_OTHER, CLV2_AUDIO, CLV2_CONTROL, CLV2_CV, CLV2_EVENTS };

/// A value of a control port that has a name.
struct clv2_point {
    float value;
    const char *_Nonnull label;
};

/// A port as the plug-in's description has it.
struct clv2_port {
    const char *_Nonnull symbol;
    const char *_Nonnull name;
    /// The name of the group of ports that it belongs to, or "".
    const char *_Nonnull group;
    /// The last part of the unit's URI, such as "hz" or "db", or "".
    const char *_Nonnull unit;
    enum clv2_kind kind;
    bool is_input, is_toggle, is_integer, is_enumeration, is_logarithmic, is_trigger, scales_with_rate, is_hidden;
    bool is_side_chain, is_latency, is_freewheel, is_optional, takes_midi, takes_position;
    /// NAN if the description does not say it.
    float initial, minimum, maximum;
    size_t minimum_size;
    const struct clv2_point *_Nullable points;
    int point_count;
};

/// A plug-in as its description has it.
struct clv2_plugin {
    const char *_Nonnull uri;
    const char *_Nonnull name;
    const char *_Nonnull kind;
    const char *_Nonnull author;
    const char *_Nonnull license;
    /// The folder, and the library inside.
    const char *_Nonnull bundle;
    const char *_Nonnull library;
    /// A feature that it requires and that this host does not have, or "".
    const char *_Nonnull missing;
    bool is_realtime, has_worker;
    const struct clv2_port *_Nullable ports;
    int port_count;
};

/// A preset of a plug-in.
struct clv2_preset {
    const char *_Nonnull uri;
    const char *_Nonnull label;
};

/// True if the program was built with lilv.
bool clv2_is_available(void);

/// Adds the plug-ins of a folder to those that are known.
bool clv2_load_bundle(const char *_Nonnull path, char *_Nonnull error);

/// The URIs of all plug-ins, those in `bundle` or all, sorted. To be freed with `clv2_free_list`.
char *_Nullable *_Nullable clv2_uris(const char *_Nullable bundle, int *_Nonnull count);
void clv2_free_list(char *_Nullable *_Nullable list, int count);

/// Returns the URI of a plug-in by its URI or name; NULL if none or several have the name, with a sentence. To be freed with
/// `free`.
char *_Nullable clv2_find(const char *_Nonnull word, char *_Nonnull error);

/// Returns the description of a plug-in. To be freed with `clv2_free_plugin`.
struct clv2_plugin *_Nullable clv2_describe(const char *_Nonnull uri, char *_Nonnull error);
void clv2_free_plugin(struct clv2_plugin *_Nullable plugin);

/// Returns the presets of a plug-in, sorted by label. To be freed with `clv2_free_presets`.
struct clv2_preset *_Nullable clv2_presets(const char *_Nonnull uri, int *_Nonnull count);
void clv2_free_presets(struct clv2_preset *_Nullable presets, int count);

// MARK: - Instances (control side)

struct clv2_instance;

/// Loads a plug-in and makes an instance of it that is ready to run.
///
/// @param frames The most frames that a run has.
/// @param latency The latency that the plug-in tells until a run tells another.
/// @param memory Gets the memory of the plug-in's ports: it has no pieces before, and outlives the instance.
struct clv2_instance *_Nullable clv2_instance_new(
    const char *_Nonnull uri, double rate, int frames, int latency, struct cplugin_memory *_Nonnull memory,
    char *_Nonnull error);

/// Deactivates and frees an instance that no thread runs any more.
void clv2_instance_free(struct clv2_instance *_Nullable instance);

/// Does the work that the plug-in has asked for from its run, and the reset that `clv2_ask_for_reset` has asked for.
void clv2_service(struct clv2_instance *_Nonnull instance);

/// Returns the state of an instance as text, with values of its ports, by their indices. To be freed with `free`.
char *_Nullable clv2_save(
    struct clv2_instance *_Nonnull instance, const float *_Nonnull values, char *_Nonnull error);

/// Restores a state or a preset. `values` has a place for each port: those of the control ports that the state names are
/// written, and `found` says which. The instance does not run meanwhile, and gives silence.
bool clv2_restore(
    struct clv2_instance *_Nonnull instance, const char *_Nonnull text, float *_Nonnull values, bool *_Nonnull found,
    char *_Nonnull error);
bool clv2_restore_preset(
    struct clv2_instance *_Nonnull instance, const char *_Nonnull uri, float *_Nonnull values, bool *_Nonnull found,
    char *_Nonnull error);

// MARK: - Running (one thread at a time: the render thread)

/// The values of the control ports, by the ports' indices; those of outputs are the plug-in's to write.
float *_Nonnull clv2_controls(struct clv2_instance *_Nonnull instance);

/// Begins a run: takes the instance, and empties the events. `false`: it is being reset or restored, and gives silence.
bool clv2_begin(struct clv2_instance *_Nonnull instance, bool is_offline);

/// Adds a message of up to 3 bytes, or a part of a system exclusive one, to the events of the run, in the order of time.
void clv2_add_midi(
    struct clv2_instance *_Nonnull instance, int frame, const uint8_t *_Nonnull bytes, int count, bool ends);

/// The transport at the first frame of a run.
struct clv2_position {
    int64_t frame;
    double speed, bar_beat, beats_per_bar, beats_per_minute;
    int64_t bar;
    int beat_unit;
};

/// Tells the plug-in the transport, where it is not what the plug-in reckons from the last run on.
void clv2_add_position(struct clv2_instance *_Nonnull instance, const struct clv2_position *_Nonnull position, int frames);

/// Runs the plug-in on the channels in its memory, between `clv2_begin` and `clv2_end`.
void clv2_run(struct clv2_instance *_Nonnull instance, int frames);

/// Returns the next message that the plug-in has sent; `false` if there is none any more. `cursor` is 0 at first.
bool clv2_next_midi(
    struct clv2_instance *_Nonnull instance, uint32_t *_Nonnull cursor, int *_Nonnull frame,
    const uint8_t *_Nullable *_Nonnull bytes, int *_Nonnull count);

/// Ends a run: answers of its worker reach the plug-in.
void clv2_end(struct clv2_instance *_Nonnull instance);

/// Has the plug-in reset: at once offline, else by `clv2_service`; until then it gives silence.
void clv2_ask_for_reset(struct clv2_instance *_Nonnull instance, bool is_offline);

/// The latency that the plug-in has told, in frames.
int clv2_latency(const struct clv2_instance *_Nonnull instance);

// MARK: - A scan in a child process

/// Starts this program again, as a child that tries plug-ins and does nothing else. Its URIs go into `to`, a line each; for each
/// it answers in `from` with lines: see scan.c. Returns its process id, or -1 with a sentence.
int clv2_scan_start(int *_Nonnull to, int *_Nonnull from, char *_Nonnull error);

#endif
