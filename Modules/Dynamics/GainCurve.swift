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

    var shape: Shape
    /// In dB.
    var threshold: Glide
    var ratio: Glide
    /// The width of the knee in dB, or a gate's hysteresis.
    var knee: Glide
    /// The largest reduction of an expander or a gate, in dB.
    var range: Glide
    /// In dB.
    var makeUp: Glide
    var mix: Glide
    /// In seconds.
    var attack: Glide
    var release: Glide
    var hold: Float

    @_noLocks @_noAllocation
    init(
        shape: Shape, threshold: Glide, ratio: Glide, knee: Glide, range: Glide, makeUp: Glide, mix: Glide,
        attack: Glide, release: Glide, hold: Float
    ) {
        self.shape = shape
        self.threshold = threshold
        self.ratio = ratio
        self.knee = knee
        self.range = range
        self.makeUp = makeUp
        self.mix = mix
        self.attack = attack
        self.release = release
        self.hold = hold
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

    /// The settings if nothing moves in this slice.
    var resting: RestingSettings? {
        @_noLocks @_noAllocation get {
            if !(isFlat && hasFlatTimes && makeUp.isFlat && mix.isFlat) { return nil }
            return RestingSettings(
                threshold: threshold.end, ratio: ratio.end, knee: knee.end, range: range.end, makeUp: makeUp.end,
                mix: mix.end, attack: attack.end, release: release.end)
        }
    }

    /// Indicates whether attack and release rest in this slice.
    var hasFlatTimes: Bool { @_noLocks @_noAllocation get { attack.isFlat && release.isFlat } }

    var isGate: Bool {
        @_noLocks @_noAllocation get {
            switch shape {
            case .gate: true
            case .compress, .expand: false
            }
        }
    }

    var isCompressing: Bool {
        @_noLocks @_noAllocation @inline(__always) get {
            switch shape {
            case .compress: true
            case .expand, .gate: false
            }
        }
    }
}

/// The settings of a compressor, an expander or a gate that rest.
struct RestingSettings: Sendable, BitwiseCopyable {
    var threshold: Float
    var ratio: Float
    var knee: Float
    var range: Float
    var makeUp: Float
    var mix: Float
    var attack: Float
    var release: Float

    @_noLocks @_noAllocation
    init(
        threshold: Float, ratio: Float, knee: Float, range: Float, makeUp: Float, mix: Float, attack: Float,
        release: Float
    ) {
        self.threshold = threshold
        self.ratio = ratio
        self.knee = knee
        self.range = range
        self.makeUp = makeUp
        self.mix = mix
        self.attack = attack
        self.release = release
    }

    /// Settings that none are equal to.
    static var none: RestingSettings {
        RestingSettings(
            threshold: .nan, ratio: 1, knee: 0, range: 0, makeUp: 0, mix: 0, attack: 1, release: 1)
    }

    @_noLocks @_noAllocation
    static func == (a: RestingSettings, b: RestingSettings) -> Bool {
        a.threshold == b.threshold && a.ratio == b.ratio && a.knee == b.knee && a.range == b.range
            && a.makeUp == b.makeUp && a.mix == b.mix && a.attack == b.attack && a.release == b.release
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
