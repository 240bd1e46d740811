/// The rounding of edges and corners in eight waves, so that their harmonics end below half the sample rate.
///
/// A step through a low-pass, less the step itself, is a function of the distance from the edge alone. Here it is one
/// polynomial over four frames, times (1 - u)², odd about the edge: its spectrum was fitted by least squares to 1 up to 0.3 of the
/// sample rate and to 0 from 0.62 of it on.
@usableFromInline enum EdgeLanes {
    /// The number of frames on either side of an edge over which it is rounded.
    @usableFromInline static var reach: Float { @_noLocks @_noAllocation @inlinable get { 4 } }

    /// Returns what rounds a step upwards by 1, so many frames behind it; so many frames ahead of it, the same with the other
    /// sign.
    ///
    /// - Parameter frames: The distance from the edge, 0 or more.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func step(_ frames: Lanes) -> Lanes {
        let u = LaneMath.min(0.25 * frames, .one)
        let rest = 1 - u
        var p = -157.37315368652344 * u + 611.5098266601562
        p = p * u - 882.8079223632812
        p = p * u + 535.7822265625
        p = p * u - 83.20054626464844
        p = p * u - 13.954889297485352
        p = p * u - 17.149105072021484
        p = p * u + 5.339105129241943
        p = p * u + 2.369814157485962
        p = p * u - 0.5
        return rest * rest * p
    }

    /// Returns what rounds a corner at which the slope grows by 1 a frame, so many frames from it on either side: the integral
    /// of ``step(_:)``.
    ///
    /// - Parameter frames: The distance from the corner, 0 or more.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func corner(_ frames: Lanes) -> Lanes {
        let u = LaneMath.min(0.25 * frames, .one)
        let rest = 1 - u
        var p = 13.114429473876953 * u - 44.86181640625
        p = p * u + 52.39133834838867
        p = p * u - 18.782543182373047
        p = p * u - 3.686838150024414
        p = p * u - 0.639900267124176
        p = p * u + 2.431583881378174
        p = p * u + 0.39112934470176697
        p = p * u - 0.3968888521194458
        p = p * u + 0.03437037765979767
        return 4 * (rest * rest * rest * p)
    }

    /// Returns the saw at a phase: it rises from -1 to 1 and crosses 0 at the phase 0.
    ///
    /// - Parameters:
    ///   - phase: 2³² to the turn.
    ///   - turns: The way to the next frame, in turns.
    ///   - frames: The length of half a turn in frames, `0.5 / turns`.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func saw(_ phase: PhaseLanes, _ turns: Lanes, _ frames: Lanes) -> Lanes {
        let height = LaneMath.halfTurns(phase)
        let size = LaneMath.abs(height)
        // The edge is at a height of 1, ahead where the height is positive, behind where it is negative.
        var rounding = step((1 - size) * frames)
        if LaneMath.any(turns .> 0.125) {
            // Other edges are near as well, each on the other side of the frame than the one before.
            rounding -= step((1 + size) * frames)
            rounding += step((3 - size) * frames)
            rounding -= step((3 + size) * frames)
        }
        let rounded = size + 2 * rounding
        return LaneMath.value(LaneMath.bits(rounded) ^ (LaneMath.bits(height) & 0x8000_0000))
    }
}
