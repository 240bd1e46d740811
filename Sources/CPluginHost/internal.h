// Between the files of CPluginHost.

#ifndef CPLUGINHOST_INTERNAL_H
#define CPLUGINHOST_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CPluginHost.h"
#include <CPluginMemory.h>

#if __has_include(<lilv-0/lilv/lilv.h>) && __has_include(<lv2/core/lv2.h>) && __has_include(<serd-0/serd/serd.h>)
#define CLV2_HAS_LILV 1

#include <lilv-0/lilv/lilv.h>
#include <lv2/atom/atom.h>
#include <lv2/atom/forge.h>
#include <lv2/atom/util.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/log/log.h>
#include <lv2/midi/midi.h>
#include <lv2/options/options.h>
#include <lv2/parameters/parameters.h>
#include <lv2/port-groups/port-groups.h>
#include <lv2/port-props/port-props.h>
#include <lv2/presets/presets.h>
#include <lv2/resize-port/resize-port.h>
#include <lv2/state/state.h>
#include <lv2/time/time.h>
#include <lv2/units/units.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Whoever links the file in which this stands links that library too, and nobody else does. A module map's `link` becomes such a
/// line in what imports the module; but SwiftPM would ask pkg-config about a module of the system even where the trait LV2 is off,
/// and a program is to build without lilv too, so a module that needs it cannot be there.
#define LINKS_WITH(library) \
    __asm__(".pushsection .swift1_autolink_entries, \"e\", @progbits\n\t.asciz \"-l" library "\"\n\t.popsection")

// MARK: - The world of plug-ins (world.c)

/// Takes and gives back the lock of the world, which a thread may take several times.
LilvWorld *clv2_world_lock(void);
void clv2_world_unlock(void);

/// Returns whether a word is a URI. lilv prints a complaint on standard error about one that is none.
bool clv2_is_uri(const char *word);

const LilvPlugin *clv2_plugin_by_uri(LilvWorld *world, const char *uri);

/// The most ports that a plug-in may have.
#define CLV2_MOST_PORTS 16384

/// Returns whether a description numbers its ports from 0 on, each once, and lilv understands all of them. lilv makes a table as
/// long as the greatest number, and leaves out all ports where one is damaged.
bool clv2_has_ports_in_order(LilvWorld *world, const LilvPlugin *plugin);

/// Writes the sentence that a failing function gives.
void clv2_say(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

char *clv2_copy(const char *text);

/// The part of a URI behind the last # or /.
const char *clv2_last_part(const char *uri);

/// The features that a plug-in may require: those in `clv2_features`, and two that are promises.
bool clv2_offers(const char *feature);

// MARK: - URIs as numbers (names.c)

LV2_URID clv2_urid(const char *uri);
const char *clv2_uri_of(LV2_URID number);

extern LV2_URID_Map clv2_map;
extern LV2_URID_Unmap clv2_unmap;

/// The numbers that the code itself needs.
struct clv2_urids {
    LV2_URID sequence, chunk, object, midi, float_, double_, int_, long_, bool_, string, path;
    LV2_URID position, speed, frame, bar, bar_beat, beat_unit, beats_per_bar, beats_per_minute;
    LV2_URID minimum_block, maximum_block, nominal_block, sequence_size, sample_rate;
};
extern struct clv2_urids clv2_ids;
void clv2_names_prepare(void);

// MARK: - A ring of messages, written by one thread and read by another (ring.c)

struct clv2_ring {
    uint8_t *memory;
    uint32_t size;
    _Atomic uint32_t written, read;
};
bool clv2_ring_init(struct clv2_ring *ring, uint32_t size);
bool clv2_ring_write(struct clv2_ring *ring, uint32_t size, const void *data);
/// Copies the next message into `message`, which is as large as the ring. -1: there is none.
int64_t clv2_ring_read(struct clv2_ring *ring, void *message);
bool clv2_ring_is_empty(struct clv2_ring *ring);

// MARK: - Instances (instance.c, run.c, state.c)

/// The owner of an instance: a thread may touch the plug-in while it has changed `gate` from free.
enum { CLV2_FREE, CLV2_RUNS, CLV2_HELD, CLV2_RESETS };

struct clv2_instance {
    LilvInstance *lilv;
    const LV2_Descriptor *descriptor;
    LV2_Handle handle;
    const LV2_Worker_Interface *worker;
    const LilvPlugin *plugin;
    struct clv2_plugin *description;
    double rate;
    int frames;

    /// The memory of all ports, which belongs to whoever made the instance.
    struct cplugin_memory *memory;
    /// The values of the control ports, by the ports' numbers.
    float *controls;
    /// The samples that the plug-in writes, by the ports' numbers; NULL for a port of another kind.
    float **outputs;
    uint8_t **sequences;
    uint32_t *capacities;
    int midi_in, midi_out, position_in, latency_port, freewheel_port;
    uint8_t sysex[4096];
    int sysex_count;

    /// The transport that the plug-in reckons with at the next frame.
    struct clv2_position expected;
    bool has_position;

    _Atomic int gate;
    _Atomic int latency;
    /// True while a thread calls a function of the plug-in that is not for the audio: its work, its state, a reset. A thread that
    /// needs the gate too takes that first.
    _Atomic bool works;
    bool is_offline;
    struct clv2_ring requests, answers;
    uint8_t *message, *answer;

    LV2_Worker_Schedule schedule;
    LV2_Options_Option options[6];
    int32_t block_length, minimum_length, sequence_size;
    float rate_option;
    LV2_State_Make_Path make_path;
    LV2_State_Free_Path free_path;
    LV2_State_Map_Path map_path;
    LV2_Log_Log log;
    LV2_Feature feature[12];
    const LV2_Feature *features[13];
};

// MARK: - What lilv reads of a state or preset, checked before it does (check.c)

/// Checks a text that holds the state `subject` of a plug-in and no other, and what a file says of `subject`, if it does. False: a
/// sentence says what is wrong.
bool clv2_check_text(const char *text, const char *subject, char *error);
bool clv2_check_file(const char *path, const char *subject, char *error);
/// Checks what the files of a plug-in say of `subject`, and those to which `subject` leads: these must be there if `needs_all`.
bool clv2_check_files(
    LilvWorld *world, const LilvPlugin *plugin, const LilvNode *subject, bool needs_all, char *error);
/// Whether lilv can load a bundle with this manifest.
bool clv2_check_manifest(const char *path);
/// Loads all bundles of LV2_PATH, or of the usual folders, that lilv can load (bundles.c).
void clv2_load_all(LilvWorld *world);

// MARK: - Functions of instances

void clv2_features(struct clv2_instance *instance);
LV2_Worker_Status clv2_schedule(LV2_Worker_Schedule_Handle handle, uint32_t size, const void *data);
bool clv2_restore_default(struct clv2_instance *instance);
/// Waits until no thread runs the plug-in or works for it, and keeps them from it.
void clv2_hold(struct clv2_instance *instance);
void clv2_let_go(struct clv2_instance *instance);
/// Waits until no thread works for the plug-in, which may run meanwhile.
void clv2_begin_work(struct clv2_instance *instance);
void clv2_end_work(struct clv2_instance *instance);
/// Does all work that the plug-in has asked for.
void clv2_do_work(struct clv2_instance *instance);

#endif
#endif
