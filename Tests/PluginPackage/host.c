// A host of plug-ins that are made with RenderStack: two in one process, one of them twice, a thousand instances, libraries that
// are opened and closed a thousand times, rates and lengths of blocks that change. `host WARM.so KEYS.so`

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct descriptor {
    const char *uri;
    void *(*instantiate)(const struct descriptor *, double, const char *, const void *const *);
    void (*connect_port)(void *, uint32_t, void *);
    void (*activate)(void *);
    void (*run)(void *, uint32_t);
    void (*deactivate)(void *);
    void (*cleanup)(void *);
    const void *(*extension_data)(const char *);
} descriptor;

static void fail(const char *what) {
    fprintf(stderr, "host: %s\n", what);
    exit(1);
}

static const descriptor *load(const char *path, void **library) {
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library) fail(dlerror());
    const descriptor *(*entry)(uint32_t) = (const descriptor *(*)(uint32_t))dlsym(*library, "lv2_descriptor");
    if (!entry || !entry(0) || entry(1)) fail("the entry does not give one plug-in");
    return entry(0);
}

#define MOST 4096
static float in[2][MOST], out[2][2][MOST], controls[2][8];

static void *make(const descriptor *d, double rate, int which, int has_input) {
    void *plugin = d->instantiate(d, rate, "", NULL);
    if (!plugin) fail("there is no instance");
    float values[8] = {18, 3000, 1, 0};
    if (!has_input) values[0] = 3000, values[1] = 1, values[2] = 0;
    memcpy(controls[which], values, sizeof values);
    if (has_input) {
        for (int c = 0; c < 2; c++) d->connect_port(plugin, c, in[c]), d->connect_port(plugin, 2 + c, out[which][c]);
        for (int i = 0; i < 4; i++) d->connect_port(plugin, 4 + i, &controls[which][i]);
    } else {
        d->connect_port(plugin, 0, out[which][0]);
        for (int i = 0; i < 3; i++) d->connect_port(plugin, 1 + i, &controls[which][i]);
    }
    d->activate(plugin);
    return plugin;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int count, char **paths) {
    if (count != 3) fail("it takes the libraries of Warm and Keys");
    void *one, *two;
    const descriptor *warm = load(paths[1], &one), *keys = load(paths[2], &two);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < MOST; i++) in[c][i] = (float)(rand() - RAND_MAX / 2) / RAND_MAX;
    // Two instances of one plug-in and one of another, side by side: they are equal, and keep out of each other's way.
    void *a = make(warm, 48000, 0, 1), *b = make(warm, 48000, 1, 1), *k = keys->instantiate(keys, 48000, "", NULL);
    if (!k) fail("there is no instance of Keys");
    static float tone[MOST], settings[3] = {2000, 1, 0};
    keys->connect_port(k, 0, tone);
    for (int i = 0; i < 3; i++) keys->connect_port(k, 1 + i, &settings[i]);
    for (int round = 0; round < 200; round++) {
        int frames = 1 + (round * 977) % MOST;
        warm->run(a, frames);
        keys->run(k, frames);
        warm->run(b, frames);
        if (memcmp(out[0], out[1], sizeof out[0])) fail("two instances of one plug-in differ");
    }
    warm->cleanup(a), warm->cleanup(b), keys->cleanup(k);
    // A thousand instances, at four rates.
    static const double rates[] = {44100, 48000, 96000, 22050};
    for (int i = 0; i < 1000; i++) {
        void *p = make(warm, rates[i % 4], 0, 1);
        warm->run(p, 1 + i);
        warm->cleanup(p);
    }
    for (int i = 0; i < 1000; i++) {
        dlclose(one), dlclose(two);
        warm = load(paths[1], &one), keys = load(paths[2], &two);
    }
    void *p = make(warm, 48000, 0, 1);
    for (int i = 0; i < 1000; i++) warm->run(p, 64);
    double start = now();
    for (int i = 0; i < 20000; i++) warm->run(p, 64);
    printf("%.1f ns a cycle of 64 frames\n", (now() - start) / 20000 * 1e9);
    warm->cleanup(p);
    dlclose(one), dlclose(two);
    puts("ok");
    return 0;
}
