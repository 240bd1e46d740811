internal import CPluginHost
internal import Glibc
public import RenderCore
internal import Sharing
internal import SignalBlocks
public import Supply
internal import Synchronization

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

    private let values: OwnedArray<Parameter>
    private let ports: OwnedArray<Int>
    private let code: ForeignCode
    private let running = RenderState<LV2Instances>(LV2Instances())
    private let keys: MIDIReader
    private let notes = CommandQueue<MIDIMessage>()
    private let port: LV2Port
    private let shape: Shape
    let current: Lock<Current>

    /// The instances that were made last, and the latencies that are known.
    struct Current {
        var instances: [LV2Instance] = []
        var rate = 0.0
        var frames = 0
        var isHandedOver = false
        var latencies: [Double: Int] = [:]
        var problem: LV2Error?
    }

    /// The part of the description that `process` needs.
    private struct Shape: Sendable, BitwiseCopyable {
        let inputs, sides, outputs: Int
        let hearsTransport: Bool
        let isCopied: Bool
    }

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
        guard (1...64).contains(copies) else {
            throw LV2Error("\(copies) copies of \(description.name): there may be 1 to 64.")
        }
        guard description.inputs <= 64, description.outputs <= 64, description.sideInputs <= 64 else {
            throw LV2Error("\(description.name) has more than 64 channels.")
        }
        self.description = description
        self.copies = copies
        let (inputs, sides, outputs) = (description.inputs, description.sideInputs, description.outputs)
        let pops = (inputs > 0 ? 1 : 0) + (sides > 0 ? 1 : 0)
        stackEffect =
            outputs > 0
            ? StackEffect(pops: pops, pushes: 1) : pops == 1 ? .reads : StackEffect(pops: pops, pushes: pops)
        shape = Shape(
            inputs: inputs, sides: sides, outputs: outputs, hearsTransport: description.takesTransport,
            isCopied: inputs == 1 && outputs == 1 && sides <= 1)
        bypass = Parameter(0, in: 0...1)
        self.midiInput = midiInput ?? MIDIInput(name: description.name)
        self.midiOutput = midiOutput ?? MIDIOutput(name: description.name)
        keys = MIDIReader(self.midiInput)
        port = LV2Port(self.midiOutput)
        let inputsOfControl = description.controls.filter { !$0.isOutput }
        values = OwnedArray(count: inputsOfControl.count) { inputsOfControl[$0].parameter() }
        ports = OwnedArray(count: inputsOfControl.count) { inputsOfControl[$0].port }
        code = ForeignCode(
            description.name, because: "its authors say whether it is fit for an audio thread, and rtwatch finds out")
        current = Lock(Current())
        try make(rate: 48_000, frames: 4_096)
    }

    /// The plug-in's name.
    public var name: String { description.name }

    /// The controls that can be set, by their symbols.
    public var parameters: [ParameterReference] {
        let inputs = description.controls.filter { !$0.isOutput }
        return values.indices.map { values[$0].named(inputs[$0].symbol) }
    }

    /// The parameter of a control, by its symbol; `nil` if there is none.
    public subscript(_ symbol: String) -> ParameterReference? {
        let inputs = description.controls.filter { !$0.isOutput }
        guard let index = inputs.firstIndex(where: { $0.symbol == symbol }) else { return nil }
        return values[index].named(symbol)
    }

    /// Returns the value that the plug-in has written into a control of its own, such as a meter, by its symbol; `nil` if
    /// there is none.
    public func reading(_ symbol: String) -> Float? {
        guard let control = description.controls.first(where: { $0.symbol == symbol && $0.isOutput }) else {
            return nil
        }
        return current.withLock { current in
            current.instances.first.map { unsafe clv2_controls($0.pointer)[control.port] }
        }
    }

    /// Sends the plug-in a MIDI message, besides those that come in through ``midiInput``.
    ///
    /// - Parameters:
    ///   - message: The message, but for system exclusive ones.
    ///   - time: The time at which the plug-in gets it.
    /// - Returns: `false` if 64 messages are under way already.
    @discardableResult
    public func send(_ message: MIDIMessage, at time: RenderTime = .immediately) -> Bool {
        notes.send(message, at: time)
    }

    /// The reason why the plug-in could not be prepared for the renderer's sample rate, and is silent; `nil` if there is none.
    public var problem: LV2Error? { current.withLock { $0.problem } }

    /// The number of slices after which the plug-in had written beyond its memory.
    public var overrunCount: Int {
        current.withLock { $0.instances.reduce(0) { unsafe $0 + Int(clv2_overrun_count($1.pointer)) } }
    }

    /// Returns what the plug-in tells at a sample rate. Where the plug-in changes it while it plays, this returns the new
    /// latency, and so does the renderer's `latency`.
    public func latency(at sampleRate: Double) -> Int {
        guard description.hasLatency else { return 0 }
        let sampleRate = sampleRate.asSampleRate
        let known = current.withLock { current -> Int? in
            if current.rate == sampleRate, let first = current.instances.first {
                return unsafe Int(clv2_latency(first.pointer))
            }
            return current.latencies[sampleRate]
        }
        if let known { return known }
        let probed = (try? probeLatency(sampleRate, frames: 1_024)) ?? 0
        current.withLock { $0.latencies[sampleRate] = probed }
        return probed
    }

    private func probeLatency(_ rate: Double, frames: Int) throws(LV2Error) -> Int {
        guard description.hasLatency else { return 0 }
        let values = portValues(rate)
        return unsafe try LV2Error.calling { error in
            let found = unsafe values.withUnsafeBufferPointer { values -> Int32 in
                guard let start = values.baseAddress else { return -1 }
                return unsafe clv2_probe_latency(description.uri, rate, Int32(frames), start, error)
            }
            return found < 0 ? nil : Int(found)
        }
    }

    /// The values of the parameters, by the numbers of the ports.
    func portValues(_ rate: Double) -> [Float] {
        var result = [Float](repeating: 0, count: max(description.portCount, 1))
        for index in values.indices {
            let parameter = values[index].range(atSampleRate: rate)
            result[ports[index]] = min(max(values[index].value, parameter.lowerBound), parameter.upperBound)
        }
        return result
    }

    /// Makes instances, with the state of those before.
    private func make(rate: Double, frames: Int) throws(LV2Error) {
        let latency = try probeLatency(rate, frames: min(frames, 1_024))
        let saved = savedState
        var made: [LV2Instance] = []
        for _ in 0..<(shape.isCopied ? copies : 1) {
            made.append(try LV2Instance(description.uri, rate: rate, frames: frames, latency: latency))
        }
        if let saved { for instance in made { _ = try? restore(saved.text, to: instance) } }
        current.change { current in
            current.instances = made
            (current.rate, current.frames) = (rate, frames)
            current.isHandedOver = false
            current.latencies[rate] = latency
            current.problem = nil
        }
    }

    /// Makes the instances for the sample rate.
    public func prepare(_ preparation: Preparation) {
        let isReady = current.withLock { current in
            !current.isHandedOver && current.rate == preparation.sampleRate
                && current.frames >= preparation.maximumFrameCount
        }
        if !isReady {
            do {
                try make(rate: preparation.sampleRate, frames: preparation.maximumFrameCount)
            } catch {
                current.withLock { $0.problem = error }
                StandardError.say("\(name) is silent: \(error)")
                return
            }
        }
        let instances = current.withLock { current in
            current.isHandedOver = true
            return current.instances
        }
        running.replace(with: LV2Instances(instances, channelLimit: preparation.maximumChannelCount))
    }

    /// Runs the plug-in.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let shape = shape
        // The buffer of the side-chain lies below the top.
        let hasKey = shape.sides > 0 && shape.inputs > 0 && shape.outputs > 0
        let pushes = shape.inputs == 0 && shape.outputs > 0
        if context.isDryRun {
            if pushes { context.push(channels: 1) }
            if hasKey { context.remove(at: 1) }
            return
        }
        var found: LV2View?
        running.with(&context) { running, _ in found = running.view }
        guard let view = found, view.count > 0 else {
            if pushes { context.push(channels: 1) }
            if shape.outputs > 0 { context.silence() }
            if hasKey { context.remove(at: 1) }
            return
        }
        // Channels beyond those that the renderer has are not heard.
        let outputs = shape.outputs < view.channelLimit ? shape.outputs : view.channelLimit
        if pushes { context.push(channels: outputs) }
        var index = 0
        while index < values.count {
            view.set(ports[index], values[index].current(context))
            index &+= 1
        }
        let dry = bypass.glide(context)
        let (from, to) = (1 - dry[0], 1 - dry[context.frameCount &- 1])
        let events = keys.events
        // Messages of control code, each at its frame.
        var sentCount = 0
        var frame = 0
        while let due = notes.next(&context, from: frame) {
            if sentCount < LV2View.mostSent {
                unsafe view.sent[sentCount] = MIDIEvent(frame: due.frame, due.command)
                sentCount &+= 1
            }
            frame = due.frame
        }
        let port = port
        var isRunning = true
        var isWhole = true
        code.call(&context) { context in
            let run = LV2Run(view, context, from: from, to: to)
            isRunning = run.begin()
            guard isRunning else { return }
            var next = 0
            while next < sentCount {
                run.add(unsafe view.sent[next])
                next &+= 1
            }
            var events = events
            while let event = events.next(context) { run.add(event) }
            if shape.hearsTransport { run.addPosition(context) }
            run.render(&context, inputs: shape.inputs, sides: shape.sides, outputs: outputs)
            run.forEachMessage { frame, message in port.send(message, at: frame, &context) }
            isWhole = run.end()
        }
        if !isRunning && shape.outputs > 0 { context.silence() }
        if !isWhole { code.reportOverrun(context) }
        if hasKey { context.remove(at: 1) }
    }

    /// Has the plug-in forget the sound before. Live that takes a few milliseconds, in which it is silent.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var found: LV2View?
        running.with(&context) { running, _ in found = running.view }
        guard let view = found else { return }
        code.call(&context) { context in
            var index = 0
            while index < view.count {
                unsafe clv2_ask_for_reset(view.instances[index], context.isOffline)
                index &+= 1
            }
        }
    }
}
