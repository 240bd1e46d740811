internal import RenderCore

/// The arithmetic of a slow wave, for an ``LFO`` and the voice of a synthesiser.
///
/// It counts turns, 2^64 to the turn, and knows the number of its turn: random values are a hash of that number, so a
/// seed gives the same ones each time.
///
/// Threads: any.
public struct LFOCore: Sendable, BitwiseCopyable {
    /// The shape of a turn, between -1 and 1.
    ///
    /// Threads: any.
    public enum Shape: Sendable, Hashable, CaseIterable, BitwiseCopyable {
        /// Begins at its rising zero.
        case sine
        /// Begins at its rising zero.
        case triangle
        /// Rises from -1 to 1, and falls back at the end.
        case saw
        /// 1 in the first half, -1 in the second.
        case square
        /// A new random value in each turn, held to its end: sample and hold.
        case randomSteps
        /// From one random value to the next along a smooth curve, without a corner.
        case randomCurve
    }

    /// The place in the turn of the next frame.
    public var phase: UInt64 = 0
    /// The number of that turn.
    public var turn: UInt64 = 0
    /// The seed of the random values.
    public let seed: UInt64

    /// Creates a wave at the beginning of its first turn.
    @_noLocks @_noAllocation
    public init(seed: UInt64 = 0) { self.seed = seed }

    /// Returns the part of a turn that a frame takes, half of one at most.
    @_noLocks @_noAllocation
    public static func step(frequency: Double, sampleRate: Double) -> UInt64 {
        let turns = frequency / sampleRate
        return turns > 0 ? UInt64((turns < 0.5 ? turns : 0.5) * 0x1p64) : 0
    }

    /// Goes on by some frames.
    @_noLocks @_noAllocation
    public mutating func advance(by step: UInt64) {
        let (sum, isNew) = phase.addingReportingOverflow(step)
        phase = sum
        if isNew { turn &+= 1 }
    }

    /// Returns the value at the next frame.
    ///
    /// - Parameters:
    ///   - shape: The shape of a turn.
    ///   - offset: The offset of the phase: 2^64 to the turn.
    ///   - turns: The whole turns of the offset, which only random shapes tell apart.
    ///   - rounding: The part of a turn that a jump takes, 0 to 0.25.
    @_noLocks @_noAllocation
    public func value(_ shape: Shape, offset: UInt64 = 0, turns: Int = 0, rounding: Float = 0) -> Float {
        let (phase, isNext) = phase.addingReportingOverflow(offset)
        let number = turn &+ UInt64(truncatingIfNeeded: turns) &+ (isNext ? 1 : 0)
        let bits = UInt32(truncatingIfNeeded: phase &>> 32)
        // Less than 1: 24 bits, all that a Float holds.
        let x = Float(bits &>> 8) * 0x1p-24
        switch shape {
        case .sine: return RenderMath.sin(phase: bits)
        case .triangle:
            let fromCrest = Float(Int32(bitPattern: bits &- (1 << 30))) * 0x1p-30
            return 1 - (fromCrest < 0 ? -fromCrest : fromCrest)
        case .saw:
            let top = 1 - rounding
            return x < top ? 2 * x / top - 1 : 1 - 2 * (x - top) / rounding
        case .square:
            let since = x < 0.5 ? x : x - 0.5
            let rise = since < rounding ? 2 * since / rounding - 1 : 1
            return x < 0.5 ? rise : -rise
        case .randomSteps:
            let new = random(number)
            if x >= rounding { return new }
            let old = random(number &- 1)
            return old + (new - old) * (x / rounding)
        case .randomCurve:
            let old = random(number)
            return old + (random(number &+ 1) - old) * (x * x * (3 - 2 * x))
        }
    }

    /// Returns the random value of a turn, evenly distributed between -1 and 1.
    @_noLocks @_noAllocation
    private func random(_ turn: UInt64) -> Float {
        let bits = NoiseCore.mixed(NoiseCore.mixed(seed) &+ turn)
        return Float(Int32(truncatingIfNeeded: bits &>> 32)) * 0x1p-31
    }
}
