// libpipewire as far as fake-pipewire-client.c asks.
#include <stddef.h>
#include <stdint.h>

static struct client { const void *const *events; void *data; } clients[4];
static int count;

void *pw_stream_new_simple(void *loop, const char *name, void *properties, const void *events, void *data) {
    (void)loop, (void)name, (void)properties;
    clients[count] = (struct client){events, data};
    return &clients[count++];
}

void *pw_filter_new_simple(void *loop, const char *name, void *properties, const void *events, void *data) {
    return pw_stream_new_simple(loop, name, properties, events, data);
}

int pw_stream_connect(void *stream, int direction, uint32_t target, uint32_t flags, const void **list, uint32_t length) {
    (void)direction, (void)target, (void)list, (void)length;
    return stream && flags ? 0 : -1;
}

int pw_filter_connect(void *filter, uint32_t flags, const void **list, uint32_t length) {
    (void)list, (void)length;
    return filter && flags ? 0 : -1;
}

void pw_stream_destroy(void *stream) {
    const struct client *client = stream;
    ((void (*)(void *))client->events[1])(client->data);
}

void fake_state(void *stream) {
    const struct client *client = stream;
    ((void (*)(void *, int, int, const char *))client->events[2])(client->data, 1, -1, "an error");
}

void fake_process(void *stream) {
    const struct client *client = stream;
    ((void (*)(void *))client->events[8])(client->data);
}

void fake_filter_process(void *filter, const void *position) {
    const struct client *client = filter;
    ((void (*)(void *, const void *))client->events[7])(client->data, position);
}
