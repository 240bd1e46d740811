// Kernels for the voices of a sampler.

#ifndef CKERNELS_SAMPLER_H
#define CKERNELS_SAMPLER_H

/// Voices that are computed together, and the frames that are computed at once, at most.
enum { kernel_sampler_lanes = 8, kernel_sampler_frames = 64 };

/// The most frames of a sample that one frame of a voice may advance.
enum { kernel_sampler_fastest = 64 };

/// Room for the frames of a sample that 64 frames of a voice need, and their neighbours.
enum { kernel_sampler_window = (kernel_sampler_frames + 4) * kernel_sampler_fastest + 64 };

/// The frames of a sample: 16-bit integers, with a byte more each where `low` is not null, or floats.
struct kernel_sampler_source {
    const int16_t *_Nullable words;
    const uint8_t *_Nullable low;
    const float *_Nullable floats;
    /// Frames of a longer sample that are in a ring of `mask + 1` words: those from `resident` on, up to `written`.
    const int16_t *_Nullable ring;
    int64_t mask, resident, written;
    /// The frame behind the last, and the loop.
    int64_t end, loopStart, loopEnd;
};

/// The place of a voice in its sample, in units of 2^-32 frames.
struct kernel_sampler_place {
    int64_t position, step;
    /// Nonzero if it loops, and if it has been through the loop before.
    int32_t loops, hasLooped;
    /// Frames that had not come from the disk.
    int64_t missing;
};

/// Reads frames of a sample between its frames: every eighth number of the output is written.
///
/// @param taps 0 for four neighbours (the polynomial of Catmull and Rom), or a table of 257 rows of 16 taps.
/// @param window `kernel_sampler_window` numbers of room.
/// @return The frames before the sample's end; those behind it are zeros.
REALTIME_SAFE size_t kernel_sampler_read(
    const struct kernel_sampler_source *_Nonnull source, struct kernel_sampler_place *_Nonnull place,
    const float *_Nullable taps, float *_Nonnull window, float *_Nonnull output, size_t count);

/// Eight voices: the states of their low-pass filters, and the numbers that move in a straight line since `passed` frames.
struct kernel_sampler {
    float band[8], low[8], k[8];
    float g[8], gSlope[8];
    /// Left, right, and two sends.
    float gains[4][8], slopes[4][8];
    float passed[8];
};

/// Filters eight voices, and adds them to the sums of eight lanes.
///
/// @param samples Eight for each frame.
/// @param sums Of each output 8 for each of 64 frames.
/// @param outputs 2, or 4 with the sends.
/// @param sweeps Whether the cutoff of any voice moves.
REALTIME_SAFE void kernel_sampler_mix(
    struct kernel_sampler *_Nonnull voices, const float *_Nonnull samples, float *_Nonnull sums, size_t outputs,
    bool sweeps, size_t count);

/// Adds up the lanes.
REALTIME_SAFE void kernel_sampler_sum(const float *_Nonnull lanes, float *_Nonnull output, size_t count);

/// Has a voice be at these numbers after so many frames, on a straight line from where it is; at once after 0 frames.
REALTIME_SAFE void kernel_sampler_aim(
    struct kernel_sampler *_Nonnull voices, size_t lane, float g, float k, float left, float right, float reverb,
    float chorus, int32_t frames);

/// Has a voice begin: silent, with an empty filter.
REALTIME_SAFE void kernel_sampler_begin(struct kernel_sampler *_Nonnull voices, size_t lane, float g, float k);

#endif
