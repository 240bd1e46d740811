/// Eight slow waves between -1 and 1.
///
///     cutoff *= RenderMath.exp2(depth * wobble.next(.triangle, turns: notes.turns(hertz: 5)))    // in `control`
///
/// Threads: any.
public struct LFOLanes: BitwiseCopyable, Sendable {
    /// The form of the waves.
    ///
    /// Threads: any.
    public enum Shape: Sendable, Hashable, BitwiseCopyable, CaseIterable {
        /// A sine, upwards from 0.
        case sine
        /// Straight up and down, upwards from 0.
        case triangle
        /// Straight up from -1 to 1, from 0, then at once down.
        case saw
        /// 1 for half of a turn, then -1.
        case square
        /// Another random number for each turn.
        case random
    }

    /// The phase of the next frame: 2³² to the turn.
    public var phase = PhaseLanes.zero
    /// The random numbers of this turn.
    @usableFromInline var held = PhaseLanes.zero

    /// Creates waves at the beginning of their turns.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Returns the wave, and goes on.
    ///
    /// - Parameters:
    ///   - shape: The form.
    ///   - turns: The way to the next value, in turns, up to 32: frequency / sample rate, if you ask for a value in every frame.
    ///   - seed: The numbers from which random ones are made, other than 0: `VoiceNotes.seed`.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ shape: Shape, turns: Lanes, seed: PhaseLanes = PhaseLanes(repeating: 1)) -> Lanes {
        let now = phase
        phase &+= LaneMath.phase(turns: turns)
        switch shape {
        case .sine: return RenderMath.sin(phase: now)
        case .triangle: return 1 - 2 * LaneMath.abs(LaneMath.halfTurns(now &- 0x4000_0000))
        case .saw: return LaneMath.halfTurns(now)
        case .square: return Lanes(repeating: 1).replacing(with: -1, where: LaneMath.halfTurns(now) .< 0)
        case .random:
            held = held.replacing(with: LFOLanes.following(seed), where: held .== 0)
            let value = LaneMath.halfTurns(held)
            held = held.replacing(with: LFOLanes.following(held), where: phase .< now)
            return value
        }
    }

    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func following(_ number: PhaseLanes) -> PhaseLanes {
        var x = number
        for _ in 0..<3 {
            x ^= x &<< 13
            x ^= x &>> 17
            x ^= x &<< 5
        }
        return x
    }
}
