/// Where events come in: a keyboard, a sequencer, another program.
///
///     let keys = MIDIInput(name: "keys")
///     let renderer = try Renderer { context in
///         context.forEachEvent(from: keys) { event, context in … }
///         …
///     }
///     let output = try JACKOutput(renderer, midiInputs: [keys])
public final class MIDIInput: Sendable {
    /// What the output calls its port.
    public let name: String

    /// An input.
    ///
    /// - Parameter name: what it is, for people: "keys".
    public init(name: String = "midi") { self.name = name }
}

/// Where events go out.
///
///     let synth = MIDIOutput(name: "synth")
///     …
///     context.send(.noteOn(channel: 0, note: 60, velocity: 100), to: synth)
///     …
///     let output = try JACKOutput(renderer, midiOutputs: [synth])
public final class MIDIOutput: Sendable {
    /// What the output calls its port.
    public let name: String

    /// An output.
    ///
    /// - Parameter name: what it is, for people: "synth".
    public init(name: String = "midi") { self.name = name }
}

extension RenderContext {
    /// Goes through the events of this slice, in their order.
    ///
    /// A cycle is cut at its first 64 events of each input, so that they lie on the first frame of a slice: what is set in
    /// the closure begins on the very frame. Those beyond tell in ``MIDIEvent/frame`` where they are.
    ///
    /// - Parameters:
    ///   - input: where from.
    ///   - body: gets each event.
    public mutating func forEachEvent(from input: MIDIInput, _ body: (MIDIEvent, inout RenderContext) -> Void) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque())
        guard let supply = unsafe core.pointee.supply, let lists = unsafe supply.pointee.received else { return }
        let first = cycleOffset
        for index in unsafe 0..<supply.pointee.receivedCount where unsafe lists[index].identity == identity {
            for number in unsafe 0..<lists[index].count {
                var event = unsafe lists[index].events[number]
                event.frame &-= first
                if event.frame >= frameCount { break }
                if event.frame >= 0 { body(event, &self) }
            }
        }
    }

    /// Sends a message.
    ///
    /// - Parameters:
    ///   - message: what it says. The parts of a system exclusive one follow each other, at the same frame.
    ///   - frame: when, counted from the first frame of the slice: 0 up to its last.
    ///   - output: where to.
    /// - Returns: whether it could be sent: `false` where nothing drives the output, or too much was sent in this cycle.
    @_noLocks @_noAllocation
    @discardableResult public mutating func send(_ message: MIDIMessage, at frame: Int = 0, to output: MIDIOutput)
        -> Bool
    {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(output).toOpaque())
        guard let supply = unsafe core.pointee.supply, let lists = unsafe supply.pointee.sent else { return false }
        let inside = frame < 0 ? 0 : frame < frameCount ? frame : frameCount &- 1
        var index = 0
        while unsafe index < supply.pointee.sentCount {
            if unsafe lists[index].identity == identity {
                return unsafe lists[index].add(MIDIEvent(frame: cycleOffset &+ inside, message))
            }
            index &+= 1
        }
        return false
    }
}
