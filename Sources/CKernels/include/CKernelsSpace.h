// Kernels for sources around a listener.

#ifndef CKERNELS_SPACE_H
#define CKERNELS_SPACE_H

/// A number that is `from + f * (step + f * bend)` at the frame `f` of a block.
struct kernel_course {
    float from, step, bend;
};

/// A sound that is heard at one place, and played to two channels.
struct kernel_flight {
    /// The delay at the frame `f` of a block is `delay + f * (step + f * bend)`.
    double delay, step, bend;
    struct kernel_course left, right;
};

/// Reads a ring at a delay that goes along a parabola, between two samples over 8 of them.
///
/// @param ring `mask + 1` samples, a power of two, and the first 32 of them again.
/// @param position The place of frame 0.
/// @param delay The delay at the frame `f` is `delay + f * (step + f * bend)`; at all frames from 15 before the first to 15 behind
///     the last it is from 4 to less than the ring by 240, or the sample is not used.
/// @param step The change of the delay from a frame to the next is from -10 on.
/// @param count At most 128.
/// @param first The number of the first frame that is read.
REALTIME_SAFE void kernel_wander(
    const float *_Nonnull ring, int64_t mask, int64_t position, double delay, double step, double bend, int64_t first,
    float *_Nonnull output, size_t count);

/// Reads a ring in the same way, and writes that at two levels.
REALTIME_SAFE void kernel_wander_to_two(
    const float *_Nonnull ring, int64_t mask, int64_t position, const struct kernel_flight *_Nonnull flight, int64_t first,
    float *_Nonnull left, float *_Nonnull right, size_t count);

/// Writes a part of a block into the ring at a position in it, as `kernel_write_ring` does, then reads the part in the same way.
REALTIME_SAFE void kernel_relay(
    float *_Nonnull ring, int64_t mask, int64_t position, const float *_Nonnull samples,
    const struct kernel_flight *_Nonnull flight, int64_t first, float *_Nonnull left, float *_Nonnull right, size_t count);

/// Writes a filter that is the sum of shares of three others, or adds it. So many taps are a multiple of 8.
REALTIME_SAFE void kernel_blend(
    const float *_Nonnull first, const float *_Nonnull second, const float *_Nonnull third, float a, float b, float c,
    bool adds, float *_Nonnull filter, size_t taps);

/// `sum += samples * level`, at the frames from `first` on of a block.
REALTIME_SAFE void kernel_lay(
    float *_Nonnull sum, const float *_Nonnull samples, struct kernel_course level, int32_t first, size_t count);

/// `output = samples * level`, in the same way.
REALTIME_SAFE void kernel_put(
    float *_Nonnull output, const float *_Nonnull samples, struct kernel_course level, int32_t first, size_t count);

/// Fades from another sound to that in `samples`: the share of the new is `from + step * (first + i)`, or a smooth curve of
/// that.
REALTIME_SAFE void kernel_pass_over(
    float *_Nonnull samples, const float *_Nonnull old, float from, float step, int32_t first, bool smooth,
    size_t count);

/// The shadow of a sphere on what an ear hears: `w[n] = x[n] - pole * w[n - 1]`, then
/// `one * w[n] + zero * w[n - 1]`, at the frame `first + n` of a block.
///
/// @param samples There is room for a multiple of 8.
/// @param memory 32 numbers, 0 at first.
REALTIME_SAFE void kernel_shadow(
    float *_Nonnull samples, float pole, struct kernel_course one, struct kernel_course zero,
    float *_Nonnull memory, int32_t first, size_t count);

/// Filters samples, in a part of a block of 128 frames in which filters fade into others: `past[i - tap]` times the filter's `tap`,
/// which at the part `t` of the block is `old + t * (new - old) + t * (t - 1) * bend`.
///
/// @param past The present samples, behind `taps - 1` others and before some that have any value: 64 are read at once.
/// @param old `NULL` to leave out the old filter and the bend: the output is that of the new one.
/// @param bend `NULL` to leave out the bend.
/// @param first The frame of the block at which it begins.
/// @param output There is room for a multiple of 64.
REALTIME_SAFE void kernel_fade_filters(
    const float *_Nonnull past, const float *_Nullable old, const float *_Nonnull new, const float *_Nullable bend,
    size_t taps, int32_t first, float *_Nonnull output, size_t count);

/// Makes the numbers of a fade from three filters: both ends and the bend, for filters that go along a ``Course`` in each tap. So many
/// taps are a multiple of 8.
///
/// @return The sum of the bend's taps without their signs.
REALTIME_SAFE float kernel_bend(
    const float *_Nonnull before, const float *_Nonnull now, const float *_Nonnull next, float *_Nonnull begin,
    float *_Nonnull end, float *_Nonnull bend, size_t taps);

/// Writes samples into a ring of `mask + 1`, at a position in it, and the first 32 of the ring again behind it.
REALTIME_SAFE void kernel_write_ring(
    float *_Nonnull ring, int64_t mask, int64_t position, const float *_Nonnull samples, size_t count);

/// Moves samples down to the place that is so many samples before theirs.
REALTIME_SAFE void kernel_slide(float *_Nonnull samples, size_t by, size_t count);

/// One pole with a coefficient that moves. The output may be the input.
REALTIME_SAFE void kernel_soften(
    const float *_Nonnull samples, float *_Nonnull output, struct kernel_course opening, float *_Nonnull memory,
    int32_t first, size_t count);

/// Fetches the lines of the cache with some samples, at most 128, to be written soon, or to be read.
REALTIME_SAFE static inline void kernel_fetch(const float *_Nonnull samples, size_t count, bool toWrite) {
    for (int i = 0; i <= 64; i += 16) {
        if (toWrite) __builtin_prefetch(samples + i, 1);
        else __builtin_prefetch(samples + i, 0);
    }
    if (count <= 64) return;
    for (int i = 80; i <= 128; i += 16) {
        if (toWrite) __builtin_prefetch(samples + i, 1);
        else __builtin_prefetch(samples + i, 0);
    }
}

/// Returns a square root.
REALTIME_SAFE static inline double kernel_square_root(double x) { return __builtin_elementwise_sqrt(x); }

/// Returns a square root.
REALTIME_SAFE static inline float kernel_square_root_float(float x) { return __builtin_elementwise_sqrt(x); }

#endif
