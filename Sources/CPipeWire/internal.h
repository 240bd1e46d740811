// Between the files of CPipeWire.

#ifndef CPIPEWIRE_INTERNAL_H
#define CPIPEWIRE_INTERNAL_H

#include "CPipeWire.h"

// The headers are found by two links in the folder Debian, because the flags of PipeWire's .pc files have one in them for which
// SwiftPM warns in every build of every user.
#if __has_include(<pipewire/pipewire.h>) && __has_include(<spa/utils/defs.h>)
#define CPW_HAS_PIPEWIRE 1

#include <errno.h>
#include <pipewire/pipewire.h>
#include <pipewire/extensions/metadata.h>
#include <pipewire/filter.h>
#include <spa/control/control.h>
#include <spa/param/audio/format-utils.h>
#include <spa/param/latency-utils.h>
#include <spa/param/props.h>
#include <spa/pod/builder.h>
#include <spa/pod/iter.h>
#include <spa/utils/result.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Has a program that uses this file linked with a library, as a module map does for a library that Swift imports.
#define LINKS_WITH(library)                                                                                               \
    __asm__(".pushsection .swift1_autolink_entries, \"e\", @progbits\n\t.asciz \"-l" library "\"\n\t.popsection")

#define METADATA 2

/// A metadata object that is listened to.
struct cpw_metadata {
    cpw_connection *connection;
    struct pw_proxy *proxy;
    struct spa_hook proxy_hook, hook;
    const char *name;
    bool is_listened_to;
};

struct cpw_connection {
    struct pw_thread_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct pw_registry *registry;
    struct spa_hook core_hook, registry_hook;
    struct cpw_metadata metadata[METADATA];
    struct cpw_connection_events events;
    void *self;
    int asked, answered;
    bool is_lost;
};

/// Properties of PipeWire's, from words.
struct pw_properties *cpw_properties(cpw_words words);

/// The times of a position that PipeWire shares.
void cpw_read_position(const struct spa_io_position *position, struct cpw_times *times);

#endif
#endif
