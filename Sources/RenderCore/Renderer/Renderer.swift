internal import SignalBlocks
internal import Synchronization

/// A render loop, the stack that it works on, and the clock that it runs by.
///
///     let tone = Oscillator(frequency: 440)
///     let renderer = try Renderer { context in
///         context.run(tone)
///         context.output()
///     }
///     let output = ClockOutput(renderer)
///     try output.start()
///
/// The render loop is called on the render thread, once per *slice*: a cycle is split if it is longer than the stack's
/// buffers and at frames for which something is scheduled. The sound does not depend on how the cycles are cut.
///
/// When it is set, the render loop is run once on the setting thread, a *dry run* that is not heard: the renderer
/// learns which modules it has and prepares them, and refuses a render loop whose stack does not add up. Conditions in
/// the render loop may hide a module from it; such a module is silent for the few milliseconds until it has been
/// prepared.
///
/// Threads: control.
public final class Renderer: EventSource, CustomStringConvertible {
    /// Runs messages on the render thread.
    public let messages: MessageQueue

    package let state: CycleState
    let token: UInt
    package let reporter: RendererReporter
    let control: Lock<Control>

    /// The settings and the loop that control code has asked for, and how many of the changes are in place. See
    /// `Renderer+Installing.swift`.
    struct Control {
        /// The loop that is in place.
        var image: LoopImage
        var loop: Loop
        /// The loops that wait for their transaction.
        var staged: [StagedLoop] = []
        let choice = LoopChoice()
        /// The number of the render loop; `nil` for one that has never been in place.
        var loopID: Int?
        var settings: LoopImage.Settings
        /// The number of changes that have been asked for, and how many of them are in place.
        var asked = 0
        var inPlace = 0
        var isInstalling = false
    }

    /// Creates a renderer with a render loop.
    ///
    /// - Parameters:
    ///   - sampleRate: Frames per second, 1…1,000,000; a rate outside becomes the nearest one, with a notice. An output
    ///     sets it to its own.
    ///   - channels: Channels of the output, 1…64.
    ///   - auxiliaryOutputs: Channels of each further output.
    ///   - layout: The size of the stack.
    ///   - loop: The render loop, called once per slice.
    /// - Throws: An error that says what is wrong with the render loop's stack.
    /// - Precondition: The outputs have 1…64 channels.
    public init(
        sampleRate: Double = 48_000, channels: Int = 2, auxiliaryOutputs: [Int] = [],
        layout: StackLayout = StackLayout(), _ loop: @escaping RenderLoop
    ) throws(RenderLoopError) {
        for count in [channels] + auxiliaryOutputs {
            demand((1...64).contains(count), "Renderer: an output of \(count) channels; it must have 1…64")
        }
        var notices: [String] = []
        let settings = LoopImage.Settings(
            layout: layout, sampleRate: nearestSampleRate(to: sampleRate, for: "Renderer") { notices.append($0) },
            outputs: [channels] + auxiliaryOutputs)
        let findings = try LoopImage.inspect(loop, settings)
        guard let token = Tokens.shared.make() else {
            fatalError("Renderer: more than a million renderers and modules exist at once")
        }
        self.token = token
        let (log, newcomers, inbox, names) = (FaultLog(), Newcomers(), Inbox(), ModuleNames())
        let image = LoopImage(
            loop, modules: LoopImage.withMembers(findings.modules), settings: settings, stack: StackMemory(layout),
            token: token, log: log, newcomers: newcomers, names: names)
        let entrance = Entrance(inbox)
        image.claimModules(for: token, entrance)
        state = CycleState(image, log: log, newcomers: newcomers, inbox: inbox)
        if let job = entrance.makeJob() { state.entrances.push(job, for: image.id) }
        messages = MessageQueue(inbox)
        control = Lock(
            Control(
                image: image, loop: Loop(renderLoop: loop, modules: findings.modules, paths: findings.paths),
                loopID: image.loopID, settings: settings), .renderer)
        reporter = RendererReporter(state, names)
        attachComposites(image.modules)
        Renderer.align(image.modules, along: [findings.paths], at: settings.sampleRate)
        reporter.aligns.store(Renderer.isAligning(image.modules), ordering: .relaxed)
        reporter.begin(for: self)
        for notice in notices + findings.notices { reporter.tell(.notice(notice)) }
    }

    /// Creates a renderer that is silent until it gets a render loop.
    public convenience init(
        sampleRate: Double = 48_000, channels: Int = 2, auxiliaryOutputs: [Int] = [],
        layout: StackLayout = StackLayout()
    ) {
        do {
            try self.init(
                sampleRate: sampleRate, channels: channels, auxiliaryOutputs: auxiliaryOutputs, layout: layout
            ) { _ in }
        } catch {
            fatalError("An empty render loop was refused: \(error)")
        }
    }

    deinit {
        reporter.tellNow(isEnd: true)
        let image = unsafe CycleState.image(state.image.load(ordering: .acquiring)).takeRetainedValue()
        state.close()
        Leases.shared.withdraw(image.modules, from: image.id)
        Tokens.shared.remove(token)
        reporter.hub.finish()
    }

    // MARK: The render loop

    /// Replaces the render loop. The new one is heard from the next cycle on.
    ///
    /// Modules that are in both go on as they are. Modules that are only in the old one may be used elsewhere as soon
    /// as the cycle that is being rendered has ended.
    ///
    /// In a transaction the new loop is heard from the frame on at which the other changes appear. Until then the
    /// renderer has the modules of both.
    ///
    /// - Throws: An error that says what is wrong with the render loop's stack. The old loop stays.
    public func replaceLoop(_ loop: @escaping RenderLoop) throws(RenderLoopError) {
        while true {
            let settings = self.settings
            let findings = try LoopImage.inspect(loop, settings)
            let new = Loop(renderLoop: loop, modules: findings.modules, paths: findings.paths)
            let transaction = Transaction.current.flatMap { $0.takesLoops ? $0 : nil }
            var staged: StagedLoop?
            let isCurrent = change { control in
                guard control.settings == settings else { return false }
                if transaction == nil {
                    control.loop = new
                    // Loops whose turn has come are older than this one.
                    control.staged.removeAll(where: \.isChosen)
                } else {
                    let made = StagedLoop(new, control.choice)
                    control.staged.append(made)
                    staged = made
                }
                control.loopID = nil
                return true
            }
            guard isCurrent else { continue }
            if let transaction, let staged { stage(staged, in: transaction) }
            for notice in findings.notices { reporter.tell(.notice(notice)) }
            return
        }
    }

    /// Renders silence from the next cycle on, as without a render loop.
    public func removeLoop() {
        do { try replaceLoop { _ in } } catch { fatalError("An empty render loop was refused: \(error)") }
    }

    // MARK: Settings

    private var settings: LoopImage.Settings { control.withLock { $0.settings } }

    /// Frames per second.
    public var sampleRate: Double { settings.sampleRate }

    /// Channels of the output.
    public var channelCount: Int { settings.outputs[0] }

    /// Channels of every output, the first included.
    public var outputChannelCounts: [Int] { settings.outputs }

    /// The size of the stack.
    public var layout: StackLayout { settings.layout }

    /// Changes the sample rate, the channels or the layout, from the next cycle on. The modules are prepared anew; an
    /// output does this when it starts. A number outside its range becomes the nearest one, with a notice.
    ///
    /// - Parameters:
    ///   - sampleRate: Frames per second, 1…1,000,000.
    ///   - channels: Channels of the first output, 1…64.
    ///   - layout: Another size of the stack.
    public func configure(sampleRate: Double? = nil, channels: Int? = nil, layout: StackLayout? = nil) {
        let sampleRate = sampleRate.map { nearestSampleRate(to: $0, for: "Renderer", tell: tell) }
        let channels = channels.map {
            nearest(to: $0, in: 1...64, "Renderer: an output of \($0) channels; it must have 1…64", tell: tell)
        }
        var configured = settings
        let isNew = change { control in
            var settings = control.settings
            if let sampleRate { settings.sampleRate = sampleRate }
            if let channels { settings.outputs[0] = channels }
            if let layout { settings.layout = layout }
            guard settings != control.settings else { return false }
            control.settings = settings
            configured = settings
            return true
        }
        if isNew {
            reporter.tell(.configured(sampleRate: configured.sampleRate, channels: configured.outputs[0]))
        }
    }

    /// The modules of the render loop, in the order of their first run.
    public var modules: [any Module] { control.withLock { $0.image.modules } }

    /// The number of frames by which the sound is heard later than it was made or came in: the most over all ways
    /// through the render loop to an output. Each module on the way adds its own at this sample rate
    /// (``Module/latency(at:)``).
    ///
    /// The dry run finds the ways. It does not see what a render loop does to two buffers by hand
    /// (``RenderContext/withTop2(_:)``), nor a module behind a condition that did not hold.
    public var latency: Int { latencies()?.upperBound ?? 0 }

    /// Returns the latency at any sample rate, for modules that run a renderer of their own.
    package func latency(at sampleRate: Double) -> Int { latencies(at: sampleRate)?.upperBound ?? 0 }

    /// Returns the least and the most latency from one module, to one output, or at another sample rate; `nil` if no
    /// way leads there.
    package func latencies(
        from source: (any Module)? = nil, to output: Int? = nil, at sampleRate: Double? = nil
    ) -> ClosedRange<Int>? {
        let (paths, modules, rate) = control.withLock { ($0.loop.paths, $0.image.modules, $0.settings.sampleRate) }
        let question = LatencyQuestion(
            subject: ObjectIdentifier(self), source: source.map { ObjectIdentifier($0) }, output: output,
            sampleRate: (sampleRate ?? rate).asSampleRate)
        return LatencyAnswers.answer(question) {
            paths.latencies(from: source, to: output, among: modules, at: question.sampleRate)
        }
    }

    /// A description of the renderer for a log: sample rate, channels and modules.
    public var description: String {
        "Renderer(\(sampleRate) Hz, \(channelCount) channels, \(modules.map(\.name).joined(separator: ", ")))"
    }

    // MARK: Time

    /// The first frame of the next cycle.
    public var sampleTime: Int64 { state.clock.load(ordering: .relaxed) }

    /// The time at which the last cycle was due, in nanoseconds of ``/Exchange/HostClock``; `nil` before the first.
    public var lastRenderTime: Int64? {
        let time = state.lastHostTime.load(ordering: .relaxed)
        return time == .min ? nil : time
    }

    /// The time at which the next cycle is due if cycles keep their length.
    public var nextRenderTime: Int64? {
        lastRenderTime.map {
            $0.addingSaturated(Int64(Double(state.lastFrameCount.load(ordering: .relaxed)) * 1e9 / sampleRate))
        }
    }

    // MARK: Events

    /// Sends a notice.
    package func tell(_ notice: String) { reporter.tell(.notice(notice)) }

    /// Sends the faults so far, for an output that has stopped.
    ///
    /// - Parameter isEnd: `true` to send also those that would wait for their like.
    package func tellFaults(isEnd: Bool = false) { reporter.tellNow(isEnd: isEnd) }

    /// Faults and late events, from now on.
    public var events: AsyncStream<RenderEvent> {
        let stream = reporter.hub.subscribe()
        Collector.shared.wake()
        return stream
    }

    /// The number of faults so far.
    public var faultCount: Int { state.log.total.load(ordering: .relaxed) }

    /// The longest time that each module has taken in one slice, in nanoseconds, of the slices that measured it: about one
    /// in 65,536 frames.
    public var moduleTimes: [(name: String, nanoseconds: Int64)] {
        // Names are a user's code: not under the lock.
        let image = control.withLock { $0.image }
        return image.modules.enumerated().map { index, module in
            (module.name, unsafe image.core.pointee.details[index].longest.load(ordering: .relaxed))
        }
    }
}
