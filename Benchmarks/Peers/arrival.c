// Hears how old a sound is that tells its time: what `bench stamps` plays.
//
//     arrival NODE:PORT SECONDS
//
// Prints the median age in nanoseconds: from the rendering of a frame to the begin of the cycle that takes it. Sound that is rendered in
// that very cycle is younger than its begin: its age is below 0.

#include <pipewire/pipewire.h>
#include <pipewire/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *port;
static double ages[1 << 20];
static int count;

static void process(void *data, struct spa_io_position *position) {
    (void)data;
    uint32_t frames = position->clock.duration;
    const float *samples = pw_filter_get_dsp_buffer(port, frames);
    if (!samples || samples[0] == 0 || count == 1 << 20) return;
    double age = (double)(position->clock.nsec % 1000000000) - samples[0] * 1e9;
    ages[count++] = age < -5e8 ? age + 1e9 : age > 5e8 ? age - 1e9 : age;
}
static const struct pw_filter_events events = {PW_VERSION_FILTER_EVENTS, .process = process};

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    pw_init(NULL, NULL);
    struct pw_thread_loop *loop = pw_thread_loop_new("arrival", NULL);
    pw_thread_loop_start(loop);
    pw_thread_loop_lock(loop);
    struct pw_filter *filter = pw_filter_new_simple(
        pw_thread_loop_get_loop(loop), "arrival",
        pw_properties_new(PW_KEY_NODE_NAME, "arrival", PW_KEY_MEDIA_TYPE, "Audio", NULL), &events, NULL);
    port = pw_filter_add_port(
        filter, PW_DIRECTION_INPUT, PW_FILTER_PORT_FLAG_MAP_BUFFERS, sizeof(int),
        pw_properties_new(PW_KEY_FORMAT_DSP, "32 bit float mono audio", PW_KEY_PORT_NAME, "in", NULL), NULL, 0);
    if (pw_filter_connect(filter, PW_FILTER_FLAG_RT_PROCESS, NULL, 0) < 0) return 3;
    pw_thread_loop_unlock(loop);
    char command[512];
    snprintf(command, sizeof command, "for i in $(seq 50); do pw-link '%s' arrival:in 2>/dev/null && exit 0; sleep .1; done; exit 1", argv[1]);
    if (system(command) != 0) return 4;
    usleep((useconds_t)(atof(argv[2]) * 1e6));
    pw_thread_loop_lock(loop);
    pw_filter_destroy(filter);
    pw_thread_loop_unlock(loop);
    if (count < 10) return 5;
    qsort(ages, (size_t)count, sizeof *ages, order);
    printf("%.0f\n", ages[count / 2]);
    return 0;
}
