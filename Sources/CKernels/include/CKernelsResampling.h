// The kernels that read between the frames of a signal. A part of CKernels.h, which includes it.

#ifndef CKERNELS_RESAMPLING_H
#define CKERNELS_RESAMPLING_H

/// One frame of a resampler: taps from groups of 32 coefficients, weighed with as many samples.
REALTIME_SAFE float kernel_resample(
    const float *_Nonnull table, size_t groups, float place, const float *_Nonnull samples);

/// One frame of two channels.
REALTIME_SAFE void kernel_resample_pair(
    const float *_Nonnull table, size_t groups, float place, const float *_Nonnull left, const float *_Nonnull right,
    float *_Nonnull pair);

/// The taps alone, for more channels.
REALTIME_SAFE void kernel_taps(const float *_Nonnull table, size_t groups, float place, float *_Nonnull taps);

/// One frame of one channel, with the taps at hand.
REALTIME_SAFE float kernel_weigh(const float *_Nonnull taps, size_t groups, const float *_Nonnull samples);

/// Weighs two channels.
REALTIME_SAFE void kernel_weigh_pair(
    const float *_Nonnull taps, size_t groups, const float *_Nonnull left, const float *_Nonnull right,
    float *_Nonnull pair);

/// Two frames of two channels with the taps of each: the same arithmetic, so the same bits.
///
/// @param next The taps of the second frame.
/// @param distance The number of input frames from the first frame's samples to those of the second.
/// @param pairs Receives left and right of the first frame, then of the second.
REALTIME_SAFE void kernel_weigh_pairs(
    const float *_Nonnull taps, const float *_Nonnull next, size_t groups, const float *_Nonnull left,
    const float *_Nonnull right, size_t distance, float *_Nonnull pairs);

/// The filter that reads a sound in memory at another pitch: see `PitchFilter`.
struct kernel_pitch_filter {
    /// 2 to the power of `partBits` parts of a frame, each with `groups` times 32 coefficients.
    const float *_Nonnull table;
    size_t groups, partBits;
};

/// Frames between the frames of a sound, whose positions and step count 2^32 to the frame. Outside of the sound it is silent.
REALTIME_SAFE void kernel_read(
    const struct kernel_pitch_filter *_Nonnull filter, const float *_Nonnull samples, size_t length, uint64_t position,
    uint64_t step, float *_Nonnull frames, size_t count);

/// Reads two channels, which costs less than twice as much as one.
REALTIME_SAFE void kernel_read_pair(
    const struct kernel_pitch_filter *_Nonnull filter, const float *_Nonnull left, const float *_Nonnull right,
    size_t length, uint64_t position, uint64_t step, float *_Nonnull leftFrames, float *_Nonnull rightFrames,
    size_t count);

/// A fixed ratio of sample rates: see Files.c.
struct kernel_ratio {
    /// `up` rows of taps. Before the first of them, behind each, and between the halves of each, 16 zeros.
    const float *_Nonnull table;
    /// Taps in a row, and numbers from a row to the next: 32 more.
    size_t taps, stride;
    /// `up` output frames come from `down` input frames, which are at most 1.1 times as many.
    size_t up, down;
    /// A sixteenth of what is computed at once, a multiple of `up` and of 8; and of the input that goes with it.
    size_t rows, advance;
    /// Frames of the input that a sixteenth looks at: at least `advance + taps + 16`.
    size_t columns;
    /// The taps as two channels meet them: two rows after the other in the order of the output, their taps in turn. From the
    /// first tap to the middle, and then from the last one to the middle, with `extra` zeros at each end, as the second row
    /// begins up to so many frames later. Half of the taps are a multiple of 8.
    const float *_Nonnull pairs;
    size_t pairCount, extra;
};

/// Sixteen times `rows` frames of one channel, and the first lies `taps / 2 - 1` frames behind the first sample.
///
/// @param samples `15 * advance + columns` of them.
/// @param scratch Room for `16 * (columns + rows)` numbers, aligned to 64 bytes.
REALTIME_SAFE void kernel_resample_fixed(
    const struct kernel_ratio *_Nonnull ratio, const float *_Nonnull samples, float *_Nonnull scratch,
    float *_Nonnull output);

/// Computes two channels, with the same bits.
///
/// @param scratch Room for twice as many numbers.
REALTIME_SAFE void kernel_resample_fixed_pair(
    const struct kernel_ratio *_Nonnull ratio, const float *_Nonnull left, const float *_Nonnull right,
    float *_Nonnull scratch, float *_Nonnull leftOutput, float *_Nonnull rightOutput);

/// Computes two channels that come as pairs of 16-bit integers, as if those had been made floats before.
REALTIME_SAFE void kernel_resample_fixed_int16_pairs(
    const struct kernel_ratio *_Nonnull ratio, const int16_t *_Nonnull pairs, float *_Nonnull scratch,
    float *_Nonnull leftOutput, float *_Nonnull rightOutput);

#endif
