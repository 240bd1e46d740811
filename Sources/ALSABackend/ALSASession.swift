internal import CRender
internal import Glibc
internal import LinuxRealtime
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// An output's work between start and stop, whatever happens to its devices meanwhile.
final class ALSASession: Sendable {
    let core: OutputCore
    var renderer: Renderer { core.renderer }
    var hub: EventHub<OutputEvent> { core.hub }
    let gate: Lock<Control>
    /// The notices of the render thread from its start.
    let notices = Lock([String]())

    /// The state that is reached only with the gate held.
    struct Control {
        var settings: ALSASettings
        /// The renderer's rate when the output was started, which devices are asked for.
        var wantedRate = 0.0
        var engine: ALSAEngine?
        /// What renders, from start to stop.
        var run: OutputRun?
        /// An earlier one, whose render loop had not ended when it was closed.
        var unended: ALSAEngine?
        var playback: PlaybackLine?
        var capture: CaptureLine?
        var thread: pthread_t?
        var watcher: pthread_t?
        var midi: SequencerMIDI?
        var midiThread: pthread_t?
        /// The number of the start: a watcher of an earlier one must not look after this one.
        var number = 0
        var isStarted = false
        var resumesAt: Int64?
        var configurations: (playback: ALSAConfiguration?, capture: ALSAConfiguration?)
        var told = Told()
        /// The least frames of a device's buffer that had to grow, by its name.
        var leastBuffers: [String: Int] = [:]
        var growth = Growth()
        // The search for devices that are gone.
        var watch: DeviceWatch?
        var changedAt: Int64?
        var devices = DeviceNews()
        var nextTry: Int64 = 0
        /// The time at which it looks next for inputs that have joined.
        var nextInputs: Int64 = 0
        var isPlaybackMissing = false
        var isCaptureMissing = false
        /// Another device plays in the place of the first.
        var isFallenBack = false
        /// The first one was there, but of no use.
        var isReturnVain = false
        /// Devices that were given back: the next look closes them, when the render thread surely uses them no more.
        var retired: [any Sendable] = []
        /// The meanings of the devices' names when they were opened.
        var definitions: [String: String] = [:]

        /// The devices that are open.
        var streams: [ALSAStream] { [playback?.stream, capture?.stream].compactMap(\.self) }
    }

    /// The news that have been reported already.
    struct Told {
        var lineBreaks = 0
        var clipped = 0
        var latency = LatencyNews(tolerance: Self.waver)
        /// The frames by which a sound server, or a card that counts in blocks, has its latency waver.
        private static let waver = 32
        var notices: Set<String> = []
    }

    init(_ renderer: Renderer, _ settings: ALSASettings) {
        core = OutputCore(renderer, called: "an ALSAOutput")
        core.latency.isCompensated = settings.compensatesLatency
        gate = Lock(Control(settings: settings), .output)
    }

    var configurations: (playback: ALSAConfiguration?, capture: ALSAConfiguration?) {
        gate.withLock { $0.configurations }
    }

    /// Samples that were clipped since the devices were opened last.
    var clippedSamples: Int { gate.withLock { $0.playback?.stream.clipped.load(ordering: .relaxed) ?? 0 } }

    // MARK: Start and stop

    func start() throws(ALSAError) {
        try gate.withLock { control throws(ALSAError) in
            guard !control.isStarted else { return }
            let messages = ALSAMessages()
            defer { messages.end() }
            if let engine = control.unended, engine.end.load(ordering: .acquiring) == 0 { throw .closureNotEnded }
            do throws(OutputError) {
                control.run = try core.begin(control.settings.priority)
            } catch {
                throw .rendererTaken(error.description)
            }
            _ = takeThoseThatJoined(&control)
            control.told = Told()
            control.resumesAt = nil
            control.wantedRate = control.settings.rate ?? renderer.sampleRate
            openMIDI(&control)
            do throws(ALSAError) {
                try open(&control, isFirst: true)
            } catch {
                tellMessages(&control)
                closeMIDI(&control)
                core.endRun()
                throw error
            }
            tellMessages(&control)
            control.isStarted = true
            control.number += 1
            control.watch = DeviceWatch(control.settings.watchedPlaces)
            control.changedAt = nil
            control.devices = DeviceNews()
            _ = control.devices.note(control.settings.deviceNames())
            let watch = Watch(session: self, number: control.number)
            do throws(ALSAError) {
                control.watcher = try Self.thread { watch.run() }
            } catch {
                close(&control)
                closeMIDI(&control)
                core.endRun()
                control.isStarted = false
                throw error
            }
        }
    }

    func stop() {
        let watcher: pthread_t? = gate.withLock { control in
            guard control.isStarted else { return nil }
            control.isStarted = false
            tellGrowth(&control, isLast: true)
            close(&control)
            closeMIDI(&control)
            core.endRun()
            control.watch = nil
            defer { control.watcher = nil }
            return control.watcher
        }
        if let watcher, pthread_equal(watcher, pthread_self()) == 0 { pthread_join(watcher, nil) }
    }

    /// Changes the devices that play and record; a running sound is interrupted for it.
    func change(_ body: (inout ALSASettings) -> Void) throws(ALSAError) {
        try gate.withLock { control throws(ALSAError) in
            body(&control.settings)
            guard control.isStarted, control.engine != nil else { return }
            try reopen(&control)
        }
    }

    var settings: ALSASettings { gate.withLock { $0.settings } }

    // MARK: Opening, with the gate held

    /// Closes the devices and opens them again. If that fails, it goes on trying.
    func reopen(_ control: inout Control) throws(ALSAError) {
        if let due = control.engine?.nextDue.load(ordering: .relaxed), due != .min { control.resumesAt = due }
        close(&control)
        do throws(ALSAError) {
            try open(&control, isFirst: false)
        } catch {
            core.show(.waiting)
            throw error
        }
    }

    /// Opens the devices and begins to render.
    func open(_ control: inout Control, isFirst: Bool) throws(ALSAError) {
        if let engine = control.unended, engine.end.load(ordering: .acquiring) == 0 { throw .closureNotEnded }
        control.unended = nil
        let settings = control.settings
        let channels = renderer.outputChannelCounts.reduce(0, +)
        let playback = try openPlayback(&control, isFirst: isFirst)
        control.isCaptureMissing = false
        var capture: ALSAStream?
        do throws(ALSAError) {
            capture = try openCapture(control, rate: playback?.configuration.sampleRate ?? control.wantedRate)
        } catch {
            // At the start the user decides; later the sound goes on without it.
            if isFirst || playback == nil { throw error }
            control.isCaptureMissing = true
            tell("The input is silent. \(error)", &control)
        }
        guard let pace = playback ?? capture, let run = control.run else { return }
        let got = pace.configuration.sampleRate
        let rate = settings.rate ?? got
        tellRates(playback, capture, rate, &control)
        if let there = playback?.configuration.channelCount, there < channels {
            tell("The device has \(there) channels: the last ones of \(channels) are not audible.", &control)
        }
        let before = renderer.sampleRate
        renderer.configureElsewhere(sampleRate: rate)
        if !isFirst, before != rate { hub.send(.sampleRateChanged(rate)) }
        let player = playback.map { PlaybackLine($0, rendererRate: rate, channels: max(1, min(64, channels))) }
        let isOneClock = ALSAEngine.isOneClock(playback, capture)
        let recorder = capture.map {
            CaptureLine(
                $0, rendererRate: rate, channels: max(1, settings.inputChannels),
                followsPeriodOf: isOneClock ? nil : player?.mostFrames)
        }
        let engine = ALSAEngine(
            renderer, run: run, settings: settings, playback: player, capture: recorder, midi: control.midi,
            resumesAt: control.resumesAt
        ) { [weak self] sentence in
            self?.notices.withLock { $0.append(sentence) }
        }
        control.thread = try Self.thread { engine.live() }
        control.engine = engine
        (control.playback, control.capture) = (player, recorder)
        control.isPlaybackMissing = false
        control.told.lineBreaks = 0
        control.told.clipped = 0
        if !isFirst { control.told.latency.beginAnew() }
        control.configurations = (playback?.configuration, capture?.configuration)
        control.definitions = [:]
        for name in [settings.device, settings.inputDevice].compactMap(\.self) {
            control.definitions[name] = DeviceWatch.definition(of: name)
        }
        core.show(.running)
    }

    /// Opens the device that plays, or by policy another one.
    func openPlayback(_ control: inout Control, isFirst: Bool) throws(ALSAError) -> ALSAStream? {
        let settings = control.settings
        guard let device = settings.device else { return nil }
        let channels = renderer.outputChannelCounts.reduce(0, +)
        do throws(ALSAError) {
            let stream = try ALSAStream(
                device, isCapture: false, rate: control.wantedRate, channels: channels,
                settings: control.settings(for: device))
            control.isFallenBack = false
            return stream
        } catch {
            guard !isFirst, case .fallBack(let other) = settings.lossPolicy else { throw error }
            let stream = try ALSAStream(
                other, isCapture: false, rate: control.wantedRate, channels: channels,
                settings: control.settings(for: other))
            control.isFallenBack = true
            hub.send(.notice("The sound goes on with the device \"\(other)\"."))
            return stream
        }
    }

    /// Opens the device that records, if one is to.
    func openCapture(_ control: Control, rate: Double) throws(ALSAError) -> ALSAStream? {
        let settings = control.settings
        guard let input = settings.inputDevice, settings.inputChannels > 0 else { return nil }
        if settings.inputs.contains(where: \.isWholeDevice),
            let abilities = try? ALSADevice.abilities(of: input, isCapture: true)
        {
            // A converter takes any number.
            CycleInputs.settle(
                settings.inputs, on: abilities.channels.upperBound > 64 ? 0 : abilities.channels.upperBound)
        }
        return try ALSAStream(
            input, isCapture: true, rate: rate, channels: settings.inputChannels, settings: control.settings(for: input)
        )
    }

    /// Says where a device runs at another rate than was asked for.
    private func tellRates(
        _ playback: ALSAStream?, _ capture: ALSAStream?, _ rate: Double, _ control: inout Control
    ) {
        for stream in [playback, capture].compactMap(\.self) {
            let got = stream.configuration.sampleRate
            let name = stream.configuration.device
            if got != rate {
                tell("The device \"\(name)\" runs at \(got) Hz: the sound is converted, at \(rate) Hz.", &control)
            } else if got != control.wantedRate {
                tell("The device runs at \(got) Hz and not at \(control.wantedRate) Hz.", &control)
            }
        }
    }

    func close(_ control: inout Control) {
        control.engine?.shouldRun.store(false, ordering: .releasing)
        if let engine = control.engine, let thread = control.thread {
            if waits(for: engine) {
                pthread_join(thread, nil)
                // Its devices are closed now, and not when the last reference to it goes: a program that sees the
                // output stopped may open them at once.
                engine.playback = nil
                engine.capture = nil
            } else {
                pthread_detach(thread)
                control.unended = engine
            }
        }
        if control.engine != nil { tellNews(&control) }
        control.thread = nil
        control.engine = nil
        control.playback = nil
        control.capture = nil
        control.retired = []
        control.isPlaybackMissing = false
        control.isCaptureMissing = false
    }

    /// Waits for the end of a render thread, but no longer than two seconds for a render loop that does not end: the
    /// thread is then left alone, and frees the devices when it ends.
    private func waits(for engine: ALSAEngine) -> Bool {
        let end = HostClock.now + 2_000_000_000
        while engine.end.load(ordering: .acquiring) == 0 {
            let now = HostClock.now
            // This also holds if a device is the reason, which has bounds of its own.
            if now > end, engine.run.cycleAge(now) ?? 0 > OutputRun.patience { return false }
            usleep(500)
        }
        return true
    }

    /// Passes on the messages of libasound while devices were opened.
    private func tellMessages(_ control: inout Control) {
        for message in ALSAMessages.all { tell("ALSA says: \(message)", &control) }
        crender_forget_messages()
    }

    // MARK: MIDI

    /// Opens the MIDI ports. Without a sequencer the sound goes on alone, and a notice says so.
    private func openMIDI(_ control: inout Control) {
        let settings = control.settings
        guard !settings.midiInputs.isEmpty || !settings.midiOutputs.isEmpty else { return }
        do throws(SequencerFailure) {
            let midi = SequencerMIDI(
                try settings.makeSequencer(settings), inputs: settings.midiInputs.count,
                outputs: settings.midiOutputs.count, connect: settings.midiConnect, priority: settings.priority)
            control.midiThread = try? Self.thread { midi.run() }
            control.midi = midi
        } catch {
            tell(error.sentence, &control)
        }
    }

    func closeMIDI(_ control: inout Control) {
        control.midi?.stop()
        if let thread = control.midiThread { pthread_join(thread, nil) }
        control.midi = nil
        control.midiThread = nil
    }

    // MARK: Threads

    private static func thread(_ body: @escaping @Sendable () -> Void) throws(ALSAError) -> pthread_t {
        var thread = pthread_t()
        let error = startThread(&thread, body)
        if error != 0 { throw .noThread(error: error) }
        return thread
    }

    /// Looks after a session a hundred times a second, while that is there.
    private final class Watch: Sendable {
        private weak let session: ALSASession?
        private let number: Int

        init(session: ALSASession, number: Int) {
            self.session = session
            self.number = number
        }

        func run() {
            unsafe crender_name_thread("rs-alsa-watch")
            while session?.look(number) == true { usleep(10_000) }
        }
    }
}
