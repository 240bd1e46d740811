// The inner loops of the engine, for the processor that runs them: AVX-512 or AVX2 where there is one, else what the compiler
// makes of plain C. All forms give the same bits. None keeps anything, allocates or waits; where two pointers are given their
// memory does not overlap.

#ifndef CKERNELS_H
#define CKERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __swift__
#define REALTIME_SAFE __attribute__((swift_attr("@_noLocks"))) __attribute__((swift_attr("@_noAllocation")))
#else
#define REALTIME_SAFE
#endif

/// Takes the kernels for vectors of four numbers (0: SSE2), eight (1: AVX2) or sixteen (2: AVX-512): for tests and
/// measurements. Not while any is running.
///
/// @return Which are taken: fewer where the processor has no more.
int kernel_use_vectors(int wanted);

/// Fetches the first two lines of the cache of an object that is needed soon. Any address will do, also 0.
REALTIME_SAFE static inline void kernel_fetch_object(uintptr_t address) {
    __builtin_prefetch((const char *)address, 0);
    __builtin_prefetch((const char *)address + 64, 0);
}

/// Fetches the lines of an object's first bytes, to be written soon.
REALTIME_SAFE static inline void kernel_fetch_lines(uintptr_t address, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)address + i, 1);
}

/// Fetches one line.
REALTIME_SAFE static inline void kernel_fetch_line(uintptr_t address) { __builtin_prefetch((const char *)address, 0); }

/// `target = source`.
REALTIME_SAFE void kernel_copy(float *_Nonnull target, const float *_Nonnull source, size_t count);

/// `sum += a`.
REALTIME_SAFE void kernel_add(float *_Nonnull sum, const float *_Nonnull a, size_t count);

/// `sum = ((sum + a) + b) + c`.
REALTIME_SAFE void kernel_add_three(
    float *_Nonnull sum, const float *_Nonnull a, const float *_Nonnull b, const float *_Nonnull c, size_t count);

/// `sum += a * gain`.
REALTIME_SAFE void kernel_add_scaled(float *_Nonnull sum, const float *_Nonnull a, float gain, size_t count);

/// `samples *= gain`.
REALTIME_SAFE void kernel_scale(float *_Nonnull samples, float gain, size_t count);

/// `samples = (((samples * a) * b) * c) * d`.
REALTIME_SAFE void kernel_scale_in_turn(
    float *_Nonnull samples, float a, float b, float c, float d, size_t count);

/// `samples = value`.
REALTIME_SAFE void kernel_fill(float *_Nonnull samples, float value, size_t count);

/// A channel onto two: `right = left * rightGain`, `left *= leftGain`.
REALTIME_SAFE void kernel_spread(
    float *_Nonnull left, float *_Nonnull right, float leftGain, float rightGain, size_t count);

/// Integers as samples: 32,768 is full scale.
REALTIME_SAFE void kernel_from_int16(const int16_t *_Nonnull integers, float *_Nonnull samples, size_t count);

/// Samples as integers, rounded to the nearest and clipped.
///
/// @return How many were outside of -1...1 or no numbers.
REALTIME_SAFE size_t kernel_to_int16(const float *_Nonnull samples, int16_t *_Nonnull integers, size_t count);

/// Integers whose two channels take turns.
REALTIME_SAFE void kernel_from_int16_pairs(
    const int16_t *_Nonnull pairs, float *_Nonnull left, float *_Nonnull right, size_t count);

/// Does the same, into integers.
REALTIME_SAFE size_t kernel_to_int16_pairs(
    const float *_Nonnull left, const float *_Nonnull right, int16_t *_Nonnull pairs, size_t count);

/// A sine. Phase and step count 2^64 to the turn.
REALTIME_SAFE void kernel_sine(uint64_t phase, uint64_t step, float level, float *_Nonnull samples, size_t count);

/// A rising saw, which falls at the half turn.
REALTIME_SAFE void kernel_saw(uint64_t phase, uint64_t step, float *_Nonnull samples, size_t count);

/// A triangle, which rises at 0.
REALTIME_SAFE void kernel_triangle(uint64_t phase, uint64_t step, float *_Nonnull samples, size_t count);

/// A pulse that is 2 above its low for a width of 2^32 to the turn.
REALTIME_SAFE void kernel_pulse(
    uint64_t phase, uint64_t step, uint32_t width, float low, float *_Nonnull samples, size_t count);

/// `samples += ((a * row 0 + b * row 1) + c * row 2) + d * row 3`, of rows that lie so many numbers apart.
REALTIME_SAFE void kernel_edge(
    const float *_Nonnull rows, size_t apart, float a, float b, float c, float d, float *_Nonnull samples, size_t count);

/// Returns whether no sample is infinite, and none is no number.
REALTIME_SAFE bool kernel_is_finite(const float *_Nonnull samples, size_t count);

/// `sum = 0 + a`, whatever was there. Returns whether no sample is infinite, and none is no number.
REALTIME_SAFE bool kernel_start_sum(float *_Nonnull sum, const float *_Nonnull a, size_t count);

/// Weighted sums of neighbours: `output[i]` is the sum of `weights[t] * past[i + taps - 1 - t]`.
REALTIME_SAFE void kernel_combine(
    const float *_Nonnull weights, size_t taps, const float *_Nonnull past, float *_Nonnull output, size_t count);

/// Computes samples half-way between two others, up to 15 more than asked for: `halves[i]` is the sum of
/// `weights[k] * (behind[i - 1 - k] + behind[i + k])` for `k` of 0, 16, 32…112, then 1, 17, and so on, to 127.
///
/// @param weights 128 of them.
/// @param behind 128 samples before it, and 128 behind the last multiple of 16, are read.
REALTIME_SAFE void kernel_halves(
    const float *_Nonnull weights, const float *_Nonnull behind, float *_Nonnull halves, size_t count);

/// Lifts each peak to the highest magnitude from a sample up to the next one, at eight places, 8 frames at a time.
///
/// @param weights Eight taps for a quarter, for the middle, and for three quarters of the way from a sample to a half.
/// @param halves Those behind each sample, of which two before the first and behind the last are read.
REALTIME_SAFE void kernel_peaks(
    const float *_Nonnull weights, const float *_Nonnull samples, const float *_Nonnull halves, float *_Nonnull peaks,
    size_t count);

/// The loop of a delay: `samples` becomes the mix of itself and the echo, `line` what goes round.
///
/// @param round The echo as it has passed the loop's filter.
REALTIME_SAFE void kernel_feed(
    const float *_Nonnull echo, const float *_Nonnull round, const float *_Nonnull feedback, const float *_Nonnull mix,
    float *_Nonnull samples, float *_Nonnull line, size_t count);

/// The sum of some voices, each a ring read at delays that move: over six samples by Lagrange's polynomial.
///
/// @param ring `mask + 1` samples, a power of two, and the first five of them again.
/// @param position The place of the first frame.
/// @param delays Of each voice 64: the delay of each frame, less its anchor, 0 or more.
/// @param anchors 64 whole frames that are in the delay of all voices.
/// @param output Receives the sum times the level: 64 samples, of which multiples of eight are written.
/// @param count The number of frames, 64 at most.
REALTIME_SAFE void kernel_sweep(
    const float *_Nonnull ring, int32_t mask, int32_t position, const float *_Nonnull delays, size_t voices,
    const int32_t *_Nonnull anchors, float level, float *_Nonnull output, size_t count);

/// Multiplies by a gain, and clips at -1 and 1: the mean of the curve along the lines between three samples, a sample late.
///
/// @param past The last sample before the first one, and the one before that: two, which the next call takes again.
REALTIME_SAFE void kernel_hard_clip(float *_Nonnull samples, double *_Nonnull past, float gain, size_t count);

/// A second-order filter at rest, in place, by blocks of eight frames.
///
/// @param numbers 48 of them: four zeros, the impulse response, the eight answers to `u` and to `w`, the eight effects
///     on `u` and on `w`, and what the state becomes of itself.
/// @param u The state at the start of the block that the first frame lies in, and `w`.
/// @param pending The frames of that block which were filtered before; the rest of it is room for what follows.
/// @param pendingCount How many those are: 0…7. The caller counts on.
REALTIME_SAFE void kernel_filter(
    const double *_Nonnull numbers, double *_Nonnull u, double *_Nonnull w, float *_Nonnull pending,
    size_t pendingCount, float *_Nonnull samples, size_t count);

/// Filters eight channels with the same numbers: eight states, eight times eight pending frames, and eight places,
/// `offset` frames behind those in the table.
REALTIME_SAFE void kernel_filter_eight(
    const double *_Nonnull numbers, double *_Nonnull u, double *_Nonnull w, float *_Nonnull pending,
    size_t pendingCount, float *_Nonnull const *_Nonnull channels, size_t offset, size_t count);

/// Voices in one of the structures below.
enum { kernel_lanes = 16 };

/// Sixteen voices: the state of their filters, `tan(πf / rate)` and `1 / Q`, their gains, phase and step (2^32 to the
/// turn). While they glide, the numbers are those at the end of the glide.
struct kernel_voices {
    double u[kernel_lanes], w[kernel_lanes], g[kernel_lanes], k[kernel_lanes];
    float left[kernel_lanes], right[kernel_lanes];
    uint32_t phase[kernel_lanes], step[kernel_lanes];
    /// How a block of eight frames at rest comes of the sine and the cosine of its fifth frame, of `u` and of `w`: the weight of
    /// each in each frame; those of the sine and the cosine in `u` and `w` behind the block; those of `u` and `w` in both.
    float weights[8][4][kernel_lanes], inputs[2][2][kernel_lanes];
    double states[2][2][kernel_lanes];
    /// Whether the weights are to be reckoned anew.
    int32_t isNew;
};

/// The numbers of one voice.
struct kernel_voice {
    double g, k;
    float left, right;
    uint32_t step;
};

/// The glides of sixteen voices: their numbers at the start, the change in each frame, the beginning and the length.
struct kernel_voice_glides {
    double g[kernel_lanes], gSlope[kernel_lanes], k[kernel_lanes], kSlope[kernel_lanes];
    float left[kernel_lanes], leftSlope[kernel_lanes], right[kernel_lanes], rightSlope[kernel_lanes];
    uint32_t step[kernel_lanes], stepSlope[kernel_lanes];
    int32_t begin[kernel_lanes], length[kernel_lanes];
};

/// Renders voices: each a sine through its band-pass, on two channels.
///
/// @param ends For each sixteen when the last of their glides is over.
/// @param start When the first frame is: counts as `begin` and `ends` do, and is less than 2^23. Filters that have faded are
///     emptied where it is a multiple of 64.
/// @param lanes Room for 16 numbers a frame.
REALTIME_SAFE void kernel_voices(
    struct kernel_voices *_Nonnull voices, const struct kernel_voice_glides *_Nonnull glides,
    const int32_t *_Nonnull ends, size_t groups, int32_t start, float *_Nonnull left, float *_Nonnull right,
    float *_Nonnull lanes, size_t count);

/// Gives a voice other numbers at once.
REALTIME_SAFE void kernel_voice_put(
    struct kernel_voices *_Nonnull voices, struct kernel_voice_glides *_Nonnull glides, size_t voice,
    struct kernel_voice numbers);

/// Lets a voice glide to other numbers from wherever it is, unless it has them or is on its way there.
REALTIME_SAFE void kernel_voice_glide(
    struct kernel_voices *_Nonnull voices, struct kernel_voice_glides *_Nonnull glides, int32_t *_Nonnull ends,
    size_t voice, struct kernel_voice numbers, int32_t now, int32_t frames);

/// Begins all turns anew, empties the filters and ends the glides.
REALTIME_SAFE void kernel_voices_reset(
    struct kernel_voices *_Nonnull voices, struct kernel_voice_glides *_Nonnull glides, int32_t *_Nonnull ends,
    size_t groups);

/// Makes `now` the moment that is counted from.
REALTIME_SAFE void kernel_voices_turn_back(
    struct kernel_voice_glides *_Nonnull glides, int32_t *_Nonnull ends, size_t groups, int32_t now);

#include "CKernelsResampling.h"
#include "CKernelsDynamics.h"
#include "CKernelsReverb.h"
#include "CKernelsSpace.h"
#include "CKernelsStretching.h"
#include "CKernelsSampler.h"

#include "CKernelsConvolution.h"

#ifdef __cplusplus
}
#endif

#endif
