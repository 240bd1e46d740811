public import RenderCore
public import Supply

/// A sequencer's track plays other programs and machines.
extension MIDIOutput: NoteTarget {
    /// Returns `true`: a key sounds once.
    public var hasKeys: Bool { true }

    /// Sends the note-on.
    ///
    /// Threads: render.
    public func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        send(note.on, inFrame: frame, context)
    }

    /// Sends the note-off.
    ///
    /// Threads: render.
    public func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        send(note.off, inFrame: frame, context)
    }

    /// Sends the message.
    ///
    /// Threads: render.
    public func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        unsafe context.send(message, at: frame, to: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    }
}
