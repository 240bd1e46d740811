/// Eight state-variable filters of second order, by the trapezoidal rule: low-pass, band-pass and high-pass at once.
///
///     filter.tune(turns: cutoff / notes.sampleRate, q: notes[.resonance])      // in `control`
///     sound = filter.next(sound).low                                           // in `next`
///
/// The response is that of the analogue filter through the bilinear transform, with the frequency kept in place.
public struct StateVariableLanes: BitwiseCopyable, Sendable {
    @usableFromInline var (first, second) = (Lanes.zero, Lanes.zero)
    @usableFromInline var (a1, a2, a3) = (Lanes(repeating: 0.5), Lanes(repeating: 0.25), Lanes(repeating: 0.1))
    @usableFromInline var damping = Lanes.one

    /// The outputs of eight filters in a frame.
    public struct Outputs: BitwiseCopyable, Sendable {
        /// The part below the frequency: 0 dB far below, and Q at it.
        public let low: Lanes
        /// The part around it: 0 dB at the frequency.
        public let band: Lanes
        /// The part above the frequency: 0 dB far above, and Q at it.
        public let high: Lanes

        @inlinable @inline(__always) @_noLocks @_noAllocation
        init(low: Lanes, band: Lanes, high: Lanes) {
            self.low = low
            self.band = band
            self.high = high
        }
    }

    /// Creates filters without sound in them, to be tuned.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Tunes the filters, which go on with the sound that is in them.
    ///
    /// - Parameters:
    ///   - turns: The frequency as a part of the sample rate; held to 0.00001…0.49.
    ///   - q: The quality: ½…1000; √½ is flat.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func tune(turns: Lanes, q: Lanes) {
        let held = LaneMath.clamp(turns, Lanes(repeating: 1e-5), Lanes(repeating: 0.49))
        let g = LaneMath.tangent(halfTurns: held)
        damping = 1 / LaneMath.clamp(q, Lanes(repeating: 0.1), Lanes(repeating: 1000))
        a1 = 1 / (1 + g * (g + damping))
        a2 = g * a1
        a3 = g * a2
    }

    /// Returns a frame, and goes on.
    ///
    /// - Parameter sound: The samples that go in.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ sound: Lanes) -> Outputs {
        let rest = sound - second
        let band = a1 * first + a2 * rest
        let low = second + (a2 * first + a3 * rest)
        first = 2 * band - first
        second = 2 * low - second
        let damped = damping * band
        return Outputs(low: low, band: damped, high: sound - damped - low)
    }
}

/// Eight filters of first order: a low-pass, and the rest, a high-pass.
///
///     dark.tune(turns: notes[.tone] / notes.sampleRate)        // in `control`
///     sound = dark.next(sound)                                 // in `next`
public struct OnePoleLanes: BitwiseCopyable, Sendable {
    @usableFromInline var memory = Lanes.zero
    @usableFromInline var part = Lanes(repeating: 0.5)

    /// Creates filters without sound in them, to be tuned.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Tunes the filters to the frequency at which they are at -3 dB.
    ///
    /// - Parameter turns: The frequency as a part of the sample rate; held to 0.00001…0.49.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func tune(turns: Lanes) {
        let g = LaneMath.tangent(halfTurns: LaneMath.clamp(turns, Lanes(repeating: 1e-5), Lanes(repeating: 0.49)))
        part = g / (1 + g)
    }

    /// Returns a frame of the low-pass, and goes on. What it takes away is the high-pass: `sound - filter.next(sound)`.
    ///
    /// - Parameter sound: The samples that go in.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ sound: Lanes) -> Lanes {
        let change = part * (sound - memory)
        let low = memory + change
        memory = low + change
        return low
    }
}
