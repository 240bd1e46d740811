public import RenderCore

/// The notes that eight voices play, as they are in a frame.
///
/// Threads: render.
public struct VoiceNotes<Voice: LaneVoice>: BitwiseCopyable, Sendable {
    @usableFromInline var core: NoteLanes

    @inlinable @inline(__always) init(_ core: NoteLanes) { self.core = core }

    /// The distance that the phase goes to the next frame, 2³² to the turn, with bend: the most exact form of the pitch, and the
    /// fastest to use.
    @inlinable public var step: PhaseLanes { @inline(__always) get { core.step } }
    /// The frequency in turns a frame: frequency / sample rate, below ½.
    @inlinable public var turns: Lanes { @inline(__always) get { core.turns + core.turnsSlope * core.place } }
    /// The note in semitones, with bend: 69 is the A of 440 Hz. It is that of the last call of `control`.
    @inlinable public var pitch: Lanes { @inline(__always) get { core.pitch } }
    /// The velocity of the note, 0…1.
    @inlinable public var velocity: Lanes { @inline(__always) get { core.velocity } }
    /// 1 while the key is down or held by the pedal, 0 after that.
    @inlinable public var gate: Lanes { @inline(__always) get { core.gate } }
    /// The pressure on the key, 0…1.
    @inlinable public var pressure: Lanes { @inline(__always) get { core.pressure + core.pressureSlope * core.place } }
    /// A random number for each note, other than 0.
    @inlinable public var seed: PhaseLanes { @inline(__always) get { core.seed } }
    /// Indicates whether a note has begun, or a number has moved, since the last call of `control`. If none has, `control` need not
    /// compute again what follows from the notes and the parameters alone.
    @inlinable public var haveChanged: Bool { @inline(__always) get { core.haveChanged } }
    /// The number of frames for which a call of `control` counts: 32, or fewer where the note has begun between two calls.
    @inlinable public var frames: Float { @inline(__always) get { core.frames } }
    /// Returns the turns of a frequency from one call of `control` to the next: for slow waves.
    ///
    /// - Parameter hertz: The frequency.
    @inlinable @inline(__always)
    public func turns(hertz: Lanes) -> Lanes { hertz * (core.frames / core.sampleRate) }

    /// Frames in a second.
    @inlinable public var sampleRate: Float { @inline(__always) get { core.sampleRate } }

    /// A parameter: its own value of each voice that has one, else the value of all.
    ///
    /// - Parameter parameter: One of the voice's parameters.
    @inlinable public subscript(_ parameter: Voice.Parameters) -> Lanes {
        @inline(__always) get {
            let number = parameterNumber(parameter)
            return core.values[number] + core.slopes[number] * core.place
        }
    }
}

/// Returns the number of a case. A raw value would do as well, but debug builds refuse to ask an enumeration of another file for it.
/// A `Polyphony` checks when it is made that both agree.
@inlinable @inline(__always)
func parameterNumber<Parameters: VoiceParameters>(_ parameter: Parameters) -> Int {
    MemoryLayout<Parameters>.size == 1 ? Int(unsafe unsafeBitCast(parameter, to: UInt8.self)) : 0
}

/// The parts of all ``VoiceNotes``. Each number goes in a straight line through a chunk of 32 frames.
@usableFromInline struct NoteLanes: BitwiseCopyable, Sendable {
    @usableFromInline var step = PhaseLanes.zero
    @usableFromInline var stepSlope = PhaseLanes.zero
    @usableFromInline var turns = Lanes(repeating: 0.01)
    @usableFromInline var turnsSlope = Lanes.zero
    @usableFromInline var pitch = Lanes(repeating: 69)
    @usableFromInline var velocity = Lanes.zero
    @usableFromInline var gate = Lanes.zero
    @usableFromInline var pressure = Lanes.zero
    @usableFromInline var pressureSlope = Lanes.zero
    @usableFromInline var seed = PhaseLanes(repeating: 1)
    /// The frame in the chunk.
    @usableFromInline var place: Float = 0
    @usableFromInline var frames: Float = 32
    @usableFromInline var sampleRate: Float = 48_000
    @usableFromInline var haveChanged = true
    @usableFromInline var values = InlineArray<16, Lanes>(repeating: .zero)
    @usableFromInline var slopes = InlineArray<16, Lanes>(repeating: .zero)

    @_noLocks @_noAllocation
    init() {}
}
