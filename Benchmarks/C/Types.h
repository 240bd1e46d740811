#ifndef BENCH_TYPES_H
#define BENCH_TYPES_H

#include "CBench.h"

struct bench_bank {
    int count;
    struct bench_voice *voices;
    uint32_t *phases;
    /// Four numbers a voice, of whichever kind, for voices one by one.
    double (*states)[4];
    /// Groups of eight, in lanes: step, level, left, right, b0, a1, a2, two of state, phase.
    float *lanes;
    uint32_t *lane_phases;
    uint32_t *lane_steps;
    float *scratch;
};

enum { lane_level, lane_left, lane_right, lane_b0, lane_a1, lane_a2, lane_s1, lane_s2, lane_kinds };

struct bench_flow {
    struct bench_bandpass filter;
    double states[2][4];
    int delay, position;
    float feedback, mix;
    float *line[2];
    float *scratch;
};

enum { echo_length = 1 << 15 };

struct bench_echo {
    float weights[16];
    int whole, position;
    float feedback, mix;
    /// Twice the same, one after the other, so that no read has a seam.
    float *line;
    float scratch[64];
};

enum { resampler_taps = 112, resampler_phases = 2048 };

struct bench_resampler {
    /// Position in the input, 32.32.
    uint64_t position, step;
    float *table;
    /// The input that has come, from the first tap of the next frame on.
    float *line[2];
    int filled;
};

#endif
