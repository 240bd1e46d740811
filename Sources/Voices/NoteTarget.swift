public import RenderCore

/// Anything that plays the notes of a sequencer's track: an instrument, the samples of a kit, a MIDI output.
///
/// RenderStack's instruments are targets. An object of yours becomes one by four functions; the sequencer calls three of them on the
/// render thread, in the slice that the note begins or ends in, before the object itself runs if it is a module:
///
///     final class Lamp: NoteTarget {
///         func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool { … }
///     }
///
/// Threads: control.
public protocol NoteTarget: AnyObject, Sendable {
    /// Indicates that one key sounds once at a time, as in MIDI: then the sequencer ends a note before the next one of its key begins.
    var hasKeys: Bool { get }

    /// Returns the number that a note has for this target; `nil` if it has no such note.
    ///
    /// - Parameters:
    ///   - word: The word as it was written, such as `kick`.
    ///   - number: The number that the word stands for, if it stands for one.
    func number(forWord word: String, _ number: Double?) -> Double?

    /// Begins a note. Returns `false` if it could not, and the note will not sound.
    ///
    /// Threads: render.
    func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool

    /// Ends a note. Returns `false` if it could not; then it is asked again in the next slice.
    ///
    /// Threads: render.
    func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool

    /// Lets a message act. Returns `false` if it could not.
    ///
    /// Threads: render.
    func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool
}

extension NoteTarget {
    /// Returns `false`.
    public var hasKeys: Bool { false }
    /// Returns the number that the word stands for.
    public func number(forWord word: String, _ number: Double?) -> Double? { number }
    /// Does nothing, and returns `true`.
    ///
    /// Threads: render.
    public func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool { true }
    /// Does nothing, and returns `true`.
    ///
    /// Threads: render.
    public func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool { true }
}

/// A note that a sequencer's track plays on a ``NoteTarget``.
///
/// Threads: any.
public struct TargetNote: Sendable, Hashable, BitwiseCopyable {
    /// The number of this note, which no other note of the process has while it sounds; it is below 0.
    public var voice: Int
    /// The note in semitones, fractions included, or the number that ``NoteTarget/number(forWord:_:)`` returned.
    public var number: Float
    /// The velocity, 0…1.
    public var velocity: Float
    /// The MIDI channel of the track, 0…15.
    public var channel: UInt8

    /// Creates a note.
    @_noLocks @_noAllocation
    public init(voice: Int, number: Float, velocity: Float, channel: UInt8 = 0) {
        (self.voice, self.number, self.velocity, self.channel) = (voice, number, velocity, channel)
    }

    /// The number as a key of MIDI, 0…127.
    public var key: UInt8 {
        @_noLocks @_noAllocation get {
            number > 0 ? UInt8(truncatingIfNeeded: Int(number < 127 ? number + 0.5 : 127)) : 0
        }
    }

    /// The velocity as a number of MIDI, 1…127.
    public var midiVelocity: UInt8 {
        @_noLocks @_noAllocation get {
            let turned = velocity > 0 ? Int((velocity < 1 ? velocity : 1) * 127 + 0.5) : 0
            return turned > 1 ? UInt8(truncatingIfNeeded: turned) : 1
        }
    }

    /// The message that begins it.
    public var on: MIDIMessage {
        @_noLocks @_noAllocation get { .noteOn(channel: channel & 15, note: key, velocity: midiVelocity) }
    }

    /// The message that ends it.
    public var off: MIDIMessage {
        @_noLocks @_noAllocation get { .noteOff(channel: channel & 15, note: key, velocity: 64) }
    }
}
