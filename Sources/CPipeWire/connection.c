// A connection to the daemon, with a thread of its own, and what it tells about the graph.

#include "internal.h"

#ifdef CPW_HAS_PIPEWIRE

LINKS_WITH("pipewire-0.3");

bool cpw_is_available(void) { return true; }
const char *cpw_version(void) { return pw_get_library_version(); }

struct pw_properties *cpw_properties(cpw_words words) {
    struct pw_properties *properties = pw_properties_new(NULL, NULL);
    for (; properties && words[0]; words += 2) pw_properties_set(properties, words[0], words[1]);
    return properties;
}

const char *cpw_property(const void *properties, const char *key) {
    return properties ? spa_dict_lookup(properties, key) : NULL;
}

// MARK: The core

static void core_error(void *data, uint32_t id, int seq, int error, const char *words) {
    (void)seq;
    cpw_connection *connection = data;
    bool is_lost = id == PW_ID_CORE && error == -EPIPE;
    if (is_lost && connection->is_lost) return;
    connection->is_lost |= is_lost;
    connection->events.failed(connection->self, is_lost, words ? words : "");
    pw_thread_loop_signal(connection->loop, false);
}

static void core_done(void *data, uint32_t id, int seq) {
    cpw_connection *connection = data;
    if (id != PW_ID_CORE) return;
    connection->answered = seq;
    pw_thread_loop_signal(connection->loop, false);
}

static const struct pw_core_events core_events = {
    PW_VERSION_CORE_EVENTS,
    .error = core_error,
    .done = core_done,
};

bool cpw_round_trip(cpw_connection *connection, int seconds) {
    int asked = pw_core_sync(connection->core, PW_ID_CORE, connection->asked);
    if (asked < 0) return false;
    connection->asked = asked;
    struct timespec until;
    pw_thread_loop_get_time(connection->loop, &until, (int64_t)seconds * SPA_NSEC_PER_SEC);
    while (connection->answered != asked && !connection->is_lost)
        if (pw_thread_loop_timed_wait_full(connection->loop, &until) != 0) return false;
    return !connection->is_lost;
}

// MARK: Metadata

static int metadata_said(void *data, uint32_t subject, const char *key, const char *type, const char *value) {
    (void)type;
    struct cpw_metadata *metadata = data;
    if (subject == PW_ID_CORE && key) {
        cpw_connection *connection = metadata->connection;
        connection->events.said(connection->self, key, value);
    }
    return 0;
}

static const struct pw_metadata_events metadata_events = {PW_VERSION_METADATA_EVENTS, .property = metadata_said};

static void forget(struct cpw_metadata *metadata) {
    if (metadata->is_listened_to) {
        spa_hook_remove(&metadata->hook);
        spa_hook_remove(&metadata->proxy_hook);
    }
    metadata->is_listened_to = false;
    metadata->proxy = NULL;
}

static void metadata_removed(void *data) {
    struct cpw_metadata *metadata = data;
    struct pw_proxy *proxy = metadata->proxy;
    forget(metadata);
    if (proxy) pw_proxy_destroy(proxy);
}

static void metadata_destroyed(void *data) { forget(data); }

static const struct pw_proxy_events metadata_proxy_events = {
    PW_VERSION_PROXY_EVENTS,
    .removed = metadata_removed,
    .destroy = metadata_destroyed,
};

static void listen(cpw_connection *connection, uint32_t id, const char *name) {
    for (int i = 0; name && i < METADATA; i++) {
        struct cpw_metadata *metadata = &connection->metadata[i];
        if (strcmp(metadata->name, name) != 0 || metadata->proxy) continue;
        metadata->proxy =
            pw_registry_bind(connection->registry, id, PW_TYPE_INTERFACE_Metadata, PW_VERSION_METADATA, 0);
        if (!metadata->proxy) return;
        metadata->is_listened_to = true;
        pw_proxy_add_listener(metadata->proxy, &metadata->proxy_hook, &metadata_proxy_events, metadata);
        pw_metadata_add_listener((struct pw_metadata *)metadata->proxy, &metadata->hook, &metadata_events, metadata);
    }
}

// MARK: The registry

static void global(
    void *data, uint32_t id, uint32_t permissions, const char *type, uint32_t version, const struct spa_dict *properties) {
    (void)permissions, (void)version;
    cpw_connection *connection = data;
    if (strcmp(type, PW_TYPE_INTERFACE_Metadata) == 0)
        listen(connection, id, cpw_property(properties, PW_KEY_METADATA_NAME));
    const char *name = strrchr(type, ':');
    connection->events.came(connection->self, id, name ? name + 1 : type, properties);
}

static void global_remove(void *data, uint32_t id) {
    cpw_connection *connection = data;
    connection->events.went(connection->self, id);
}

static const struct pw_registry_events registry_events = {
    PW_VERSION_REGISTRY_EVENTS,
    .global = global,
    .global_remove = global_remove,
};

// MARK: Begin and end

cpw_connection *cpw_open(
    const char *remote, cpw_words words, const struct cpw_connection_events *events, void *self, int *error) {
    pw_init(NULL, NULL);
    cpw_connection *connection = calloc(1, sizeof *connection);
    if (!connection) return *error = -ENOMEM, NULL;
    connection->events = *events;
    connection->self = self;
    static const char *const names[METADATA] = {"default", "settings"};
    for (int i = 0; i < METADATA; i++)
        connection->metadata[i] = (struct cpw_metadata){.connection = connection, .name = names[i]};
    errno = 0;
    struct pw_properties *properties = cpw_properties(words);
    if (remote) pw_properties_set(properties, PW_KEY_REMOTE_NAME, remote);
    connection->loop = pw_thread_loop_new("rs-pipewire", NULL);
    if (connection->loop)
        connection->context =
            pw_context_new(pw_thread_loop_get_loop(connection->loop), pw_properties_copy(properties), 0);
    if (connection->context && pw_thread_loop_start(connection->loop) == 0) {
        cpw_lock(connection);
        connection->core = pw_context_connect(connection->context, pw_properties_copy(properties), 0);
        *error = connection->core ? 0 : -errno;
        if (connection->core) {
            pw_core_add_listener(connection->core, &connection->core_hook, &core_events, connection);
            connection->registry = pw_core_get_registry(connection->core, PW_VERSION_REGISTRY, 0);
            pw_registry_add_listener(connection->registry, &connection->registry_hook, &registry_events, connection);
        }
        cpw_unlock(connection);
    } else {
        *error = errno ? -errno : -EIO;
    }
    pw_properties_free(properties);
    if (connection->core) return connection;
    if (*error == 0) *error = -EIO;
    return cpw_close(connection), NULL;
}

void cpw_close(cpw_connection *connection) {
    if (connection->core) {
        cpw_lock(connection);
        for (int i = 0; i < METADATA; i++) metadata_removed(&connection->metadata[i]);
        spa_hook_remove(&connection->registry_hook);
        pw_proxy_destroy((struct pw_proxy *)connection->registry);
        spa_hook_remove(&connection->core_hook);
        pw_core_disconnect(connection->core);
        cpw_unlock(connection);
    }
    if (connection->loop) pw_thread_loop_stop(connection->loop);
    if (connection->context) pw_context_destroy(connection->context);
    if (connection->loop) pw_thread_loop_destroy(connection->loop);
    free(connection);
}

void cpw_lock(cpw_connection *connection) { pw_thread_loop_lock(connection->loop); }
void cpw_unlock(cpw_connection *connection) { pw_thread_loop_unlock(connection->loop); }

#endif
