// The loops of compressors and expanders. Included by CKernels.h.

#ifndef CKERNELS_DYNAMICS_H
#define CKERNELS_DYNAMICS_H

/// The settings of a gain while they rest.
typedef struct {
    /// The decibels of an octave: of magnitudes 20 log10 2, of mean squares half of that.
    float decibels;
    /// The static curve, as `GainCurve` of Dynamics has it.
    float threshold, slope, knee, half_knee, curvature, range, sign;
    /// The octaves of a decibel of reduction, with the sign of the gain.
    float octaves;
    /// A gain is `dry + wet * 2^(octaves * reduction)`.
    float dry, wet;
    /// The shares of the way that are gone in a frame.
    double attack, release;
} kernel_gain_settings;

/// Computes magnitudes, at most 1e10: those of one channel, or the higher ones of two. A sample that is no number counts as 0.
///
/// @param second The second channel; `NULL` if there is none.
/// @param lifts `true`: where a level is higher already it stays.
REALTIME_SAFE void kernel_magnitudes(
    const float *_Nonnull first, const float *_Nullable second, bool lifts, float *_Nonnull levels, size_t count);

/// Computes mean squares of magnitudes, whose new square counts as `share`: those of one channel, or the higher ones of two.
///
/// @param second The second channel; `NULL` if there is none.
/// @param squares The mean squares of the two channels before the first frame, and after the last one.
/// @param lifts `true`: where a level is higher already it stays.
REALTIME_SAFE void kernel_mean_squares(
    const float *_Nonnull first, const float *_Nullable second, double share, double *_Nonnull squares, bool lifts,
    float *_Nonnull levels, size_t count);

/// Computes the gains for levels: in each frame a gain goes a part of the way, in decibels, to where the curve wants it.
///
/// @param state The reduction in dB before the first frame, and after the last one.
/// @param levels The memory of levels and gains is a multiple of 16 long; what is behind the last frame is read and written, and
///   does not matter.
REALTIME_SAFE void kernel_gains(
    const kernel_gain_settings *_Nonnull settings, double *_Nonnull state, const float *_Nonnull levels,
    float *_Nonnull gains, size_t count);

/// Puts the loudest level so far in the place of each, and at least one level.
///
/// @return The loudest without that level.
REALTIME_SAFE float kernel_hold(float loudest, float least, float *_Nonnull levels, size_t count);

/// A filter of second order, frame by frame, as `FilterCoefficients` has it.
typedef struct {
    double drive, damping, rise, turn, direct, band, low;
} kernel_filter_numbers;

/// Filters two channels at once, each through two filters in a row. A sample of 1e10 or more, or one that is no number, counts as 0.
///
/// @param first The numbers of the first filter.
/// @param second Those of the second.
/// @param one The states of the first channel: two of the first filter, two of the second.
/// @param other Those of the second channel.
REALTIME_SAFE void kernel_filter_keys(
    const kernel_filter_numbers *_Nonnull first, const kernel_filter_numbers *_Nonnull second, double *_Nonnull one,
    double *_Nonnull other, const float *_Nonnull left, const float *_Nonnull right, float *_Nonnull left_output,
    float *_Nonnull right_output, size_t count);

/// `samples *= gains`.
REALTIME_SAFE void kernel_apply_gains(float *_Nonnull samples, const float *_Nonnull gains, size_t count);

#endif
