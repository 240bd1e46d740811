// The engine's work in hand-tuned C, against which the engine is measured, in the same process and the same rounds.
//
// Three tables of the same functions: one built for the processor's base (SSE2 on x86-64), one for AVX2 with FMA, and one for
// AVX2 that rounds as RenderStack does: without FMA, and with filters in double precision.

#ifndef CBENCH_H
#define CBENCH_H

#include <stddef.h>
#include <stdint.h>

/// A band-pass filter of second order, b0 (1 - z⁻²) / (1 + a1 z⁻¹ + a2 z⁻²).
struct bench_bandpass {
    float b0, a1, a2;
};

/// A voice: a sine, its band-pass, its place.
struct bench_voice {
    /// Turns a frame, 2^32 to the turn.
    uint32_t step;
    float level, left, right;
    struct bench_bandpass filter;
};

struct bench_bank;
struct bench_flow;
struct bench_echo;
struct bench_resampler;

struct bench_kernels {
    const char *name;

    void (*mix_add)(float *into, const float *from, int frames);
    void (*mix_four)(float *into, const float *const from[4], int frames);
    void (*from_int16)(const int16_t *from, float *into, int frames);
    /// Returns how many did not fit.
    int (*to_int16)(const float *from, int16_t *into, int frames);
    /// The state is two inputs and two outputs of the past: four floats, or as many doubles.
    void (*bandpass)(struct bench_bandpass filter, void *state, float *samples, int frames);
    /// Eight channels with one filter, each with two numbers of state: 16 floats or doubles, aligned to 64 bytes; frames a
    /// multiple of 8.
    void (*bandpass_eight)(struct bench_bandpass filter, void *state, float *const samples[8], int frames);
    /// Sixteen weights, the last for the oldest; `from` begins 15 frames before the first.
    void (*combine)(const float weights[16], const float *from, float *into, int frames);
    /// Returns the phase after it.
    uint32_t (*sine)(uint32_t phase, uint32_t step, float level, float *into, int frames);

    /// Voices one by one, each in passes over a cycle: as modules do it. Adds nothing: it overwrites.
    void (*voices)(struct bench_bank *bank, float *left, float *right, int frames);
    /// Eight voices at a time, in lanes.
    void (*bank)(struct bench_bank *bank, float *left, float *right, int frames);

    /// So many gains in a row, each a call.
    void (*gains)(const float *gains, int count, float *samples, int frames);
    /// So many constants added up, each a call into a buffer of its own.
    void (*sources)(const float *values, int count, float *buffer, float *sum, int frames);

    /// A cycle of the flow: three stereo files in 16 bits, one filtered, two delayed, into 16 bits.
    void (*flow)(struct bench_flow *flow, const int16_t *const from[3], int16_t *into, int frames);

    /// Echoes of a time between two frames: sixteen taps, feedback, mix. At most 64 frames; the delay is longer.
    void (*echo)(struct bench_echo *echo, float *samples, int frames);

    /// Stereo; returns how many input frames it is ahead by.
    int (*resample)(struct bench_resampler *resampler, const float *const from[2], float *const into[2], int frames);
};

const struct bench_kernels *bench_plain(void);
/// NULL where the processor has no AVX2 and FMA.
const struct bench_kernels *bench_fast(void);
/// NULL where the processor has no AVX2.
const struct bench_kernels *bench_exact(void);

struct bench_bank *bench_bank_make(const struct bench_voice *voices, int count);
void bench_bank_free(struct bench_bank *bank);

struct bench_flow *bench_flow_make(struct bench_bandpass filter, int delay, float feedback, float mix);
void bench_flow_free(struct bench_flow *flow);
/// From three WAV files as this benchmark writes them (44 bytes of header) into another; returns frames, negative on error.
long bench_flow_files(
    const struct bench_kernels *kernels, const char *const paths[3], const char *output, struct bench_bandpass filter,
    int delay, float feedback, float mix, long frames);

struct bench_echo *bench_echo_make(double delay, float feedback, float mix);
void bench_echo_free(struct bench_echo *echo);

/// 112 taps, 2,048 phases with straight lines between them; steps up to 1.
struct bench_resampler *bench_resampler_make(double step);
void bench_resampler_free(struct bench_resampler *resampler);
/// Returns the number of input frames that the next output frames need; `bench_resampler_cycle` takes that many.
int bench_resampler_needs(const struct bench_resampler *resampler, int frames);
void bench_resampler_cycle(
    const struct bench_kernels *kernels, struct bench_resampler *resampler, const float *const from[2], int needed,
    float *const into[2], int frames);

/// So many times what a cycle does for the watchdog where that is not loaded.
void bench_hooks(int times);

/// Real-time priority for the calling thread; not 0 where it is refused.
int bench_realtime(int priority);

/// Processor time of the calling thread, and of the whole process, in nanoseconds.
int64_t bench_thread_time(void);
int64_t bench_process_time(void);

/// Bytes that the program has from the C library, as that counts them.
int64_t bench_heap(void);

/// Sleeps until a time of CLOCK_MONOTONIC, in nanoseconds.
void bench_sleep(int64_t until);

#endif
