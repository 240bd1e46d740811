package import RenderCore
internal import Sharing
internal import SignalBlocks
package import Supply

/// A plug-in as a module has it, whatever its format: all but what a ``PluginFormat`` and its ``PluginInstance`` do. The module holds it in a
/// `let`, and passes its own `prepare`, `process` and `reset` on to it.
package struct HostedPlugin: ~Copyable, Sendable {
    /// The buffers that the plug-in takes and leaves.
    package let stackEffect: StackEffect
    private let format: any PluginFormat
    private let controls: [PluginControl]
    private let values: OwnedArray<Parameter>
    private let places: OwnedArray<Int>
    private let code: ForeignCode
    private let running: RenderState<PluginSeats>
    private let keys: MIDIReader
    private let notes = CommandQueue<MIDIMessage>()
    private let midiOutput: MIDIOutput
    private let inputs, sides, outputs, copies: Int
    private let hearsTransport: Bool
    private let current = Lock(Current())

    /// The instances that were made last, and the latencies that are known.
    private struct Current {
        var instances: [any PluginInstance] = []
        var rate = 48_000.0
        var frames = 0
        var isHandedOver = false
        var latencies: [Double: Int] = [:]
        var problem: String?
    }

    /// Returns a plug-in that is loaded.
    ///
    /// - Parameters:
    ///   - format: The plug-in, as its format has it.
    ///   - copies: The most channels that a plug-in of one channel is copied for.
    ///   - midiInput: The input through which it hears MIDI.
    ///   - midiOutput: The output through which it sends MIDI.
    /// - Throws: A sentence.
    package static func load(
        _ format: any PluginFormat, copies: Int, midiInput: MIDIInput, midiOutput: MIDIOutput
    ) throws -> HostedPlugin {
        guard (1...64).contains(copies) else {
            throw PluginError(description: "\(copies) copies of \(format.name): there may be 1 to 64.")
        }
        guard max(format.inputs, format.sideInputs, format.outputs) <= 64 else {
            throw PluginError(description: "\(format.name) has more than 64 channels.")
        }
        let plugin = HostedPlugin(format, copies: copies, midiInput: midiInput, midiOutput: midiOutput)
        try plugin.make(rate: 48_000, frames: 4_096)
        return plugin
    }

    private init(_ format: any PluginFormat, copies: Int, midiInput: MIDIInput, midiOutput: MIDIOutput) {
        // Locals, since the compiler would destroy what is not there yet if a property were read here.
        let (ins, keys, outs, controls) = (format.inputs, format.sideInputs, format.outputs, format.settable)
        let pops = (ins > 0 ? 1 : 0) + (keys > 0 ? 1 : 0)
        stackEffect =
            outs > 0
            ? StackEffect(pops: pops, pushes: 1) : pops == 1 ? .reads : StackEffect(pops: pops, pushes: pops)
        inputs = ins
        sides = keys
        outputs = outs
        hearsTransport = format.takesTransport
        self.copies = ins == 1 && outs == 1 && keys <= 1 ? copies : 1
        self.format = format
        self.controls = controls
        self.midiOutput = midiOutput
        self.keys = MIDIReader(midiInput)
        running = RenderState(PluginSeats(output: midiOutput))
        values = OwnedArray(count: controls.count) { controls[$0].parameter() }
        places = OwnedArray(count: controls.count) { controls[$0].place }
        code = ForeignCode(
            format.name, because: "its authors say whether it is fit for an audio thread, and rtwatch finds out")
    }

    // MARK: - Control code

    /// The parameters of the controls, by their names.
    package var parameters: [ParameterReference] { values.indices.map { values[$0].named(controls[$0].name) } }

    /// The instances that were made last.
    package var instances: [any PluginInstance] { current.withLock { $0.instances } }

    /// The number of slices after which an instance had written beyond its memory.
    package var overrunCount: Int { instances.reduce(0) { $0 + $1.memory.overrunCount } }

    /// The values of the parameters at the sample rate of these instances, by their places.
    package var placedValues: [Float] { placedValues(current.withLock { $0.rate }) }

    /// The reason why the plug-in could not be prepared for the renderer's sample rate, and is silent.
    package var problem: String? { current.withLock { $0.problem } }

    /// Sends the plug-in a MIDI message. `false` if 64 are under way already.
    package func send(_ message: MIDIMessage, at time: RenderTime) -> Bool { notes.send(message, at: time) }

    /// Returns the latency at a sample rate, as the plug-in tells it.
    package func latency(at sampleRate: Double) -> Int {
        guard format.hasLatency else { return 0 }
        let sampleRate = sampleRate.asSampleRate
        let known = current.withLock { current in
            current.rate == sampleRate ? current.instances.first?.code.latency : current.latencies[sampleRate]
        }
        if let known { return known }
        let probed = (try? probeLatency(sampleRate, frames: 1_024)) ?? 0
        current.withLock { $0.latencies[sampleRate] = probed }
        return probed
    }

    /// Has an instance of its own run twice, and asks it.
    private func probeLatency(_ rate: Double, frames: Int) throws -> Int {
        guard format.hasLatency else { return 0 }
        let instance = try format.makeInstance(rate: rate, frames: frames, latency: 0, in: PluginMemory(format.name))
        let values = placedValues(rate)
        for index in places.indices { unsafe instance.controls[places[index]] = values[places[index]] }
        var code = instance.code
        for _ in 0..<2 where code.begin(isOffline: true) {
            code.render(frames: frames)
            code.end()
        }
        return code.latency
    }

    private func placedValues(_ rate: Double) -> [Float] {
        var result = [Float](repeating: 0, count: max(format.placeCount, 1))
        for index in values.indices {
            let range = values[index].range(atSampleRate: rate)
            result[places[index]] = min(max(values[index].value, range.lowerBound), range.upperBound)
        }
        return result
    }

    /// Makes instances, with the state of those before.
    private func make(rate: Double, frames: Int) throws {
        let latency = try probeLatency(rate, frames: min(frames, 1_024))
        let (old, values) = (instances.first, placedValues)
        var made: [any PluginInstance] = []
        for _ in 0..<copies {
            made.append(
                try format.makeInstance(rate: rate, frames: frames, latency: latency, in: PluginMemory(format.name)))
        }
        if let old { format.handOver(old, values, to: made) }
        for instance in made { PluginService.shared.add(instance) }
        current.change { current in
            current.instances = made
            (current.rate, current.frames) = (rate, frames)
            current.isHandedOver = false
            current.latencies[rate] = latency
        }
    }

    /// Makes the instances for the sample rate.
    package func prepare(_ preparation: Preparation) {
        let rate = preparation.sampleRate
        let isReady = current.withLock { current in
            !current.isHandedOver && current.rate == rate && current.frames >= preparation.maximumFrameCount
        }
        if !isReady {
            do {
                try make(rate: rate, frames: preparation.maximumFrameCount)
            } catch {
                current.withLock { $0.problem = "\(error)" }
                StandardError.say("\(format.name) is silent: \(error)")
                return
            }
        }
        let (instances, frames) = current.withLock { current in
            (current.isHandedOver, current.problem) = (true, nil)
            return (current.instances, current.frames)
        }
        running.replace(
            with: PluginSeats(
                instances, output: midiOutput, rate: rate, frames: frames, isLate: format.hasLatency,
                channelLimit: preparation.maximumChannelCount))
    }

    // MARK: - The render thread

    /// Runs the plug-in.
    ///
    /// - Parameter bypass: The module's parameter for the part of the sound that is the input instead of the plug-in's.
    @_noLocks @_noAllocation
    package func process(_ context: inout RenderContext, bypass: borrowing Parameter) {
        // The buffer of the side-chain lies below the top.
        let hasKey = sides > 0 && inputs > 0 && outputs > 0
        let pushes = inputs == 0 && outputs > 0
        var found: PluginView?
        running.with(&context) { running, _ in found = running.view }
        guard let view = found, view.count > 0, !context.isDryRun else {
            if pushes { context.push(channels: 1) }
            if outputs > 0 { context.silence() }
            if hasKey { context.remove(at: 1) }
            return
        }
        // Channels beyond those that the renderer has are not heard.
        let heard = outputs < view.channelLimit ? outputs : view.channelLimit
        if pushes { context.push(channels: heard) }
        var index = 0
        while index < values.count {
            view.set(places[index], values[index].current(context))
            index &+= 1
        }
        let dry = bypass.glide(context)
        let (from, to) = (1 - dry[0], 1 - dry[context.frameCount &- 1])
        let events = keys.events
        // Messages of control code, each at its frame.
        var sentCount = 0
        var frame = 0
        while let due = notes.next(&context, from: frame) {
            if sentCount < PluginView.mostSent {
                unsafe view.sent[sentCount] = MIDIEvent(frame: due.frame, due.command)
                sentCount &+= 1
            }
            frame = due.frame
        }
        let (inputs, sides, outputs, hearsTransport) = (inputs, sides, outputs, hearsTransport)
        var isRunning = true
        var isWhole = true
        code.call(&context) { context in
            isRunning = view.begin(isOffline: context.isOffline)
            guard isRunning else { return }
            for index in 0..<sentCount { view.add(unsafe view.sent[index]) }
            var events = events
            while let event = events.next(context) { view.add(event) }
            if hearsTransport { view.addPosition(context) }
            view.render(&context, inputs: inputs, sides: sides, outputs: heard, part: from, to: to)
            view.sendMessages(context)
            isWhole = view.end()
        }
        if !isRunning && outputs > 0 { context.silence() }
        if !isWhole { code.reportOverrun(context) }
        if hasKey { context.remove(at: 1) }
    }

    /// Has the plug-in forget the sound before. Live that takes a few milliseconds, in which it is silent.
    @_noLocks @_noAllocation
    package func reset(_ context: inout RenderContext) {
        var found: PluginView?
        running.with(&context) { running, _ in found = running.view }
        guard let view = found else { return }
        code.call(&context) { context in view.reset(isOffline: context.isOffline) }
    }
}

/// The thread that does for plug-ins what does not belong on a render thread: their work, and resets.
private final class PluginService: Sendable {
    static let shared = PluginService()
    private let instances = Lock(WeakList<any PluginInstance>())
    private init() {}

    private let thread = ServiceThread(name: "rs-plugins") { PluginService.shared.run() }

    func add(_ instance: any PluginInstance) {
        instances.withLock { $0.add(ObjectIdentifier(instance)) { [weak instance] in instance } }
        thread.wake()
    }

    private func run() {
        while true {
            let all = instances.withLock { $0.living }
            for instance in all { instance.serve() }
            if all.isEmpty { thread.sleep(milliseconds: 60_000) } else { thread.nap(milliseconds: 4) }
        }
    }
}
