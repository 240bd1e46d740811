public import RenderCore
public import Voices

/// A sequencer's track plays it: each note is a voice of its own, fractions of semitones included.
extension Polyphony: NoteTarget {
    /// Begins a voice.
    ///
    /// Threads: render.
    public func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        var command = beginning(note.voice, note.number, note.velocity)
        command.channel = Int(note.channel)
        return play(command, inFrame: frame, context)
    }

    /// Lets the voice go.
    ///
    /// Threads: render.
    public func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        play(VoiceCommand(.letGo, note.voice, 0), inFrame: frame, context)
    }

    /// Has a message act.
    ///
    /// Threads: render.
    public func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        play(VoiceCommand(message), inFrame: frame, context)
    }
}
