internal import Glibc
internal import Synchronization

/// A render closure, the stack that it works on, and the clock that it runs by.
///
///     let tone = Oscillator(frequency: 440)
///     let renderer = try Renderer { context in
///         context.run(tone)
///         context.output()
///     }
///     let output = ClockOutput(renderer)
///     try output.start()
///
/// The closure is called on the render thread, once per *slice*: a cycle is split where it is longer than the stack's
/// buffers and where something is scheduled. What it sounds like does not depend on how the cycles are cut.
///
/// When it is set, the closure is run once on the setting thread, a *dry run* that nobody hears: the renderer learns which
/// modules it has and prepares them, and refuses a closure whose stack does not add up. Conditions in the closure may
/// hide a module from it; such a module is silent for the few milliseconds until it has been prepared.
public final class Renderer: EventSource, CustomStringConvertible {
    /// Runs messages on the render thread.
    public let messages: MessageQueue

    let state: CycleState
    let token: UInt
    private let hub = EventHub<RenderEvent>()
    private let control: Lock<Control>
    private let told = Lock(FaultTeller())
    /// The thread that is putting a loop in place, else 0. A module may ask for a change of the renderer that is just
    /// preparing it (a ``SubRenderer`` of itself, by mistake): on that thread, and then there is nothing to be done.
    private let installer = Atomic<UInt>(0)
    private let hasLeavers = Atomic<Bool>(false)
    private var isInstalling: Bool { installer.load(ordering: .relaxed) == UInt(pthread_self()) }

    private struct Control {
        var image: LoopImage
        /// The modules that the dry run met, and newcomers; without those inside of others.
        var inspected: [any Module]
        var paths: SignalPaths
        var names: [String] = []
        var numbers: [String: Int32] = [:]

        mutating func number(_ name: String) -> Int32 {
            if let number = numbers[name] { return number }
            let number = Int32(names.count)
            names.append(name)
            numbers[name] = number
            return number
        }
    }

    /// A renderer with a closure.
    ///
    /// - Parameters:
    ///   - sampleRate: frames per second, 1…1,000,000. An output sets it to its own.
    ///   - channels: channels of the output, 1…64.
    ///   - auxiliaryOutputs: channels of each further output.
    ///   - layout: how large the stack is.
    ///   - loop: the closure, called once per slice.
    /// - Throws: what is wrong with the closure's stack.
    /// - Precondition: the numbers are in range.
    public init(
        sampleRate: Double = 48_000, channels: Int = 2, auxiliaryOutputs: [Int] = [],
        layout: StackLayout = StackLayout(), _ loop: @escaping RenderLoop
    ) throws(RenderLoopError) {
        let settings = LoopImage.Settings(
            layout: layout, sampleRate: sampleRate, outputs: [channels] + auxiliaryOutputs)
        settings.check()
        let (modules, paths) = try LoopImage.inspect(loop, settings)
        var names = (list: [String](), numbers: [String: Int32]())
        token = Tokens.shared.make()
        let (log, newcomers, inbox) = (FaultLog(), Newcomers(), Inbox())
        let image = LoopImage(
            loop, modules: LoopImage.withMembers(modules), settings: settings, stack: StackMemory(layout), token: token,
            log: log,
            newcomers: newcomers
        ) { name in
            if let number = names.numbers[name] { return number }
            names.list.append(name)
            names.numbers[name] = Int32(names.list.count - 1)
            return Int32(names.list.count - 1)
        }
        image.claimModules(for: token)
        state = CycleState(image, log: log, newcomers: newcomers, inbox: inbox)
        messages = MessageQueue(inbox)
        control = Lock(
            Control(image: image, inspected: modules, paths: paths, names: names.list, numbers: names.numbers))
        attachComposites(modules)
        Collector.shared.add(self)
    }

    private func attachComposites(_ modules: [any Module]) {
        for case let composite as any CompositeModule in LoopImage.withMembers(modules) { composite.attach(self) }
    }

    /// A renderer that is silent until it gets a closure.
    public convenience init(
        sampleRate: Double = 48_000, channels: Int = 2, auxiliaryOutputs: [Int] = [],
        layout: StackLayout = StackLayout()
    ) {
        do {
            try self.init(
                sampleRate: sampleRate, channels: channels, auxiliaryOutputs: auxiliaryOutputs, layout: layout
            ) { _ in }
        } catch {
            preconditionFailure("An empty render loop was refused: \(error)")
        }
    }

    deinit {
        let image = unsafe CycleState.image(state.image.load(ordering: .acquiring)).takeRetainedValue()
        Leases.shared.withdraw(image.modules, from: image.id)
        Tokens.shared.remove(token)
        hub.finish()
    }

    // MARK: The closure

    /// Puts another closure in the place of this one, from any thread. It is heard from the next cycle on.
    ///
    /// Modules that are in both go on as they are. Modules that are only in the old one may be used elsewhere as soon as
    /// the cycle that is being rendered has ended.
    ///
    /// - Throws: what is wrong with the closure's stack. The old closure stays.
    public func replaceLoop(_ loop: @escaping RenderLoop) throws(RenderLoopError) {
        while true {
            let settings = self.settings
            let (modules, paths) = try LoopImage.inspect(loop, settings)
            let retire: (() -> Void)? = control.withLock { control in
                guard control.image.settings == settings else { return nil }
                control.paths = paths
                return install(loop, modules, settings, &control, isSameBody: false)
            }
            if let retire { return retire() }
        }
    }

    /// Renders silence from the next cycle on, as without a closure.
    public func removeLoop() {
        do { try replaceLoop { _ in } } catch { preconditionFailure("An empty render loop was refused: \(error)") }
    }

    /// Swaps in a loop. With the control lock held; what it returns is to be done without, because letting go of old
    /// values runs other people's code (a ``ModuleList`` asks this renderer to look at its modules again).
    private func install(
        _ loop: @escaping RenderLoop, _ modules: [any Module], _ settings: LoopImage.Settings, _ control: inout Control,
        isSameBody: Bool = true
    ) -> () -> Void {
        installer.store(UInt(pthread_self()), ordering: .relaxed)
        defer { installer.store(0, ordering: .relaxed) }
        let old = control.image
        attachComposites(modules)
        let image = LoopImage(
            loop, modules: LoopImage.withMembers(modules), settings: settings,
            stack: old.settings.layout == settings.layout ? old.stack : StackMemory(settings.layout), token: token,
            log: state.log, newcomers: state.newcomers, bodyID: isSameBody ? old.bodyID : nil,
            nameNumber: { control.number($0) })
        image.claimModules(for: token)
        control.image = image
        control.inspected = modules
        let address = state.exchange(image)
        return {
            Reclaimer.shared.retire {
                let old = unsafe CycleState.image(address).takeRetainedValue()
                Leases.shared.withdraw(old.modules, from: old.id)
            }
        }
    }

    /// Looks at the modules inside of modules again, after they have changed.
    package func refreshModules() {
        if isInstalling { return }
        let retire: (() -> Void)? = control.withLock { control in
            let image = control.image
            let modules = LoopImage.withMembers(control.inspected)
            guard !modules.elementsEqual(image.modules, by: ===) else { return nil }
            return install(image.body, control.inspected, image.settings, &control)
        }
        retire?()
    }

    /// The same for modules that have left, which is not urgent: once for all that leave in a few milliseconds.
    package func refreshModulesSoon() {
        hasLeavers.store(true, ordering: .relaxed)
        Collector.shared.wake()
    }

    // MARK: What it renders for

    private var settings: LoopImage.Settings { control.withLock { $0.image.settings } }

    /// Frames per second.
    public var sampleRate: Double { settings.sampleRate }

    /// Channels of the output.
    public var channelCount: Int { settings.outputs[0] }

    /// Channels of every output, the first included.
    public var outputChannelCounts: [Int] { settings.outputs }

    /// How large the stack is.
    public var layout: StackLayout { settings.layout }

    /// Changes what is rendered for, from the next cycle on. The modules are prepared anew; an output does this
    /// when it starts.
    ///
    /// - Parameters:
    ///   - sampleRate: frames per second, 1…1,000,000.
    ///   - channels: channels of the first output, 1…64.
    ///   - layout: another size of the stack.
    /// - Precondition: the numbers are in range.
    public func configure(sampleRate: Double? = nil, channels: Int? = nil, layout: StackLayout? = nil) {
        if isInstalling { return }
        let changed: (settings: LoopImage.Settings, retire: () -> Void)? = control.withLock { control in
            var settings = control.image.settings
            if let sampleRate { settings.sampleRate = sampleRate }
            if let channels { settings.outputs[0] = channels }
            if let layout { settings.layout = layout }
            settings.check()
            guard settings != control.image.settings else { return nil }
            // Offline host times count from the last cycle at the old rate.
            state.offlineOrigin.store(.min, ordering: .relaxed)
            return (settings, install(control.image.body, control.inspected, settings, &control))
        }
        guard let changed else { return }
        changed.retire()
        hub.send(.configured(sampleRate: changed.settings.sampleRate, channels: changed.settings.outputs[0]))
    }

    /// The modules of the closure, in the order of their first run.
    public var modules: [any Module] { control.withLock { $0.image.modules } }

    /// How many frames later the sound is heard than it was made or came in: the most over all ways through the closure
    /// to an output, with what each module on the way adds now (``Module/latency``).
    ///
    /// The ways are those of the dry run. What a closure does to two buffers by hand (``RenderContext/withTop2(_:)``) is
    /// not seen, nor a module behind a condition that did not hold.
    public var latency: Int { latencies()?.upperBound ?? 0 }

    /// The same from one module, or to one output: the least and the most; `nil` where there is no way.
    package func latencies(from source: (any Module)? = nil, to output: Int? = nil) -> ClosedRange<Int>? {
        let (paths, modules) = control.withLock { ($0.paths, $0.image.modules) }
        return paths.latencies(from: source, to: output, among: modules)
    }

    /// What it renders, for a log.
    public var description: String {
        "Renderer(\(sampleRate) Hz, \(channelCount) channels, \(modules.map(\.name).joined(separator: ", ")))"
    }

    // MARK: Time

    /// The first frame of the next cycle.
    public var sampleTime: Int64 { state.clock.load(ordering: .relaxed) }

    /// When the last cycle was due, in nanoseconds of ``HostClock``; `nil` before the first.
    public var lastRenderTime: Int64? {
        let time = state.lastHostTime.load(ordering: .relaxed)
        return time == .min ? nil : time
    }

    /// When the next cycle is due if they keep their length.
    public var nextRenderTime: Int64? {
        lastRenderTime.map { $0 + Int64(Double(state.lastFrameCount.load(ordering: .relaxed)) * 1e9 / sampleRate) }
    }

    // MARK: What happened

    /// Faults and late events, from now on.
    public var events: AsyncStream<RenderEvent> {
        let stream = hub.subscribe()
        Collector.shared.wake()
        return stream
    }

    /// All faults there have been.
    public var faultCount: Int { state.log.total.load(ordering: .relaxed) }

    /// The longest that each module has taken in one slice, in nanoseconds, of the slices that were timed (one in 64).
    public var moduleTimes: [(name: String, nanoseconds: Int64)] {
        control.withLock { control in
            control.image.modules.enumerated().map { index, module in
                (module.name, unsafe control.image.core.pointee.details[index].longest.load(ordering: .relaxed))
            }
        }
    }
}

extension Renderer: Collectable {
    /// Passes on what the render thread has left: events, finished jobs, modules that it does not know.
    package func collect() -> Bool {
        var wasBusy = state.inbox.collect() > 0
        let isMissing = state.newcomers.takeMissing()
        if hasLeavers.exchange(false, ordering: .relaxed) || isMissing {
            wasBusy = true
            refreshModules()
        }
        let newcomers = state.newcomers.take()
        if !newcomers.isEmpty {
            wasBusy = true
            let retire: (() -> Void)? = control.withLock { control in
                let known = Set(control.image.modules.map(ObjectIdentifier.init))
                let new = newcomers.filter {
                    $0.body == control.image.bodyID && !known.contains(ObjectIdentifier($0.module))
                }.map(\.module)
                guard !new.isEmpty else { return nil }
                return install(control.image.body, control.inspected + new, control.image.settings, &control)
            }
            retire?()
        }
        let names = control.withLock { $0.names }
        let faults = state.log.take(at: sampleTime, name: { $0 >= 0 ? names[Int($0)] : nil })
        for fault in told.withLock({ $0.merge(faults, at: HostClock.now) }) {
            wasBusy = true
            hub.send(.fault(fault))
        }
        if let late = state.late.take() {
            wasBusy = true
            hub.send(.late(count: late.count, frames: late.frames, sampleTime: late.sampleTime))
        }
        return wasBusy || state.isRendering() || told.withLock { $0.isWaiting }
    }
}

extension LoopImage.Settings {
    func check() {
        precondition(
            sampleRate >= 1 && sampleRate <= 1_000_000,
            "Renderer: a sample rate of \(sampleRate); it must be 1…1,000,000")
        for count in outputs {
            precondition((1...64).contains(count), "Renderer: an output of \(count) channels; it must have 1…64")
        }
    }
}

/// A render closure: called once per slice on the render thread.
///
/// It may capture modules, parameters, values and constants. It must not allocate, lock or wait: the watchdog finds where
/// it does.
public typealias RenderLoop = @Sendable (inout RenderContext) -> Void
