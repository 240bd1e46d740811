// The loops of a phase vocoder. Included by CKernels.h.

#ifndef CKERNELS_STRETCHING_H
#define CKERNELS_STRETCHING_H

/// Multiplies a block with a window.
REALTIME_SAFE void kernel_stretch_window(
    const float *_Nonnull samples, const float *_Nonnull window, float *_Nonnull block, size_t count);

/// Adds a block, multiplied with a window, to a sum.
REALTIME_SAFE void kernel_stretch_add(
    const float *_Nonnull block, const float *_Nonnull window, float *_Nonnull sum, size_t count);

/// Adds the products of one channel to those of the channels before it: its power in each bin, each bin with the conjugate
/// of its lower neighbour, and the block before with the conjugate of the block a hop before this one.
///
/// All planes hold `count` bins and 8 more, which are zero.
///
/// @param before The block before this one: real parts, and then, `stride` further, imaginary parts.
/// @param hop The block whose middle is one hop before this one.
/// @param now This block.
/// @param sums Five planes: power, real and imaginary parts of the neighbours' products, and of those along time.
REALTIME_SAFE void kernel_stretch_products(
    const float *_Nonnull before, const float *_Nonnull hop, const float *_Nonnull now, float *_Nonnull sums,
    size_t stride, size_t count);

/// Makes turns, which are complex numbers of magnitude 1, out of the products: those by which bins turn along time, in the
/// place of their products, and those by which they turn against their lower neighbour.
///
/// @param sums The products, and a sixth plane, which receives the magnitude of the products along time.
/// @param turns The turn of each bin in the block before: two planes.
/// @param excess By how much longer the output's time is than the input's: 0 where both are alike.
REALTIME_SAFE void kernel_stretch_turns(
    float *_Nonnull sums, const float *_Nonnull turns, float excess, size_t stride, size_t count);

/// Finds the turn of each bin: from the loudest bin to softer ones, each turns as it goes on along time or as a neighbour
/// does, whichever of the two is louder.
///
/// @param before The power of each bin in the block before.
/// @param links Room for 2 `count` numbers.
/// @param heads Room for 1,024 numbers, and two more for where the work is.
/// @param isFirst Whether the work begins; else it goes on.
/// @param most The most bins to look at in this call. Each is looked at twice.
REALTIME_SAFE void kernel_stretch_lock(
    const float *_Nonnull before, const float *_Nonnull sums, float *_Nonnull turns, int32_t *_Nonnull links,
    int32_t *_Nonnull heads, size_t stride, size_t count, bool isFirst, size_t most);

/// Computes the gains that make up for what blocks lose where they overlap: of each group of 32 bins, by how far its bins
/// turn as they would go on along time. The gain of what is left behind the groups is 1.
///
/// @param sums The planes behind ``kernel_stretch_turns``.
/// @param before The power of each bin in the block before.
/// @param turns The turn of each bin.
/// @param slowness The output's time over the input's, if that is above 1, else 1.
/// @param gains Receives a gain for each group, and one more.
REALTIME_SAFE void kernel_stretch_make_up(
    const float *_Nonnull sums, const float *_Nonnull before, const float *_Nonnull turns, float slowness,
    float *_Nonnull gains, size_t stride, size_t count);

/// Turns the bins of a spectrum: two planes times two planes, and times the gain of each 32 bins.
REALTIME_SAFE void kernel_stretch_turn(
    const float *_Nonnull spectrum, const float *_Nonnull turns, const float *_Nonnull gains, float *_Nonnull turned,
    size_t stride, size_t count);

/// Multiplies both planes of turns with a gain of each bin.
REALTIME_SAFE void kernel_stretch_gain(
    float *_Nonnull turned, const float *_Nonnull gains, size_t stride, size_t count);

#endif
