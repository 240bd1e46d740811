internal import CKernels

/// A gain that follows levels along a static curve, while its settings rest: the numbers that a kernel goes by.
package struct RestingGain: Sendable, BitwiseCopyable {
    /// The decibels of an octave: of magnitudes 20 log₁₀ 2, of mean squares half of that.
    package var decibels: Float = 6.0205999133
    // The curve, in decibels: `slope` of reduction for each that the level is beyond the threshold, in the direction of `sign`,
    // up to `range`.
    package var threshold: Float = 0
    package var slope: Float = 0
    package var knee: Float = 0
    package var halfKnee: Float = 0
    /// 1 / 2W, where W is the width of the knee; 0 where there is none.
    package var curvature: Float = 0
    package var range: Float = 0
    package var sign: Float = 1
    /// The octaves of a decibel of reduction, with the sign of the gain.
    package var octaves: Float = 0
    // A gain is dry + wet · 2^(octaves · reduction).
    package var dry: Float = 0
    package var wet: Float = 1
    // The shares of the way that are gone in a frame.
    package var attack = 1.0
    package var release = 1.0

    @_noLocks @_noAllocation
    package init() {}

    /// The frames that the memory of levels and gains is a multiple of.
    package static var block: Int { 16 }

    /// Computes gains of levels: in each frame a gain goes a part of the way, in decibels, to where the curve wants it.
    ///
    /// - Parameters:
    ///   - state: The reduction in dB before the first frame; it becomes that of the last one.
    ///   - levels: Magnitudes or mean squares.
    ///   - gains: Receives the gains.
    ///   - count: The number of frames.
    /// - Precondition: The memory has room for the frames, rounded up to a whole ``block``.
    @_noLocks @_noAllocation
    package func follow(
        _ state: inout Double, _ levels: borrowing RenderMemory<Float>, into gains: inout RenderMemory<Float>,
        count: Int
    ) {
        let whole = (count &+ 15) & ~15
        precondition(count >= 0 && whole <= levels.count && whole <= gains.count)
        var settings = kernel_gain_settings(
            decibels: decibels, threshold: threshold, slope: slope, knee: knee, half_knee: halfKnee,
            curvature: curvature, range: range, sign: sign, octaves: octaves, dry: dry, wet: wet, attack: attack,
            release: release)
        var reduction = state
        unsafe kernel_gains(&settings, &reduction, levels.memory.base, gains.memory.base, count)
        state = reduction
    }
}

extension RenderMemory<Float> {
    /// Takes the magnitudes of samples for the first levels, at most +200 dB; what is no number is silence.
    ///
    /// - Parameters:
    ///   - samples: The samples.
    ///   - count: The number of frames.
    ///   - lifts: `true`: where a level is higher already it stays.
    /// - Precondition: There are that many samples, and levels.
    @_noLocks @_noAllocation
    package mutating func takeMagnitudes(_ samples: borrowing Samples, count: Int, lifts: Bool) {
        precondition(count >= 0 && count <= samples.count && count <= self.count)
        unsafe kernel_magnitudes(samples.base, nil, lifts, memory.base, count)
    }

    /// Takes the higher ones of the magnitudes of two channels, at once.
    @_noLocks @_noAllocation
    package mutating func takeMagnitudes(
        _ first: borrowing Samples, _ second: borrowing Samples, count: Int, lifts: Bool
    ) {
        precondition(count >= 0 && count <= first.count && count <= second.count && count <= self.count)
        unsafe kernel_magnitudes(first.base, second.base, lifts, memory.base, count)
    }

    /// Takes the mean squares of a channel's magnitudes.
    ///
    /// - Parameters:
    ///   - samples: The channel.
    ///   - count: The number of frames.
    ///   - share: The part of each new square in the mean.
    ///   - squares: The memory of mean squares.
    ///   - place: The channel's in it.
    ///   - lifts: `true`: where a level is higher already it stays.
    /// - Precondition: There are that many samples, and levels, and the place.
    @_noLocks @_noAllocation
    package mutating func takeSquares(
        _ samples: borrowing Samples, count: Int, share: Double, _ squares: inout RenderMemory<Double>, at place: Int,
        lifts: Bool
    ) {
        precondition(count >= 0 && count <= samples.count && count <= self.count)
        precondition(place >= 0 && place < squares.count)
        unsafe kernel_mean_squares(samples.base, nil, share, squares.memory.base + place, lifts, memory.base, count)
    }

    /// Takes the higher ones of the mean squares of two channels, at once. Those of the second stand behind those of the first.
    @_noLocks @_noAllocation
    package mutating func takeSquares(
        _ first: borrowing Samples, _ second: borrowing Samples, count: Int, share: Double,
        _ squares: inout RenderMemory<Double>, at place: Int, lifts: Bool
    ) {
        precondition(count >= 0 && count <= first.count && count <= second.count && count <= self.count)
        precondition(place >= 0 && place < squares.count &- 1)
        unsafe kernel_mean_squares(
            first.base, second.base, share, squares.memory.base + place, lifts, memory.base, count)
    }

    /// Puts the loudest so far, and at least one level, in the place of each; returns the loudest without that level.
    @_noLocks @_noAllocation
    package mutating func hold(from first: Int, count: Int, _ loudest: Float, over least: Float) -> Float {
        precondition(first >= 0 && count >= 0 && count <= self.count &- first)
        return unsafe kernel_hold(loudest, least, memory.base + first, count)
    }

    /// Multiplies samples by the first gains.
    @_noLocks @_noAllocation
    package func apply(to samples: inout MutableSpan<Float>) {
        precondition(samples.count <= count)
        guard let target = unsafe samples.address() else { return }
        unsafe kernel_apply_gains(target, memory.base, samples.count)
    }
}
