public import RenderCore
public import Voices

/// A sequencer's track plays it, on the track's channel.
extension SoundFontPlayer: NoteTarget {
    /// Returns `true`: a key sounds once.
    public var hasKeys: Bool { true }

    /// Presses the key that is nearest.
    ///
    /// Threads: render.
    public func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        feed.play(VoiceCommand(note.on), inFrame: frame, context)
    }

    /// Lets the key go.
    ///
    /// Threads: render.
    public func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        feed.play(VoiceCommand(note.off), inFrame: frame, context)
    }

    /// Has a message act.
    ///
    /// Threads: render.
    public func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        feed.play(VoiceCommand(message), inFrame: frame, context)
    }
}
