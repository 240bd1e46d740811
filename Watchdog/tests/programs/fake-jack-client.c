// A client is closed while another takes its memory: the callbacks of all must get what was given with them.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int jack_set_process_callback(void *client, int (*process)(uint32_t, void *), void *argument);
int jack_client_close(void *client);
void fake_run(void *client);
void *fake_client(int index);
int fake_is_closed(void *client);

static int got[3];
static int process(uint32_t frames, void *argument) {
    free(malloc(frames));
    got[*(int *)argument]++;
    return 0;
}

static void *closer(void *client) { jack_client_close(client); return NULL; }

int main(void) {
    static int names[3] = {0, 1, 2};
    pthread_t thread;
    jack_set_process_callback(fake_client(0), process, &names[0]);
    fake_run(fake_client(0));
    pthread_create(&thread, NULL, closer, fake_client(0));
    while (!fake_is_closed(fake_client(0))) usleep(1000);
    jack_set_process_callback(fake_client(0), process, &names[1]);
    pthread_join(thread, NULL);
    jack_set_process_callback(fake_client(1), process, &names[2]);
    fake_run(fake_client(0));
    fake_run(fake_client(1));
    printf("%d %d %d\n", got[0], got[1], got[2]);
    return 0;
}
