// A sound device that is unplugged and plugged in again while the server lives: two physical ports that go and come at
// SIGUSR1. Says "gone" and "there" when they have.

#include <jack/jack.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t turns;

static void turn(int number) {
    (void)number;
    turns++;
}

static int process(jack_nframes_t frames, void *argument) {
    (void)frames, (void)argument;
    return 0;
}

static void quiet(const char *message) { (void)message; }

int main(void) {
    signal(SIGUSR1, turn);
    jack_set_error_function(quiet);
    jack_set_info_function(quiet);
    jack_client_t *client = jack_client_open("box", JackNoStartServer, NULL);
    if (!client) return 1;
    jack_set_process_callback(client, process, NULL);
    if (jack_activate(client)) return 1;
    jack_port_t *ports[2] = {NULL, NULL};
    int seen = -1;
    while (1) {
        if (turns == seen) {
            usleep(1000);
            continue;
        }
        seen = turns;
        for (int i = 0; i < 2; i++) {
            if (ports[i]) {
                jack_port_unregister(client, ports[i]);
                ports[i] = NULL;
            } else {
                ports[i] = jack_port_register(
                    client, i ? "in_2" : "in_1", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput | JackPortIsPhysical, 0);
            }
        }
        puts(ports[0] ? "there" : "gone");
        fflush(stdout);
    }
}
