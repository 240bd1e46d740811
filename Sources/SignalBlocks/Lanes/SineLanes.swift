/// Eight sines.
///
///     sound = tone.next(notes.step)                            // as the notes say
///     sound = tone.next(2 * notes.turns)                       // an octave above
///     sound = carrier.next(notes.step, plus: index * modulator)        // frequency modulation
///
/// The phase is a whole number, so a tone does not drift. Harmonics lie below -140 dB.
///
/// Threads: any.
public struct SineLanes: BitwiseCopyable, Sendable {
    /// The phase of the next frame: 2³² to the turn.
    public var phase = PhaseLanes.zero

    /// Creates sines at the beginning of their turns.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Returns a frame, and goes on.
    ///
    /// - Parameter step: The way to the next frame, 2³² to the turn: `VoiceNotes.step`.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ step: PhaseLanes) -> Lanes {
        let sound = RenderMath.sin(phase: phase)
        phase &+= step
        return sound
    }

    /// Returns a frame, and goes on.
    ///
    /// - Parameter turns: The way to the next frame in turns: frequency / sample rate.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ turns: Lanes) -> Lanes { next(LaneMath.phase(turns: turns)) }

    /// Returns a frame whose phase is moved, and goes on: phase modulation, which is what synthesisers call FM.
    ///
    /// - Parameters:
    ///   - step: The way to the next frame, 2³² to the turn.
    ///   - turns: The distance by which this frame is moved, up to 32 turns either way. The index of FM counts in radians, of
    ///     which 2π are a turn.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ step: PhaseLanes, plus turns: Lanes) -> Lanes {
        let sound = RenderMath.sin(phase: phase &+ LaneMath.phase(turns: turns))
        phase &+= step
        return sound
    }
}
