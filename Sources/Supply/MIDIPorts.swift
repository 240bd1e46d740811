public import RenderCore

/// An input for events: from a keyboard, a sequencer, another program.
///
///     let keys = MIDIInput(name: "keys")
///     let renderer = try Renderer { context in
///         context.forEachEvent(from: keys) { event, context in … }
///         …
///     }
///     let output = JACKOutput(renderer, midiInputs: [keys])
///
/// When a source vanishes, or its connection, the output ends the notes and pedals that the source holds down: their note-offs come
/// as if the source had sent them.
///
/// Threads: control.
public final class MIDIInput: Sendable {
    /// The name of the port.
    public let name: String

    /// Creates an input.
    ///
    /// - Parameter name: A name for people: "keys".
    public init(name: String = "midi") { self.name = name }
}

/// An output for events.
///
///     let synth = MIDIOutput(name: "synth")
///     …
///     context.send(.noteOn(channel: 0, note: 60, velocity: 100), to: synth)
///     …
///     let output = JACKOutput(renderer, midiOutputs: [synth])
///
/// Threads: control.
public final class MIDIOutput: Sendable {
    /// The name of the port.
    public let name: String

    /// Creates an output.
    ///
    /// - Parameter name: A name for people: "synth".
    public init(name: String = "midi") { self.name = name }
}

extension RenderContext {
    /// Calls `body` with the events of this slice, in their order.
    ///
    /// A cycle is cut at its first 64 events of each input, so that they lie on the first frame of a slice: settings of
    /// the render loop begin on the very frame. For later events ``/Exchange/MIDIEvent/frame`` says where they are. An annotated
    /// `process` takes a ``/Supply/MIDIReader``.
    ///
    /// - Parameters:
    ///   - input: The input.
    ///   - body: Gets each event.
    public mutating func forEachEvent(from input: MIDIInput, _ body: (MIDIEvent, inout RenderContext) -> Void) {
        let address = unsafe UInt(bitPattern: Unmanaged.passUnretained(input).toOpaque())
        var position = 0
        while let event = midiEvent(from: address, &position, upTo: .max) { body(event, &self) }
    }

    /// Sends a message. An annotated `process` takes a ``/Supply/MIDISender``.
    ///
    /// - Parameters:
    ///   - message: The message. The parts of a system exclusive one follow each other, at the same frame.
    ///   - frame: The frame, counted from the first of the slice: 0 up to its last.
    ///   - output: The output.
    /// - Returns: `true` if the message could be sent; `false` if no output drives the port, or too much was sent in
    ///   this cycle.
    @_noLocks @_noAllocation
    @discardableResult public mutating func send(_ message: MIDIMessage, at frame: Int = 0, to output: MIDIOutput)
        -> Bool
    {
        unsafe send(message, at: frame, to: UnsafeRawPointer(Unmanaged.passUnretained(output).toOpaque()))
    }
}
