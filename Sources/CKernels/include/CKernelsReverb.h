// The loops of a reverb. Included by CKernels.h.

#ifndef CKERNELS_REVERB_H
#define CKERNELS_REVERB_H

/// The rows of a network's numbers, each with one for every line. What has a slope is the value at the first of 64 frames, and
/// its change from frame to frame.
enum {
    network_gain, network_gain_slope,
    /// Two filters of the first order: what goes through, what is fed into the state, and what the state keeps.
    network_low_direct, network_low_feed, network_low_hold, network_low_state,
    network_high_direct, network_high_feed, network_high_hold, network_high_state,
    network_low_direct_slope, network_low_feed_slope, network_low_hold_slope,
    network_high_direct_slope, network_high_feed_slope, network_high_hold_slope,
    /// Two neighbouring lines are turned by an angle: its cosine, and its sine with the sign of each. Those of the second count.
    network_cosine, network_cosine_slope, network_sine, network_sine_slope,
    /// The share of the second delay.
    network_fade, network_fade_slope,
    /// The share of each input that goes into a line: a row for each input. Of four lines that of the first counts; the others
    /// have its size, and the sign of `kernel_input_is_negative` against it.
    network_inputs,
};

/// Returns whether an input goes into a line with the opposite sign: by a row of Hadamard's matrix, another than that of the
/// output of the same number. Of a line only its number among eight counts.
REALTIME_SAFE static inline bool kernel_input_is_negative(size_t input, size_t line) {
    static const uint8_t rows[8] = {5, 6, 3, 0, 4, 7, 1, 2};
    return __builtin_parity((unsigned)line & rows[input % 8]);
}

/// Runs a feedback delay network for at most 64 frames, and at most as many as its shortest delay: each line through its
/// equaliser, sums and differences of them all (by a matrix of Hadamard, which has to be scaled by the gains), the neighbours
/// turned, the inputs added.
///
/// @param ring The lines, `stride` apart, each of `mask + 1` samples and 72 more.
/// @param position Where the first frame is written; it and `count` do not cross a multiple of 64.
/// @param age What is older counts as zero.
/// @param delays One for each line, and then another for each line, to which a fade leads.
/// @param fades Whether the second delays count.
/// @param moves Whether the slopes of the filters count.
/// @param numbers Rows of `8 groups` numbers each.
/// @param inputs 64 samples for each channel, of which `count` are heard.
/// @param late Room for eight rows of 64: the first eight sums. As much as the next multiple of eight is written.
/// @param first The number of the first frame among the 64 for which the slopes are.
/// @param groups The lines divided by eight: 1, 2 or 4.
REALTIME_SAFE void kernel_network(
    float *_Nonnull ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *_Nonnull delays,
    bool fades, bool moves, float *_Nonnull numbers, const float *_Nonnull inputs, size_t channels,
    float *_Nonnull late, int32_t first, size_t count, size_t groups);

/// Lets the angles of a network's pairs of lines go on to those at the end of the next 64 frames.
///
/// @param numbers The network's numbers, and `lines` the number of its lines: 8, 16 or 32.
/// @param phases One for each pair, at least eight: 2³² to the turn. Each goes on by its step.
/// @param swing The largest angle in turns, at most a quarter. With 0 the pairs come to rest.
REALTIME_SAFE void kernel_turn(
    float *_Nonnull numbers, size_t lines, uint32_t *_Nonnull phases, const uint32_t *_Nonnull steps, float swing);

/// Sends samples through all-pass filters, one after the other, with delays of at least `count`, which is at most 64. Their
/// lines lie `stride` apart; there are at most four. Of the samples and the lines, up to seven more are written than `count` says.
REALTIME_SAFE void kernel_diffuse(
    float *_Nonnull ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *_Nonnull delays,
    size_t stages, float gain, float slope, int32_t first, float *_Nonnull samples, size_t count);

/// Writes samples into a ring. What is tiny, huge or no number becomes zero.
REALTIME_SAFE void kernel_remember(
    float *_Nonnull ring, int32_t mask, int32_t position, const float *_Nonnull samples, size_t count);

/// Adds what was written into lines, each of at most sixteen taps with its delay and its gain, times a gain for all. Up to seven samples more are
/// written than `count` says.
REALTIME_SAFE void kernel_add_past(
    const float *_Nonnull ring, size_t stride, int32_t mask, int32_t position, int32_t age, const int32_t *_Nonnull lines,
    const int32_t *_Nonnull delays, const float *_Nonnull gains, size_t taps, float gain, float slope, int32_t first,
    float *_Nonnull sum, size_t count);

/// Adds two of a network's eight outputs to two channels, and brings these together: 0 makes them one, 1 leaves them.
REALTIME_SAFE void kernel_widen(
    const float *_Nonnull late, size_t lane, size_t other, float width, float slope, int32_t first, float *_Nonnull left,
    float *_Nonnull right, size_t count);

#endif
