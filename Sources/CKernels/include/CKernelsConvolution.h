// The kernels of a convolution by partitions. A part of CKernels.h, which includes it. All counts are multiples of 16.

#ifndef CKERNELS_CONVOLUTION_H
#define CKERNELS_CONVOLUTION_H

/// A pass of a Fourier transform of a power of two of complex numbers, from 64 on, in place.
///
/// The first pass has a span of all numbers. A span of 64 is transformed, and is the last pass; one that is an odd power of two
/// is cut into halves, another one into quarters, and the next pass has spans of that length. The spectrum's bins are in
/// another order than their frequencies.
///
/// @param twiddles The factors of this pass: see `FourierPlan`.
/// @param from The first of the butterflies to compute; a quarter as many as there are numbers are the pass.
/// @param to The first of them not to compute.
REALTIME_SAFE void kernel_fourier_pass(
    const float *_Nonnull twiddles, size_t span, size_t from, size_t to, float *_Nonnull re, float *_Nonnull im);

/// The same pass of the way back: the passes in the opposite order, and the planes exchanged, are the inverse transform, times
/// the count of numbers.
REALTIME_SAFE void kernel_fourier_pass_back(
    const float *_Nonnull twiddles, size_t span, size_t from, size_t to, float *_Nonnull re, float *_Nonnull im);

/// Turns two blocks of samples into complex numbers: `(older + i newer) * turns`.
REALTIME_SAFE void kernel_turn_blocks(
    const float *_Nonnull older, const float *_Nonnull newer, const float *_Nonnull turnRe, const float *_Nonnull turnIm,
    float *_Nonnull re, float *_Nonnull im, size_t count);

/// Goes the way back: the imaginary part of the numbers, divided by the turns.
REALTIME_SAFE void kernel_turn_back(
    const float *_Nonnull re, const float *_Nonnull im, const float *_Nonnull turnRe, const float *_Nonnull turnIm,
    float *_Nonnull samples, size_t count);

/// Files a spectrum among others: 64 bins of `parts` spectra lie together, each with its real and its imaginary parts.
///
/// @param rows The place of this spectrum among the first 64 bins.
REALTIME_SAFE void kernel_file_spectrum(
    const float *_Nonnull re, const float *_Nonnull im, float *_Nonnull rows, size_t parts, size_t count);

/// Sums the products of filed spectra: the first of a filter with the newest of a history, the second with the one before
/// it, which lies behind it, and so on.
///
/// @param newest The place of the newest spectrum in the history, which is a ring.
/// @param used How many spectra are multiplied, `parts` at most.
/// @param adds Whether the sum is added to what is there.
/// @param from The first bin.
/// @param to The first bin not to compute.
REALTIME_SAFE void kernel_multiply_spectra(
    const float *_Nonnull filter, const float *_Nonnull history, size_t parts, size_t newest, size_t used, bool adds,
    size_t from, size_t to, float *_Nonnull re, float *_Nonnull im);

#endif
