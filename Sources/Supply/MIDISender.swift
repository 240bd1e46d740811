public import RenderCore

/// A ``MIDIOutput`` as a field of a module: it lets an annotated `process` send messages.
///
///     private let synth: MIDISender                       // in the initialiser: synth = MIDISender(output)
///     …
///     synth.send(.noteOn(channel: 0, note: 60, velocity: 100), at: frame, context)          // in `process`
///
/// Threads: control.
@safe public struct MIDISender: ~Copyable, @unchecked Sendable {
    // Unchecked because the reference is never changed, and leads to a Sendable object.
    private let output: Unmanaged<MIDIOutput>

    /// Creates a sender to an output, which it keeps alive.
    public init(_ output: MIDIOutput) { unsafe self.output = .passRetained(output) }

    deinit { unsafe output.release() }

    /// Sends a message.
    ///
    /// - Parameters:
    ///   - message: The message. The parts of a system exclusive one follow each other, at the same frame.
    ///   - frame: The frame, counted from the first of the slice: 0 up to its last, and held to that.
    ///   - context: That of the slice.
    /// - Returns: `true` if the message could be sent; `false` if no output drives the port, or too much was sent in
    ///   this cycle.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @discardableResult
    public func send(_ message: MIDIMessage, at frame: Int = 0, _ context: borrowing RenderContext) -> Bool {
        unsafe context.send(message, at: frame, to: UnsafeRawPointer(output.toOpaque()))
    }
}

extension RenderContext {
    /// Sends a message to the output at an address.
    @_noLocks @_noAllocation
    package func send(_ message: MIDIMessage, at frame: Int, to output: UnsafeRawPointer) -> Bool {
        guard let supply = unsafe core.pointee.supply else { return false }
        let inside = frame < 0 ? 0 : frame < frameCount ? frame : frameCount &- 1
        return unsafe supply.pointee.send(MIDIEvent(frame: cycleOffset &+ inside, message), to: output)
    }
}
