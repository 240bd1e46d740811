// A bare JACK client that comes back whenever its server dies: what libjack itself leaves behind per reconnect.
// Says after each return how many descriptors and threads the process has and how much memory it uses.

#include <dirent.h>
#include <jack/jack.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int is_gone, cycles;

static int process(jack_nframes_t frames, void *argument) {
    (void)frames, (void)argument;
    cycles++;
    return 0;
}

static void shutdown(void *argument) {
    (void)argument;
    is_gone = 1;
}

static void quiet(const char *message) { (void)message; }

static int entries(const char *path) {
    DIR *folder = opendir(path);
    int count = 0;
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

int main(int count, char **arguments) {
    int rounds = count > 1 ? atoi(arguments[1]) : 1;
    jack_set_error_function(quiet);
    jack_set_info_function(quiet);
    for (int round = 0; round <= rounds; round++) {
        jack_client_t *client = NULL;
        while (!client) {
            client = jack_client_open("bare", JackNoStartServer, NULL);
            if (!client) usleep(50000);
        }
        is_gone = cycles = 0;
        jack_set_process_callback(client, process, NULL);
        jack_on_shutdown(client, shutdown, NULL);
        jack_port_register(client, "out_1", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
        jack_port_register(client, "out_2", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
        jack_activate(client);
        while (cycles < 3 && !is_gone) usleep(1000);
        long pages = 0, resident = 0;
        FILE *memory = fopen("/proc/self/statm", "r");
        if (memory && fscanf(memory, "%ld %ld", &pages, &resident) == 2) fclose(memory);
        printf("%d %d %ld %ld\n", entries("/proc/self/fd"), entries("/proc/self/task"), resident * 4, pages * 4);
        fflush(stdout);
        while (!is_gone && round < rounds) usleep(1000);
        jack_deactivate(client);
        jack_client_close(client);
    }
    return 0;
}
