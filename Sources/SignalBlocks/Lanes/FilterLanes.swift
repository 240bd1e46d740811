/// Eight state-variable filters of second order, by the trapezoidal rule: low-pass, band-pass and high-pass at once.
///
///     filter.tune(turns: cutoff / notes.sampleRate, q: notes[.resonance])      // in `control`
///     sound = filter.next(sound).low                                           // in `next`
///
/// The response is that of the analogue filter through the bilinear transform, with the frequency kept in place.
///
/// Threads: any.
public struct StateVariableLanes: BitwiseCopyable, Sendable {
    // The two memories go on by sums of products of what is known, so that no sum waits for an output: that halves the time
    // from frame to frame. An output is the mean of a memory before and after.
    @usableFromInline var (first, second) = (Lanes.zero, Lanes.zero)
    @usableFromInline var (b1, b2, b3) = (Lanes.zero, Lanes(repeating: 0.5), Lanes(repeating: 0.2))
    @usableFromInline var halfDamping = Lanes(repeating: 0.5)

    /// The outputs of eight filters in a frame.
    ///
    /// Threads: any.
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
        let damping = 1 / LaneMath.clamp(q, Lanes(repeating: 0.1), Lanes(repeating: 1000))
        let loss = g * (g + damping)
        let part = 1 / (1 + loss)
        b1 = (1 - loss) * part
        b2 = 2 * g * part
        b3 = g * b2
        halfDamping = 0.5 * damping
    }

    /// Returns a frame, and goes on.
    ///
    /// - Parameter sound: The samples that go in.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ sound: Lanes) -> Outputs {
        let rest = sound - second
        let (firstThen, secondThen) = (b1 * first + b2 * rest, second + (b2 * first + b3 * rest))
        let (band, low) = (halfDamping * (first + firstThen), 0.5 * (second + secondThen))
        (first, second) = (firstThen, secondThen)
        return Outputs(low: low, band: band, high: sound - band - low)
    }
}

/// Eight filters of first order: a low-pass, and the rest, a high-pass.
///
///     dark.tune(turns: notes[.tone] / notes.sampleRate)        // in `control`
///     sound = dark.next(sound)                                 // in `next`
///
/// Threads: any.
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
