internal import RenderCore

/// The settings of a compressor, an expander or a gate in a slice.
struct GainSettings: Sendable, BitwiseCopyable {
    /// The relation of the reduction to the level.
    enum Shape: Sendable, BitwiseCopyable {
        /// Reduces what is above the threshold.
        case compress
        /// Reduces what is below the threshold.
        case expand
        /// Is open or closed.
        case gate
    }

    var shape = Shape.compress
    /// In dB.
    var threshold = Glide(0)
    var ratio = Glide(1)
    /// The width of the knee in dB, or a gate's hysteresis.
    var knee = Glide(0)
    /// The largest reduction of an expander or a gate, in dB.
    var range = Glide(0)
    /// In dB.
    var makeUp = Glide(0)
    var mix = Glide(0)
    /// In seconds.
    var attack = Glide(1)
    var release = Glide(1)
    var hold: Float = 0

    init() {}

    /// Reads the parameters. It stands in this file because a debug build that compiles file by file can see the values above only here.
    @_noLocks @_noAllocation
    init(_ controls: borrowing DynamicsControls, _ context: borrowing RenderContext) {
        shape = controls.shape
        threshold = controls.threshold.glide(context)
        ratio = controls.ratio.glide(context)
        knee = controls.knee.glide(context)
        range = controls.range.glide(context)
        makeUp = controls.makeUp.glide(context)
        mix = controls.mix.glide(context)
        attack = controls.attack.glide(context)
        release = controls.release.glide(context)
        hold = controls.hold.current(context)
    }

    /// Indicates whether the curve rests in this slice.
    var isFlat: Bool {
        @_noLocks @_noAllocation get { threshold.isFlat && ratio.isFlat && knee.isFlat && range.isFlat }
    }

    /// Returns the curve at a frame of the slice.
    @_noLocks @_noAllocation @inline(__always)
    func curve(_ frame: Int) -> GainCurve {
        GainCurve(
            isCompressing: isCompressing, threshold: threshold[frame], ratio: ratio[frame], knee: knee[frame],
            range: range[frame])
    }

    /// Indicates whether nothing moves in this slice.
    var isAtRest: Bool {
        @_noLocks @_noAllocation get { isFlat && hasFlatTimes && makeUp.isFlat && mix.isFlat }
    }

    /// Indicates whether attack and release rest in this slice.
    var hasFlatTimes: Bool { @_noLocks @_noAllocation get { attack.isFlat && release.isFlat } }

    var isGate: Bool { @_noLocks @_noAllocation get { if case .gate = shape { true } else { false } } }

    var isCompressing: Bool {
        @_noLocks @_noAllocation @inline(__always) get { if case .compress = shape { true } else { false } }
    }
}

/// A static curve with a soft knee: D. Giannoulis, M. Massberg, J. D. Reiss, *Digital Dynamic Range Compressor Design*, 2012.
struct GainCurve: Sendable, BitwiseCopyable {
    let threshold: Float
    /// Decibels of reduction for each that the level is too much.
    let slope: Float
    let knee: Float
    let halfKnee: Float
    /// 1 / 2W, where W is the width of the knee; 0 where there is none.
    let curvature: Float
    let range: Float
    /// 1 for what is too loud, -1 for what is too soft.
    let sign: Float

    @_noLocks @_noAllocation @inline(__always)
    init(isCompressing: Bool, threshold: Float, ratio: Float, knee: Float, range: Float) {
        self.threshold = threshold
        slope = isCompressing ? 1 - 1 / ratio : ratio - 1
        self.knee = knee
        self.range = isCompressing ? 1_000 : range
        sign = isCompressing ? 1 : -1
        halfKnee = 0.5 * knee
        curvature = knee > 1e-3 ? 0.5 / knee : 0
    }

    /// The numbers for slices in which it rests.
    var resting: RestingGain {
        @_noLocks @_noAllocation get {
            var gain = RestingGain()
            gain.threshold = threshold
            gain.slope = slope
            gain.knee = knee
            gain.halfKnee = halfKnee
            gain.curvature = curvature
            gain.range = range
            gain.sign = sign
            return gain
        }
    }

    /// Returns the reduction for a level, both in dB, times ``sign``: 0…``range`` of a compressor, and its negative of an
    /// expander.
    @_noLocks @_noAllocation @inline(__always)
    func goal(_ level: Float) -> Float {
        let over = (level - threshold) * sign
        let begun = over + halfKnee
        let inside = begun > 0 ? (begun < knee ? begun : knee) : 0
        let beyond = over - halfKnee
        let reduction = slope * (inside * inside * curvature + (beyond > 0 ? beyond : 0))
        return sign * (reduction < range ? reduction : range)
    }
}

/// Logarithm and exponential for gains, in a few operations that the compiler packs.
enum GainMath {
    /// log₂ x for 0 ≤ x < infinity, exact at 1, with an error of 2e-6 (1.3e-5 dB); about -127 for 0.
    ///
    /// log₂(1 + f) / f between √½ and √2 is a polynomial by weighted least squares that were made minimax.
    @_noLocks @_noAllocation @inline(__always)
    static func log2(_ x: Float) -> Float {
        let bits = Int32(bitPattern: x.bitPattern)
        let moved = bits &- 0x3F35_04F3
        let f = Float(bitPattern: UInt32(bitPattern: bits &- (moved & -0x80_0000))) - 1
        var p: Float = -0.2065915 * f + 0.32215473
        p = p * f - 0.36749002
        p = p * f + 0.47934803
        p = p * f - 0.72113186
        p = p * f + 1.4427135
        return Float(moved &>> 23) + f * p
    }

    /// 2ˣ for x between -126 and 126, exact at 0, with an error of 1e-7.
    @_noLocks @_noAllocation @inline(__always)
    static func exp2(_ x: Float) -> Float {
        let shifted = x + 12_582_912  // 1.5 · 2²³
        let r = x - (shifted - 12_582_912)
        var p: Float = 0.0013264726 * r + 0.009671513
        p = p * r + 0.055507336
        p = p * r + 0.24022242
        p = p * r + 0.693147
        return Float(bitPattern: (p * r + 1).bitPattern &+ (shifted.bitPattern &<< 23))
    }
}
