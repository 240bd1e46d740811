#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "Types.h"

static void *aligned(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes + 64) != 0) abort();
    memset(memory, 0, bytes + 64);
    return memory;
}

struct bench_bank *bench_bank_make(const struct bench_voice *voices, int count) {
    struct bench_bank *bank = aligned(sizeof *bank);
    int groups = (count + 7) / 8;
    bank->count = count;
    bank->voices = aligned(sizeof *voices * count);
    memcpy(bank->voices, voices, sizeof *voices * count);
    bank->phases = aligned(4 * count);
    bank->states = aligned(32 * count);
    bank->lanes = aligned(groups * 32 * lane_kinds);
    bank->lane_phases = aligned(groups * 32);
    bank->lane_steps = aligned(groups * 32);
    bank->scratch = aligned(2 * 32 * 65536);
    for (int v = 0; v < count; v++) {
        float *lanes = bank->lanes + (v / 8) * 8 * lane_kinds + v % 8;
        const struct bench_voice *voice = voices + v;
        bank->lane_steps[v] = voice->step;
        lanes[8 * lane_level] = voice->level;
        lanes[8 * lane_left] = voice->left;
        lanes[8 * lane_right] = voice->right;
        lanes[8 * lane_b0] = voice->filter.b0;
        lanes[8 * lane_a1] = voice->filter.a1;
        lanes[8 * lane_a2] = voice->filter.a2;
    }
    return bank;
}

void bench_bank_free(struct bench_bank *bank) {
    free(bank->voices);
    free(bank->phases);
    free(bank->states);
    free(bank->lanes);
    free(bank->lane_phases);
    free(bank->lane_steps);
    free(bank->scratch);
    free(bank);
}

struct bench_flow *bench_flow_make(struct bench_bandpass filter, int delay, float feedback, float mix) {
    struct bench_flow *flow = aligned(sizeof *flow);
    flow->filter = filter;
    flow->delay = delay;
    flow->feedback = feedback;
    flow->mix = mix;
    for (int channel = 0; channel < 2; channel++) flow->line[channel] = aligned(4 * (size_t)delay);
    flow->scratch = aligned(2 * 4 * 65536);
    return flow;
}

void bench_flow_free(struct bench_flow *flow) {
    for (int channel = 0; channel < 2; channel++) free(flow->line[channel]);
    free(flow->scratch);
    free(flow);
}

static void put32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static void header(uint8_t bytes[44], long frames) {
    memcpy(bytes, "RIFF....WAVEfmt ....", 20);
    put32(bytes + 4, (uint32_t)(36 + 4 * frames));
    put32(bytes + 16, 16);
    put32(bytes + 20, 1 | 2 << 16);
    put32(bytes + 24, 48000);
    put32(bytes + 28, 48000 * 4);
    put32(bytes + 32, 4 | 16 << 16);
    memcpy(bytes + 36, "data", 4);
    put32(bytes + 40, (uint32_t)(4 * frames));
}

long bench_flow_files(
    const struct bench_kernels *kernels, const char *const paths[3], const char *output, struct bench_bandpass filter,
    int delay, float feedback, float mix, long frames) {
    enum { cycle = 64, block = 64 * 256 };
    int in[3], out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (out < 0) return -1;
    int16_t *from[3], *into = aligned(block * 4);
    for (int file = 0; file < 3; file++) {
        in[file] = open(paths[file], O_RDONLY);
        if (in[file] < 0 || lseek(in[file], 44, SEEK_SET) != 44) return -1;
        from[file] = aligned(block * 4);
    }
    uint8_t start[44];
    header(start, frames);
    if (write(out, start, 44) != 44) return -1;
    struct bench_flow *flow = bench_flow_make(filter, delay, feedback, mix);
    long done = 0;
    while (done < frames) {
        int count = frames - done < block ? (int)(frames - done) : block;
        for (int file = 0; file < 3; file++) {
            if (read(in[file], from[file], (size_t)count * 4) != (ssize_t)count * 4) return -1;
        }
        for (int first = 0; first < count; first += cycle) {
            const int16_t *at[3] = {from[0] + 2 * first, from[1] + 2 * first, from[2] + 2 * first};
            kernels->flow(flow, at, into + 2 * first, count - first < cycle ? count - first : cycle);
        }
        if (write(out, into, (size_t)count * 4) != (ssize_t)count * 4) return -1;
        done += count;
    }
    bench_flow_free(flow);
    for (int file = 0; file < 3; file++) {
        close(in[file]);
        free(from[file]);
    }
    free(into);
    close(out);
    return done;
}

static double bessel(double x) {
    double sum = 1, term = 1;
    for (int k = 1; k < 60; k++) {
        term *= x / (2 * k) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

struct bench_echo *bench_echo_make(double delay, float feedback, float mix) {
    struct bench_echo *echo = aligned(sizeof *echo);
    echo->whole = (int)delay;
    echo->feedback = feedback;
    echo->mix = mix;
    echo->line = aligned(2 * 4 * echo_length);
    double sum = 0, weights[16];
    for (int tap = 0; tap < 16; tap++) {
        // This weight is for what was written `whole + tap - 7` frames ago.
        double x = tap - 7.0 - (delay - echo->whole), edge = x / 8;
        double window = edge * edge < 1 ? bessel(7 * sqrt(1 - edge * edge)) / bessel(7) : 0;
        weights[tap] = window * (x == 0 ? 1 : sin(M_PI * x) / (M_PI * x));
        sum += weights[tap];
    }
    for (int tap = 0; tap < 16; tap++) echo->weights[tap] = (float)(weights[tap] / sum);
    return echo;
}

void bench_echo_free(struct bench_echo *echo) {
    free(echo->line);
    free(echo);
}

struct bench_resampler *bench_resampler_make(double step) {
    struct bench_resampler *resampler = aligned(sizeof *resampler);
    for (int channel = 0; channel < 2; channel++) resampler->line[channel] = aligned(4 * 8192);
    // The first frame looks back at silence.
    resampler->filled = resampler_taps / 2 - 1;
    resampler->step = (uint64_t)(step * 0x1p32 + 0.5);
    resampler->table = aligned(4 * (size_t)resampler_taps * (resampler_phases + 1));
    const double beta = 13.5, cutoff = 0.91, half = resampler_taps / 2;
    for (int phase = 0; phase <= resampler_phases; phase++) {
        double sum = 0, row[resampler_taps];
        for (int tap = 0; tap < resampler_taps; tap++) {
            double x = tap - (half - 1) - phase / (double)resampler_phases, edge = x / half;
            double window = edge * edge < 1 ? bessel(beta * sqrt(1 - edge * edge)) / bessel(beta) : 0;
            double sinc = x == 0 ? cutoff : sin(M_PI * cutoff * x) / (M_PI * x);
            row[tap] = window * sinc;
            sum += row[tap];
        }
        for (int tap = 0; tap < resampler_taps; tap++) {
            resampler->table[phase * resampler_taps + tap] = (float)(row[tap] / sum);
        }
    }
    return resampler;
}

void bench_resampler_free(struct bench_resampler *resampler) {
    for (int channel = 0; channel < 2; channel++) free(resampler->line[channel]);
    free(resampler->table);
    free(resampler);
}

int bench_resampler_needs(const struct bench_resampler *resampler, int frames) {
    uint64_t last = (resampler->position & 0xffffffff) + resampler->step * (uint64_t)(frames - 1);
    int needed = (int)(last >> 32) + resampler_taps - resampler->filled;
    return needed > 0 ? needed : 0;
}

void bench_resampler_cycle(
    const struct bench_kernels *kernels, struct bench_resampler *resampler, const float *const from[2], int needed,
    float *const into[2], int frames) {
    const float *line[2] = {resampler->line[0], resampler->line[1]};
    for (int channel = 0; channel < 2; channel++) {
        memcpy(resampler->line[channel] + resampler->filled, from[channel], 4 * (size_t)needed);
    }
    resampler->filled += needed;
    int used = kernels->resample(resampler, line, into, frames);
    resampler->filled -= used;
    for (int channel = 0; channel < 2; channel++) {
        memmove(resampler->line[channel], resampler->line[channel] + used, 4 * (size_t)resampler->filled);
    }
}

__attribute__((weak)) extern void rtwatch_enter(const char *what, unsigned long long period);
__attribute__((weak)) extern void rtwatch_exit(void);

__attribute__((noinline)) static void cycle_begins(uint64_t period) {
    if (rtwatch_enter) rtwatch_enter("bench", period);
}

__attribute__((noinline)) static void cycle_ends(void) {
    if (rtwatch_exit) rtwatch_exit();
}

void bench_hooks(int times) {
    void (*volatile begins)(uint64_t) = cycle_begins;
    void (*volatile ends)(void) = cycle_ends;
    for (int i = 0; i < times; i++) {
        begins(1333333);
        ends();
    }
}

int bench_realtime(int priority) {
    const struct sched_param parameters = {.sched_priority = priority};
    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters);
}

static int64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t bench_thread_time(void) { return now(CLOCK_THREAD_CPUTIME_ID); }
int64_t bench_process_time(void) { return now(CLOCK_PROCESS_CPUTIME_ID); }

int64_t bench_heap(void) {
    struct mallinfo2 heap = mallinfo2();
    return (int64_t)(heap.uordblks + heap.hblkhd);
}

void bench_sleep(int64_t until) {
    const struct timespec time = {until / 1000000000, until % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {}
}
