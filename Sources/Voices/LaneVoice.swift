public import RenderCore

/// A voice that a user writes once, in straight code, and that runs eight at a time.
///
///     struct Bell: LaneVoice {
///         private var (carrier, modulator) = (SineLanes(), SineLanes())
///         private var envelope = EnvelopeLanes()
///
///         @inline(__always) @_noLocks @_noAllocation
///         mutating func next(_ notes: borrowing Notes) -> Lanes {
///             let times = EnvelopeLanes.Times(attack: 0.002, decay: 2, sustain: 0, release: 0.5)
///             let level = notes.velocity * envelope.next(notes.gate, times, notes.sampleRate)
///             let sound = modulator.next(3.5 * notes.turns)
///             return level * carrier.next(notes.step, plus: 0.3 * level * sound)
///         }
///
///         func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
///     }
///
///     let bells = Polyphony<Bell>(voices: 64)
///
/// A `Polyphony` begins a voice by putting what `init()` makes into a lane. So every field is of eight lanes of 32
/// bits: `Lanes`, `PhaseLanes`, `SIMD8<Int32>`, structs and `InlineArray`s of those, such as the building blocks for
/// lanes. What all voices share is a parameter.
///
/// Put `@inline(__always) @_noLocks @_noAllocation` before both functions: the first lets the compiler keep the fields
/// in registers, the others let it check the code. `scripts/check-modules` finds voices without them.
///
/// Threads: render.
public protocol LaneVoice: BitwiseCopyable, Sendable {
    /// The numbers that control code sets, an enumeration; none if the voice names none.
    associatedtype Parameters: VoiceParameters = NoVoiceParameters
    /// The samples of a frame: `Lanes`, `StereoLanes`, or an `InlineArray` of `Lanes`.
    associatedtype Sound: LaneSound
    /// The notes that eight voices play.
    typealias Notes = VoiceNotes<Self>

    /// Creates eight voices at the beginning of a note.
    ///
    /// Threads: control.
    init()

    /// Computes what need not be computed in every frame, such as the coefficients of a filter: when a note begins, and
    /// every 32 frames. By default it does nothing.
    ///
    /// - Parameter notes: The notes; ``VoiceNotes/frames`` says for how many frames the call counts.
    mutating func control(_ notes: borrowing VoiceNotes<Self>)

    /// Returns a frame of eight voices, and goes on.
    ///
    /// - Parameter notes: The notes, as they are in this frame.
    mutating func next(_ notes: borrowing VoiceNotes<Self>) -> Sound

    /// Returns a frame of eight voices that have delay lines or tables, and goes on. By default it calls `next(_:)`.
    ///
    /// - Parameters:
    ///   - notes: The notes, as they are in this frame.
    ///   - memory: The delay lines and tables.
    mutating func next(_ notes: borrowing VoiceNotes<Self>, _ memory: inout VoiceMemory) -> Sound

    /// Returns the voices that still sound. A `Polyphony` asks every 32 frames, and ends a voice whose key is up and
    /// that does not sound any more. By default a voice ends with its key, in 5 ms.
    ///
    /// - Parameter notes: The notes.
    func isSounding(_ notes: borrowing VoiceNotes<Self>) -> LaneMask

    /// Returns the number of frames for which the delay lines of a voice reach back, 0…65,536. By default 0.
    ///
    /// - Parameter sampleRate: Frames in a second.
    ///
    /// Threads: control.
    static func lineFrames(at sampleRate: Double) -> Int

    /// Returns the tables of waves, which all have the same length, a power of two. By default there are none.
    ///
    /// Threads: control.
    static func makeTables() -> [[Float]]

    /// Does some work for the engine. RenderStack calls it. Leave the default, which the compiler compiles with your
    /// voice.
    ///
    /// - Parameter work: The work. Only RenderStack can make one.
    static func perform(_ work: borrowing LaneWork)
}

extension LaneVoice {
    /// Does nothing.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func control(_ notes: borrowing VoiceNotes<Self>) {}

    /// Calls `next(_:)`.
    @inlinable @inline(__always)
    public mutating func next(_ notes: borrowing VoiceNotes<Self>, _ memory: inout VoiceMemory) -> Sound { next(notes) }

    /// Returns the voices whose keys are down.
    @inlinable @inline(__always)
    public func isSounding(_ notes: borrowing VoiceNotes<Self>) -> LaneMask { notes.gate .> 0 }

    /// No frames.
    ///
    /// Threads: control.
    public static func lineFrames(at sampleRate: Double) -> Int { 0 }

    /// No tables.
    ///
    /// Threads: control.
    public static func makeTables() -> [[Float]] { [] }
}

/// A voice with delay lines or tables: it computes its frames in `next(_:_:)`.
///
/// Threads: render.
public protocol LaneVoiceWithMemory: LaneVoice {
    /// Returns a frame of eight voices, and goes on.
    ///
    /// - Parameters:
    ///   - notes: The notes, as they are in this frame.
    ///   - memory: The delay lines and tables.
    mutating func next(_ notes: borrowing VoiceNotes<Self>, _ memory: inout VoiceMemory) -> Sound
}

extension LaneVoiceWithMemory {
    /// Calls `next(_:_:)` without memory: delay lines and tables are silent.
    @inlinable
    public mutating func next(_ notes: borrowing VoiceNotes<Self>) -> Sound {
        var memory = VoiceMemory()
        return next(notes, &memory)
    }
}

/// The parameters of a voice: an enumeration that counts from 0, with 16 cases at most.
///
///     enum Knobs: Int, VoiceParameters {
///         case cutoff, pan
///
///         func makeParameter() -> Parameter {
///             switch self {
///             case .cutoff: Parameter(1_200, in: 50...20_000, unit: .hertz)
///             case .pan: Parameter(0, in: -1...1)
///             }
///         }
///     }
///
/// Threads: control.
public protocol VoiceParameters: CaseIterable, Hashable, RawRepresentable<Int>, Sendable {
    /// Returns the parameter, with its range, unit and glide.
    func makeParameter() -> Parameter
}

/// The parameters of a voice that has none: there is no such value.
///
/// Threads: control.
public enum NoVoiceParameters: Int, VoiceParameters {
    /// Never used: an enumeration with raw values needs a case.
    case none

    /// Returns a parameter that means nothing.
    public func makeParameter() -> Parameter { Parameter(0, in: 0...1) }
}
