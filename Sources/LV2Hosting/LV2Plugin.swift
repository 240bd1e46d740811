internal import PluginHosting
public import RenderCore
public import Supply

/// An LV2 plug-in as a module: effects edit the top, instruments and other generators push a buffer, and a plug-in with a
/// side-chain takes the buffer below the top too.
///
///     let reverb = try LV2Plugin(name: "Dragonfly Hall Reverb")
///     let renderer = try Renderer { context in
///         context.run(drums)
///         context.run(reverb)
///         context.output()
///     }
///     reverb["size"]?.value = 24                      // `size` is the port's symbol
///     try reverb.load(reverb.presets[0])
///
/// **Channels.** A plug-in of one channel runs once for each channel of the top, up to ``copies``; further channels stay
/// as they are. Of any other plug-in the result has as many channels as the plug-in has outputs. Mono goes to all of its
/// inputs, and into one input all channels are summed; further inputs get silence.
///
/// **Its code** is `ForeignCode`: samples that are infinite or not a number are muted with a fault that names
/// the plug-in, which is then reset. A plug-in that writes beyond its buffers is a fault too: a debug build looks at
/// 4,096 samples on either side of each, a release build at 16. A plug-in may sound different in cycles of other lengths,
/// and many do.
///
/// Latency: what the plug-in tells. ``bypass`` fades to the input, which is as late as the plug-in's sound.
///
/// Threads: control.
public final class LV2Plugin: Module {
    /// The plug-in's description: its name, its controls, its channels.
    public let description: LV2Description
    /// The buffers that it takes and leaves, by its audio ports.
    public let stackEffect: StackEffect
    /// The part of the sound that is the input instead of the plug-in's: 1 bypasses the plug-in, which runs on. It takes 10 ms
    /// from one to the other.
    public let bypass: Parameter
    /// The most channels that a plug-in of one channel is copied for.
    public let copies: Int
    /// The input through which the plug-in hears MIDI: an output of the program brings it, such as
    /// `JACKOutput(renderer, midiInputs: [plugin.midiInput])`.
    public let midiInput: MIDIInput
    /// The output through which the plug-in sends MIDI.
    public let midiOutput: MIDIOutput

    let host: HostedPlugin

    /// Loads the plug-in with a URI.
    ///
    /// - Parameters:
    ///   - uri: The URI.
    ///   - copies: The most channels that a plug-in of one channel is copied for.
    ///   - midiInput: The input through which it hears MIDI; one of its own by default.
    ///   - midiOutput: The output through which it sends MIDI; one of its own by default.
    /// - Throws: A sentence: no plug-in has the URI, it requires what RenderStack does not have, or its library cannot be
    ///   loaded.
    public convenience init(
        uri: String, copies: Int = 2, midiInput: MIDIInput? = nil, midiOutput: MIDIOutput? = nil
    ) throws(LV2Error) {
        try self.init(LV2Description(uri: uri), copies: copies, midiInput: midiInput, midiOutput: midiOutput)
    }

    /// Loads the one plug-in with a name.
    ///
    /// - Parameters:
    ///   - name: The name, in capital or small letters.
    ///   - copies: The most channels that a plug-in of one channel is copied for.
    /// - Throws: A sentence, as for a URI; also where several plug-ins have the name.
    public convenience init(name: String, copies: Int = 2) throws(LV2Error) {
        try self.init(LV2Description(name: name), copies: copies)
    }

    /// Loads a plug-in from a folder, which need not be where plug-ins are installed.
    ///
    /// - Parameters:
    ///   - path: The path of the folder.
    ///   - uri: The URI of one of its plug-ins; the first by default.
    ///   - copies: The most channels that a plug-in of one channel is copied for.
    /// - Throws: A sentence.
    public convenience init(bundle path: String, uri: String? = nil, copies: Int = 2) throws(LV2Error) {
        try self.init(LV2Description(bundle: path, uri: uri), copies: copies)
    }

    /// Loads the plug-in with a description.
    ///
    /// - Parameters:
    ///   - description: The description.
    ///   - copies: The most channels that a plug-in of one channel is copied for.
    ///   - midiInput: The input through which it hears MIDI; one of its own by default.
    ///   - midiOutput: The output through which it sends MIDI; one of its own by default.
    /// - Throws: A sentence: it requires what RenderStack does not have, or its library cannot be loaded.
    public init(
        _ description: LV2Description, copies: Int = 2, midiInput: MIDIInput? = nil, midiOutput: MIDIOutput? = nil
    ) throws(LV2Error) {
        self.description = description
        self.copies = copies
        bypass = Parameter(0, in: 0...1)
        self.midiInput = midiInput ?? MIDIInput(name: description.name)
        self.midiOutput = midiOutput ?? MIDIOutput(name: description.name)
        do {
            host = try HostedPlugin.load(
                description, copies: copies, midiInput: self.midiInput, midiOutput: self.midiOutput)
        } catch { throw LV2Error("\(error)") }
        stackEffect = host.stackEffect
    }

    /// The plug-in's name.
    public var name: String { description.name }

    /// The controls that can be set, by their symbols.
    public var parameters: [ParameterReference] { host.parameters }

    /// The parameter of a control, by its symbol; `nil` if there is none.
    public subscript(_ symbol: String) -> ParameterReference? { host.parameters[symbol] }

    /// Returns the value that the plug-in has written into a control of its own, such as a meter, by its symbol; `nil` if
    /// there is none.
    public func reading(_ symbol: String) -> Float? {
        guard let control = description.controls.first(where: { $0.symbol == symbol && $0.isOutput }) else {
            return nil
        }
        return host.instances.first.map { unsafe $0.controls[control.port] }
    }

    /// Sends the plug-in a MIDI message, besides those that come in through ``midiInput``.
    ///
    /// - Parameters:
    ///   - message: The message, but for system exclusive ones.
    ///   - time: The time at which the plug-in gets it.
    /// - Returns: `false` if 64 messages are under way already.
    @discardableResult
    public func send(_ message: MIDIMessage, at time: RenderTime = .immediately) -> Bool {
        host.send(message, at: time)
    }

    /// The reason why the plug-in could not be prepared for the renderer's sample rate, and is silent; `nil` if there is none.
    public var problem: LV2Error? { host.problem.map(LV2Error.init) }

    /// The number of slices after which the plug-in had written beyond its memory.
    public var overrunCount: Int { host.overrunCount }

    /// Returns what the plug-in tells at a sample rate. Where the plug-in changes it while it plays, this returns the new
    /// latency, and so does the renderer's `latency`.
    public func latency(at sampleRate: Double) -> Int { host.latency(at: sampleRate) }

    /// Makes the instances for the sample rate.
    public func prepare(_ preparation: Preparation) { host.prepare(preparation) }

    /// Runs the plug-in.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { host.process(&context, bypass: bypass) }

    /// Has the plug-in forget the sound before. Live that takes a few milliseconds, in which it is silent.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { host.reset(&context) }
}
