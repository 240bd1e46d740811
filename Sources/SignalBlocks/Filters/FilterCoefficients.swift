/// The kinds of second-order filters.
///
/// Threads: any.
public enum FilterShape: Int, Sendable, Hashable, BitwiseCopyable, CaseIterable {
    /// Lets frequencies below the filter's pass, and falls by 12 dB an octave above it.
    case lowPass
    /// Lets frequencies above the filter's pass, and falls by 12 dB an octave below it.
    case highPass
    /// Lets frequencies around the filter's pass, with the filter's own at its level, and falls by 6 dB an octave on
    /// both sides.
    case bandpass
    /// Takes the frequency out.
    case notch
    /// Leaves all levels and turns the phase, by half a turn at the frequency.
    case allPass
    /// Lifts or lowers frequencies around the filter's.
    case bell
    /// Lifts or lowers frequencies below the filter's, where it reaches half of the gain.
    case lowShelf
    /// Lifts or lowers frequencies above the filter's, where it reaches half of the gain.
    case highShelf

    /// The name that ``bandpass`` had.
    ///
    /// Threads: control.
    @available(*, deprecated, renamed: "bandpass")
    public static var bandPass: FilterShape { .bandpass }
}

/// The numbers of one second-order filter: made from a frequency, used by ``StateVariableFilter``.
///
/// The analogue prototypes are those of Robert Bristow-Johnson's *Audio EQ Cookbook*, mapped by the bilinear transform
/// such that the given frequency is exact: `s = j tan(πf / rate) / tan(πf₀ / rate)`. They are computed with a
/// trapezoidal state-variable filter (A. Simper, *Solving the continuous SVF equations using trapezoidal integration*,
/// 2013), whose transfer function is the same. The formulas and the measurements are in <doc:Filters>.
///
/// Making them takes a tangent and two divisions, about 40 ns; copies are free. A frequency outside of 0…0.49 of the
/// rate, a quality outside of 1e-5…1e5 and a gain outside of -300…300 dB are held to that; a gain that is no number is 0 dB.
///
/// Threads: any.
public struct FilterCoefficients: Sendable, BitwiseCopyable {
    // With g = tan(πf₀ / rate), k = 1/Q and the two integrators u and w, one frame is
    //     u' = u - damping u + drive (x - w)        where drive = 2g / (1 + g(g + k)), damping = drive (g + k)
    //     w' = w + turn u + rise (x - w)            where rise = g drive, turn = g (2 - damping): it is w + g (u + u')
    //     y  = direct x + band (u + u') + low (w + w')
    // Written as increments: where the frequency is low they are small, and no digit is lost against the 1 of a pole
    // that lies next to the unit circle.
    @usableFromInline var drive: Double
    @usableFromInline var damping: Double
    @usableFromInline var rise: Double
    @usableFromInline var turn: Double
    @usableFromInline var direct: Double
    @usableFromInline var band: Double
    @usableFromInline var low: Double

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - shape: The kind of filter.
    ///   - frequency: In hertz: the cut-off, the centre, or the middle of a shelf's slope.
    ///   - q: The quality: for low and high pass the level at the cut-off (0.7071 is the flattest), for a shelf how
    ///     steep it is (up to 0.7071 without an overshoot), otherwise the centre divided by the bandwidth.
    ///   - decibels: The gain of a bell or a shelf; nothing to the others.
    ///   - sampleRate: Frames per second.
    @_noLocks @_noAllocation
    public init(
        _ shape: FilterShape, frequency: Double, q: Double = 0.7071067811865476, decibels: Double = 0,
        sampleRate: Double
    ) {
        var g = RenderMath.tan(.pi * FilterCoefficients.turns(frequency, sampleRate))
        // The comparisons are such that a value that is no number becomes the bound, or 0 dB.
        let decibels = decibels > -300 ? (decibels < 300 ? decibels : 300) : (decibels <= -300 ? -300 : 0)
        var k = 1 / (q > 1e-5 ? (q < 1e5 ? q : 1e5) : 1e-5)
        // m0 x + m1 v1 + m2 v2: v1 is the band, v2 the low output of the state-variable filter.
        var (m0, m1, m2) = (0.0, 0.0, 0.0)
        switch shape {
        case .lowPass: m2 = 1
        case .highPass: (m0, m1, m2) = (1, -k, -1)
        case .bandpass: m1 = k
        case .notch: (m0, m1) = (1, -k)
        case .allPass: (m0, m1) = (1, -2 * k)
        case .bell:
            let a = FilterCoefficients.root(decibels)
            k /= a
            (m0, m1) = (1, k * (a * a - 1))
        case .lowShelf:
            let a = FilterCoefficients.root(decibels)
            g *= FilterCoefficients.root(-0.5 * decibels)
            (m0, m1, m2) = (1, k * (a - 1), a * a - 1)
        case .highShelf:
            let a = FilterCoefficients.root(decibels)
            g *= FilterCoefficients.root(0.5 * decibels)
            (m0, m1, m2) = (a * a, k * (1 - a) * a, 1 - a * a)
        }
        self.init(g: g, k: k, direct: m0, band: 0.5 * m1, low: 0.5 * m2)
    }

    @_noLocks @_noAllocation
    private init(g: Double, k: Double, direct: Double, band: Double, low: Double) {
        drive = 2 * g / (1 + g * (g + k))
        damping = drive * (g + k)
        rise = g * drive
        turn = g * (2 - damping)
        (self.direct, self.band, self.low) = (direct, band, low)
    }

    /// Returns the filter mixed with the unfiltered sound: a part of 0 is that sound, 1 the filtered one only. It costs
    /// nothing when the samples are computed.
    @_noLocks @_noAllocation
    public func mixed(_ part: Double) -> FilterCoefficients {
        var mixed = self
        mixed.direct = 1 + (direct - 1) * part
        mixed.band = band * part
        mixed.low = low * part
        return mixed
    }

    /// Returns a filter on the way to another: a part of 0 is this one, 1 the other. Its g and k lie between theirs, so that it is
    /// stable; where both have the same, it is their cross-fade.
    @_noLocks @_noAllocation
    package func blended(with other: FilterCoefficients, _ part: Double) -> FilterCoefficients {
        let (g, otherG) = (rise / drive, other.rise / other.drive)
        let (k, otherK) = (damping / drive - g, other.damping / other.drive - otherG)
        return FilterCoefficients(
            g: g + (otherG - g) * part, k: k + (otherK - k) * part, direct: direct + (other.direct - direct) * part,
            band: band + (other.band - band) * part, low: low + (other.low - low) * part)
    }

    /// Returns the quality of a band that is that many octaves wide between its points at -3 dB (of a bell: at half of
    /// its gain in decibels), at every frequency.
    ///
    /// The two edges are found such that one lies the given octaves above the other and `tan tan = tan²` of the centre,
    /// by Newton's method: one to eight rounds, 80 ns each. At low frequencies this is the cookbook's `1/Q = 2 sinh(ln
    /// 2 / 2 · octaves · ω / sin ω)` (up to an octave within 2 % to a fifth of the rate); above 0.4 of the rate the
    /// cookbook's bands get several times wider than asked for.
    @_noLocks @_noAllocation
    public static func q(octaves: Double, frequency: Double, sampleRate: Double) -> Double {
        let center = .pi * turns(frequency, sampleRate)
        let octaves = octaves > 1e-4 ? (octaves < 30 ? octaves : 30) : 1e-4
        let ratio = RenderMath.exp2(octaves)
        let g = RenderMath.tan(center)
        // Angles of the lower edge: the first guess, and where the upper edge would be half of the rate.
        var lower = center / RenderMath.exp2(0.5 * octaves)
        let limit = 0.5 * .pi / ratio
        if lower >= limit { lower = limit * (1 - RenderMath.tan(limit) / (.pi * g * g)) }
        var (below, above) = (0.0, 0.0)
        for _ in 0..<16 {
            below = RenderMath.tan(lower)
            above = RenderMath.tan(lower * ratio)
            let miss = RenderMath.log(below * above / (g * g))
            // The slope of a logarithm of a tangent over the logarithm of its angle is 2θ / sin 2θ. It grows, so that
            // the way to the root is downhill from every guess above it.
            let (slope, other) = (lower * (below + 1 / below), ratio * lower * (above + 1 / above))
            let step = miss / (slope + other)
            if abs(miss) < 1e-3 {
                // The start is so near that the tangents follow their slopes: the rest of the error is its square.
                return g / (above * (1 - other * step) - below * (1 - slope * step))
            }
            let next = lower * RenderMath.exp(-step)
            lower = next < limit ? next : 0.5 * (lower + limit)
        }
        return g / (above - below)
    }

    /// Returns the quality of a resonance: the level of the cut-off frequency above that of the pass band. 0 dB is 1,
    /// -3.01 dB the flattest response.
    @_noLocks @_noAllocation
    public static func q(resonance decibels: Double) -> Double { RenderMath.exp(decibels * 0.11512925464970229) }

    /// Returns the gain of the filter at a frequency, as a factor.
    ///
    /// Threads: control.
    public func magnitude(at frequency: Double, sampleRate: Double) -> Double {
        // At s = j tan(πf / rate) / g the band output is s / (s² + ks + 1), the low one 1 / (s² + ks + 1).
        let g = rise / drive
        let s = RenderMath.tan(.pi * FilterCoefficients.turns(frequency, sampleRate, limit: 0.499_999)) / g
        let (re, im) = (1 - s * s, s * (damping / drive - g))
        let size = re * re + im * im
        let (above, beside) = (2 * low, 2 * band * s)
        let real = direct + (above * re + beside * im) / size
        let imaginary = (beside * re - above * im) / size
        return (real * real + imaginary * imaginary).squareRoot()
    }

    /// Returns a frequency as a part of the rate, at most 0.49: also while a glide comes down from a higher rate.
    @_noLocks @_noAllocation
    private static func turns(_ frequency: Double, _ rate: Double, limit: Double = 0.49) -> Double {
        let turns = frequency / rate
        return turns > 1e-9 ? (turns < limit ? turns : limit) : 1e-9
    }

    /// Returns the square root of an amplitude.
    @_noLocks @_noAllocation
    private static func root(_ decibels: Double) -> Double { RenderMath.exp(decibels * 0.057564627324851145) }
}

extension FilterCoefficients {
    @inlinable static var blockNumberCount: Int { @_noLocks @_noAllocation get { 48 } }

    /// Computes the ``blockNumberCount`` numbers that give a block of eight frames at once, without going from frame to
    /// frame.
    ///
    /// With the state at its start, u and w, frame `i` of a block is `cu[i] u + cw[i] w + Σ h[i - j] x[j]`, and the
    /// state after it is linear in all of them too. These factors are the numbers: one that is left to the caller, three zeros,
    /// and the impulse response `h`, of which a row may begin with zeros; the answers `cu` and `cw`; the share of each frame in `u` and in `w`;
    /// and the four that take the state to the next block. They are found by running the filter itself, so that they
    /// have its precision.
    @_noLocks @_noAllocation
    func blockNumbers(_ place: UnsafeMutablePointer<Double>) {
        for i in 1..<4 { unsafe place[i] = 0 }
        let numbers = unsafe place + 4
        var (u, w) = (0.0, 0.0)
        for i in 0..<8 { unsafe numbers[i] = next(i == 0 ? 1 : 0, &u, &w) }
        (u, w) = (1, 0)
        for i in 0..<8 { unsafe numbers[8 &+ i] = next(0, &u, &w) }
        unsafe (numbers[40], numbers[41]) = (u, w)
        (u, w) = (0, 1)
        for i in 0..<8 { unsafe numbers[16 &+ i] = next(0, &u, &w) }
        unsafe (numbers[42], numbers[43]) = (u, w)
        (u, w) = (0, 0)
        _ = next(1, &u, &w)
        // The last frame of a block has only itself behind it, the first one seven more.
        for i in 0..<8 {
            unsafe (numbers[31 &- i], numbers[39 &- i]) = (u, w)
            _ = next(0, &u, &w)
        }
    }

    @_noLocks @_noAllocation
    static func == (a: FilterCoefficients, b: FilterCoefficients) -> Bool {
        a.drive == b.drive && a.damping == b.damping && a.rise == b.rise && a.turn == b.turn && a.direct == b.direct
            && a.band == b.band && a.low == b.low
    }
}

/// One filter's memory for one channel, a sample at a time, for a voice or the loop of a delay.
///
///     var memory = FilterMemory()
///     for i in samples.indices { samples[i] = memory.next(samples[i], coefficients) }
///
/// The arithmetic is that of ``StateVariableFilter``, bit for bit.
///
/// Threads: any.
public struct FilterMemory: Sendable, BitwiseCopyable {
    @usableFromInline var u = 0.0
    @usableFromInline var w = 0.0

    /// Creates a filter's memory at silence.
    @_noLocks @_noAllocation
    @inlinable public init() {}

    /// Returns the filter's answer to the next sample.
    @_noLocks @_noAllocation
    @inlinable public mutating func next(_ sample: Float, _ coefficients: FilterCoefficients) -> Float {
        Float(coefficients.next(Double(sample), &u, &w))
    }
}

// One frame, the same operations in both. Neither integrator waits for the other's new value: from frame to frame the way
// is three operations long.
extension FilterCoefficients {
    @inline(__always) @_noLocks @_noAllocation
    @inlinable func next(_ x: Double, _ u: inout Double, _ w: inout Double) -> Double {
        let push = x - w
        let (nextU, nextW) = ((u - damping * u) + drive * push, (w + turn * u) + rise * push)
        let y = direct * x + band * (u + nextU) + low * (w + nextW)
        (u, w) = (nextU, nextW)
        return y
    }

    @inline(__always) @_noLocks @_noAllocation
    func next(_ x: SIMD4<Double>, _ u: inout SIMD4<Double>, _ w: inout SIMD4<Double>) -> SIMD4<Double> {
        let push = x - w
        let (nextU, nextW) = ((u - damping * u) + drive * push, (w + turn * u) + rise * push)
        let y = direct * x + band * (u + nextU) + low * (w + nextW)
        (u, w) = (nextU, nextW)
        return y
    }
}
