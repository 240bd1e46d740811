// libjack as far as fake-jack-client.c asks: the memory of a client that is being closed is at once the next one's.
#include <stdint.h>
#include <stddef.h>
#include <unistd.h>

typedef int (*callback)(uint32_t, void *);
static struct client { callback process; void *argument; } clients[2];

void fake_run(void *client) { ((struct client *)client)->process(64, ((struct client *)client)->argument); }
void *fake_client(int index) { return &clients[index]; }
int fake_is_closed(void *client) { return !((struct client *)client)->process; }

int jack_set_process_callback(void *client, callback process, void *argument) {
    *(struct client *)client = (struct client){process, argument};
    return 0;
}

uint32_t jack_get_sample_rate(void *client) { return client ? 48000 : 0; }

int jack_client_close(void *client) {
    *(struct client *)client = (struct client){NULL, NULL};
    usleep(300000);   // it has given its memory back and says good-bye to the server
    return 0;
}
