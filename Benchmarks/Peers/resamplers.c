// Live resampling, 44.1 to 48 kHz, stereo, in cycles of 64 output frames: what the libraries of the field cost.
//
//     resamplers NAME time SECONDS             nanoseconds of processor time a frame
//     resamplers NAME convert IN OUT           raw floats, two channels interleaved
//
// Built with -DHAVE_… for each library that is there.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { cycle = 64, room = 8192 };

// Takes up to `count` input frames, makes at most `cycle` output frames; says how many of each.
typedef void step_function(void *state, const float *in, int count, float *out, int *taken, int *made);

#ifdef HAVE_SOXR
#include <soxr.h>
static void *make_soxr(unsigned long recipe) {
    soxr_quality_spec_t quality = soxr_quality_spec(recipe, 0);
    soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
    return soxr_create(44100, 48000, 2, NULL, NULL, &quality, &runtime);
}
static void step_soxr(void *state, const float *in, int count, float *out, int *taken, int *made) {
    size_t used, done;
    soxr_process(state, in, count, &used, out, cycle, &done);
    *taken = (int)used;
    *made = (int)done;
}
#endif

#ifdef HAVE_SAMPLERATE
#include <samplerate.h>
static void step_samplerate(void *state, const float *in, int count, float *out, int *taken, int *made) {
    SRC_DATA data = {.data_in = in, .data_out = out, .input_frames = count, .output_frames = cycle,
                     .src_ratio = 48000.0 / 44100};
    src_process(state, &data);
    *taken = (int)data.input_frames_used;
    *made = (int)data.output_frames_gen;
}
#endif

#ifdef HAVE_SPEEXDSP
#include <speex/speex_resampler.h>
static void step_speex(void *state, const float *in, int count, float *out, int *taken, int *made) {
    spx_uint32_t used = count, done = cycle;
    speex_resampler_process_interleaved_float(state, in, &used, out, &done);
    *taken = (int)used;
    *made = (int)done;
}
#endif

#ifdef HAVE_ZITA
void *zita_make(int variable, int taps);
void zita_step(void *state, const float *in, int count, float *out, int *taken, int *made);
#endif

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    void *state = NULL;
    step_function *step = NULL;
    const char *name = words[1];
#ifdef HAVE_SOXR
    if (!strcmp(name, "soxr-hq")) state = make_soxr(SOXR_HQ), step = step_soxr;
    if (!strcmp(name, "soxr-vhq")) state = make_soxr(SOXR_VHQ), step = step_soxr;
#endif
#ifdef HAVE_SAMPLERATE
    int error;
    if (!strcmp(name, "samplerate-medium")) state = src_new(SRC_SINC_MEDIUM_QUALITY, 2, &error), step = step_samplerate;
    if (!strcmp(name, "samplerate-best")) state = src_new(SRC_SINC_BEST_QUALITY, 2, &error), step = step_samplerate;
#endif
#ifdef HAVE_SPEEXDSP
    if (!strcmp(name, "speexdsp-5")) state = speex_resampler_init(2, 44100, 48000, 5, NULL), step = step_speex;
    if (!strcmp(name, "speexdsp-10")) state = speex_resampler_init(2, 44100, 48000, 10, NULL), step = step_speex;
#endif
#ifdef HAVE_ZITA
    if (!strcmp(name, "zita-fixed")) state = zita_make(0, 48), step = zita_step;
    if (!strcmp(name, "zita-variable")) state = zita_make(1, 48), step = zita_step;
#endif
    if (!state) return 3;
    static float in[2 * room], out[2 * cycle * 4];
    if (!strcmp(words[2], "time")) {
        unsigned seed = 1;
        for (int i = 0; i < 2 * room; i++) in[i] = (float)(seed = seed * 1664525 + 1013904223) * 0x1p-32f - 0.5f;
        long frames = (long)(atof(words[3]) * 48000), done = 0;
        int at = 0, taken, made;
        double start = 0;
        for (int pass = 0; pass < 2; pass++) {
            // The first pass is for the caches and the tables.
            long end = pass ? frames : 4800;
            start = now();
            for (done = 0; done < end; done += made) {
                if (at + 256 > room) at = 0;
                step(state, in + 2 * at, 59, out, &taken, &made);
                at += taken;
            }
        }
        printf("%.3f\n", (now() - start) / done);
        return 0;
    }
    FILE *from = fopen(words[3], "rb"), *to = fopen(words[4], "wb");
    if (!from || !to) return 1;
    int filled = 0, taken, made;
    for (;;) {
        filled += (int)fread(in + 2 * filled, 8, room - filled, from);
        if (filled == 0) break;
        step(state, in, filled, out, &taken, &made);
        fwrite(out, 8, made, to);
        if (taken == 0 && made == 0) break;
        filled -= taken;
        memmove(in, in + 2 * taken, 8 * filled);
    }
    fclose(to);
    return 0;
}
