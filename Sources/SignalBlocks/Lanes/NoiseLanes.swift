/// Eight white noises, each of its own: evenly distributed from -1 to 1.
///
///     sound = noise.next(notes.seed)
///
/// Threads: any.
public struct NoiseLanes: BitwiseCopyable, Sendable {
    /// The last number of each; 0 before the first.
    @usableFromInline var state = PhaseLanes.zero

    /// Creates noises that have not begun.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Returns a frame, and goes on.
    ///
    /// - Parameter seed: The numbers from which the noises are made, other than 0: `VoiceNotes.seed`. They count in the first
    ///   frame.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ seed: PhaseLanes) -> Lanes {
        // Marsaglia's xorshift, which goes through all numbers but 0.
        var x = state.replacing(with: seed, where: state .== 0)
        x ^= x &<< 13
        x ^= x &>> 17
        x ^= x &<< 5
        state = x
        return LaneMath.halfTurns(x)
    }
}
