/// Eight numbers side by side, one for each of eight voices: the numbers that a `LaneVoice` computes with.
///
///     let louder = 2 * sound                                   // all eight at once
///     let held = sound.replacing(with: 0, where: gate .== 0)   // a choice for each voice
///
/// All operators of `SIMD8<Float>` work, and so do the functions of `RenderMath` that take eight numbers.
public typealias Lanes = SIMD8<Float>

/// The phases of eight voices: 2³² to the turn. They wrap by themselves with `&+`.
public typealias PhaseLanes = SIMD8<UInt32>

/// A choice for each of eight voices: the result of `.<` and its like.
public typealias LaneMask = SIMDMask<SIMD8<Int32>>

/// Arithmetic on eight voices that SIMD types lack.
///
/// Threads: any.
public enum LaneMath {
    /// The number of voices side by side.
    @inlinable public static var count: Int { @_noLocks @_noAllocation get { 8 } }

    /// Returns whether a condition holds for one voice at least. A branch that few frames take saves more than it costs.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func any(_ mask: LaneMask) -> Bool {
        let bits = SIMD8<Int32>.zero.replacing(with: -1, where: mask)
        let half = bits.lowHalf | bits.highHalf
        let quarter = half.lowHalf | half.highHalf
        return (quarter.x | quarter.y) != 0
    }

    /// Returns the smaller number in each lane.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func min(_ a: Lanes, _ b: Lanes) -> Lanes { b.replacing(with: a, where: a .< b) }

    /// Returns the larger number in each lane.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func max(_ a: Lanes, _ b: Lanes) -> Lanes { b.replacing(with: a, where: a .> b) }

    /// Returns the numbers, held between two limits. A lane that is not a number becomes the lower limit.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func clamp(_ x: Lanes, _ low: Lanes, _ high: Lanes) -> Lanes {
        let raised = low.replacing(with: x, where: x .> low)
        return high.replacing(with: raised, where: raised .< high)
    }

    /// Returns the sizes, without their signs.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func abs(_ x: Lanes) -> Lanes { value(bits(x) & 0x7FFF_FFFF) }

    /// Returns the first numbers in the lanes where a condition holds, and the second ones in the others.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func select(_ yes: Lanes, _ no: Lanes, where mask: LaneMask) -> Lanes {
        no.replacing(with: yes, where: mask)
    }

    /// Returns the largest whole numbers that are not above these; for sizes up to 2²².
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func floor(_ x: Lanes) -> Lanes {
        let nearest = (x + 0x1.8p23) - 0x1.8p23
        return nearest - Lanes.zero.replacing(with: 1, where: nearest .> x)
    }

    /// Returns the tangents of half of that many turns: `tan(π x)`, for `x` below ½. Filters are tuned by it.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tangent(halfTurns x: Lanes) -> Lanes {
        RenderMath.sin(turns: 0.5 * x) / RenderMath.cos(turns: 0.5 * x)
    }

    /// Returns a phase as numbers from -1 to 1: half turns, 0 where the wave begins.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func halfTurns(_ phase: PhaseLanes) -> Lanes {
        Lanes(SIMD8<Int32>(truncatingIfNeeded: phase)) * 0x1p-31
    }

    /// Returns turns as a phase, 2³² to the turn, to the nearest one; for sizes up to 32 turns. Whole turns do not matter.
    ///
    /// It works without a conversion, which the processors have no vector form of: the sum with a power of two has the
    /// number in its low bits; first the coarse 16 bits, then the fine ones.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func phase(turns: Lanes) -> PhaseLanes {
        let coarse = turns + 192
        let fine = (turns - (coarse - 192)) + 0x1.8p-9
        return (bits(coarse) &<< 16) &+ bits(fine) &- 0x3B40_0000
    }

    @inlinable @inline(__always) @_noLocks @_noAllocation
    package static func bits(_ x: Lanes) -> PhaseLanes { unsafe unsafeBitCast(x, to: PhaseLanes.self) }

    @inlinable @inline(__always) @_noLocks @_noAllocation
    package static func value(_ x: PhaseLanes) -> Lanes { unsafe unsafeBitCast(x, to: Lanes.self) }

    /// Returns the sum of the eight, always in the same order.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    package static func sum(_ x: Lanes) -> Float {
        let half = x.lowHalf + x.highHalf
        let quarter = half.lowHalf + half.highHalf
        return quarter.x + quarter.y
    }
}

/// The output of eight voices in a frame: ``Lanes`` for one channel, ``StereoLanes`` for two, or an
/// `InlineArray<6, Lanes>` for as many as it has.
///
/// Threads: any.
public protocol LaneSound: BitwiseCopyable, Sendable {
    /// The number of channels: 1…64.
    static var channelCount: Int { get }
    /// Returns the samples for a channel.
    func channel(_ channel: Int) -> Lanes
}

extension SIMD8: LaneSound where Scalar == Float {
    /// One channel.
    ///
    /// Threads: any.
    @inlinable public static var channelCount: Int { @_noLocks @_noAllocation get { 1 } }

    /// Returns the samples themselves.
    ///
    /// Threads: any.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public func channel(_ channel: Int) -> Lanes { self }
}

extension InlineArray: LaneSound where Element == Lanes {
    /// The number of elements of the array.
    ///
    /// Threads: any.
    @inlinable public static var channelCount: Int { count }

    /// Returns the samples for a channel.
    ///
    /// Threads: any.
    @inlinable @inline(__always)
    public func channel(_ channel: Int) -> Lanes { self[channel] }
}

/// The samples of eight voices for two channels.
///
/// Threads: any.
public struct StereoLanes: LaneSound {
    /// The samples for the left channel.
    public var left: Lanes
    /// The samples for the right channel.
    public var right: Lanes

    /// Two channels.
    @inlinable public static var channelCount: Int { @_noLocks @_noAllocation get { 2 } }

    /// Creates samples for two channels.
    ///
    /// - Parameters:
    ///   - left: The samples for the left channel.
    ///   - right: The samples for the right channel.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public init(left: Lanes, right: Lanes) {
        self.left = left
        self.right = right
    }

    /// Creates the gains of a place between left (-1) and right (1), with equal power. Make them in `control`, and multiply
    /// the sound by them in `next`.
    ///
    /// - Parameter pan: The places; those beyond -1 and 1 are held there.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public init(pan: Lanes) {
        let turns = 0.125 * (LaneMath.clamp(pan, -Lanes.one, .one) + 1)
        left = RenderMath.cos(turns: turns)
        right = RenderMath.sin(turns: turns)
    }

    /// Returns the samples for a channel.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public func channel(_ channel: Int) -> Lanes { channel == 0 ? left : right }

    /// Returns a sound with these gains in both channels.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func * (gains: StereoLanes, sound: Lanes) -> StereoLanes {
        StereoLanes(left: gains.left * sound, right: gains.right * sound)
    }

    /// Returns the sum of two sounds.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func + (a: StereoLanes, b: StereoLanes) -> StereoLanes {
        StereoLanes(left: a.left + b.left, right: a.right + b.right)
    }
}
