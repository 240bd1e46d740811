/// Eight band-limited saws, pulses, triangles or sines, which share their phases.
///
///     sound = tone.saw(notes.turns)
///     sound = tone.pulse(notes.turns, width: notes[.width])
///     sound = tone.triangle(notes.turns)
///
/// Call one of them in each frame. All waves begin where their fundamental crosses zero upwards. Up to 5 kHz at 48 kHz aliases below
/// 20 kHz lie 70 dB below the fundamental of a saw, and harmonics at 15 kHz are 1 dB too quiet: an `Oscillator` is more exact, and
/// several times as slow.
///
/// Threads: any.
public struct WaveLanes: BitwiseCopyable, Sendable {
    /// The phase of the next frame: 2³² to the turn.
    public var phase = PhaseLanes.zero

    /// Creates waves at the beginning of their turns.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Returns a frame of the sines, and goes on.
    ///
    /// - Parameter turns: The way to the next frame in turns: frequency / sample rate, below ½.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func sine(_ turns: Lanes) -> Lanes {
        let sound = RenderMath.sin(phase: phase)
        phase &+= LaneMath.phase(turns: turns)
        return sound
    }

    /// Returns a frame of the saws, which rise from -1 to 1, and goes on.
    ///
    /// - Parameter turns: The way to the next frame in turns: frequency / sample rate, above 0 and below ½.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func saw(_ turns: Lanes) -> Lanes {
        let sound = EdgeLanes.saw(phase, turns, 0.5 / turns)
        phase &+= LaneMath.phase(turns: turns)
        return sound
    }

    /// Returns a frame of the pulses, and goes on. They have a height of 2 and a mean of 0.
    ///
    /// - Parameters:
    ///   - turns: The way to the next frame in turns.
    ///   - width: The part of a turn for which a pulse is high: 0.01…0.99.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func pulse(_ turns: Lanes, width: Lanes = Lanes(repeating: 0.5)) -> Lanes {
        let frames = 0.5 / turns
        let held = LaneMath.clamp(width, Lanes(repeating: 0.01), Lanes(repeating: 0.99))
        // Two saws: the fall of the one ends the pulse, the fall of the other, upside down, begins it.
        let end = EdgeLanes.saw(phase &- LaneMath.phase(turns: held) &+ 0x8000_0000, turns, frames)
        let sound = end - EdgeLanes.saw(phase &+ 0x8000_0000, turns, frames)
        phase &+= LaneMath.phase(turns: turns)
        return sound
    }

    /// Returns a frame of the triangles, which run between -1 and 1, and goes on.
    ///
    /// - Parameter turns: The way to the next frame in turns.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func triangle(_ turns: Lanes) -> Lanes {
        // Half turns from the upper corner: 0 there, 1 at the lower one.
        let away = LaneMath.abs(LaneMath.halfTurns(phase &- 0x4000_0000))
        let frames = 0.5 / turns
        let isLow = away .> 0.5
        let near = LaneMath.min(away, 1 - away)
        // The slope changes by 8 turns a frame, at the upper corner downwards.
        var rounding = EdgeLanes.corner(near * frames)
        if LaneMath.any(turns .> 0.0625) {
            rounding -= EdgeLanes.corner((1 - near) * frames) + EdgeLanes.corner((1 + near) * frames)
            rounding += EdgeLanes.corner((2 - near) * frames) + EdgeLanes.corner((2 + near) * frames)
            rounding -= EdgeLanes.corner((3 - near) * frames) + EdgeLanes.corner((3 + near) * frames)
            rounding += EdgeLanes.corner((4 - near) * frames)
        }
        let bend = 8 * turns * rounding
        phase &+= LaneMath.phase(turns: turns)
        return (1 - 2 * away) + (-bend).replacing(with: bend, where: isLow)
    }
}

/// Eight band-limited saws that are begun anew in each turn of another tone: hard sync.
///
///     sound = lead.next(notes.turns, ratio: 1 + 3 * sweep)
///
/// The pitch is that of the other tone, which is not heard; the ratio moves the formants. The edge where a saw is cut off is rounded
/// in its place between the frames, as the saw's own edges are.
///
/// Threads: any.
public struct SyncedSawLanes: BitwiseCopyable, Sendable {
    /// The phase of the tone that begins the saws anew: 2³² to the turn.
    public var phase = PhaseLanes.zero

    /// Creates saws at the beginning of a turn.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Returns a frame, and goes on.
    ///
    /// - Parameters:
    ///   - turns: The pitch: frequency / sample rate, above 0, up to ⅛.
    ///   - ratio: The saw's own frequency, relative to that: 1 or more; held so that the saw stays below ¼ of the sample rate.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ turns: Lanes, ratio: Lanes) -> Lanes {
        let frames = 1 / turns
        let held = LaneMath.clamp(ratio, .one, LaneMath.max(0.25 * frames, .one))
        let ownFrames = frames / held
        // Of a turn of the tone, the part that has passed; and the turns of the saw in it, which begins in its middle.
        let now = 0.5 + 0.5 * LaneMath.halfTurns(phase ^ 0x8000_0000)
        let own = held * now + 0.5
        let whole = LaneMath.floor(own)
        let place = own - whole
        // The height of the saw at the moment when it is begun anew.
        let last = held + 0.5
        let lastPlace = last - LaneMath.floor(last)

        var sound = 2 * place - 1
        // The saw falls by 2 at its own edges: behind this frame, if there has been one in this turn; ahead, if it comes
        // before the end of the turn.
        let behind = EdgeLanes.step(place * ownFrames)
        let ahead = EdgeLanes.step((1 - place) * ownFrames)
        sound -= (2 * behind).replacing(with: 0, where: whole .< 1)
        sound += (2 * ahead).replacing(with: 0, where: whole + 1 .> last)
        if LaneMath.any(LaneMath.min(now, 1 - now) * frames .< 4) {
            // At that moment it goes from its last height to 0; its edges beyond that moment are near, too.
            let height = 1 - 2 * lastPlace
            let (since, until) = (now * frames, (1 - now) * frames)
            sound += height * EdgeLanes.step(since)
            sound -= height * EdgeLanes.step(until)
            sound -= 2 * EdgeLanes.step(since + lastPlace * ownFrames)
            sound += 2 * EdgeLanes.step(until + 0.5 * ownFrames)
        }
        phase &+= LaneMath.phase(turns: turns)
        return sound
    }
}
