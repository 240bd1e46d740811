internal import Glibc
internal import LinuxRealtime
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// An output's work between start and stop, over all daemons that come and go meanwhile.
///
/// A thread looks after it 20 times a second, and another one renders by the clock while PipeWire does not call.
final class PipeWireSession: Sendable {
    let core: OutputCore
    /// The settings that it was made with.
    let settings: PipeWireSettings
    private let gate: Lock<State>

    /// The state of the session, which is touched with the gate held only.
    struct State {
        /// The cycles from start to stop.
        var cycle: PipeWireCycle?
        var nodes: PipeWireNodes?
        var nextTry: Int64 = 0
        var seen = Seen()
        /// The wishes of the program or the user for the next connection, and whether they are to be set there still: the session manager
        /// gives new nodes what it remembers by their name.
        var volume: Double?
        var isMuted: Bool?
        var hasWish = false
        var title: String?
        /// The inputs: those of the settings, and those that have joined. Of the last try to capture more that failed, all.
        var inputs: [AudioInput]
        var refused: [AudioInput] = []
    }

    init(_ renderer: Renderer, _ settings: PipeWireSettings) {
        core = OutputCore(renderer, called: "a PipeWireOutput")
        core.latency.isCompensated = settings.compensatesLatency
        self.settings = settings
        gate = Lock(State(inputs: settings.inputs), .output)
    }

    // MARK: Start and stop

    func start() throws(PipeWireError) {
        try gate.withLock { state throws(PipeWireError) in
            guard state.cycle == nil else { return }
            guard leaving.load(ordering: .acquiring) == 0 else { throw .renderLoopNotEnded }
            takeThoseThatJoined(&state)
            let settings = settings(state)
            try settings.check(channels: PipeWireSettings.playedChannels(core.renderer.outputChannelCounts))
            let run: OutputRun
            do throws(OutputError) {
                guard let begun = try core.begin() else { return }
                run = begun
            } catch {
                throw .rendererTaken(error.description)
            }
            let cycle = PipeWireCycle(run, settings, channels: core.renderer.outputChannelCounts)
            (state.cycle, state.seen) = (cycle, Seen())
            do throws(PipeWireError) {
                try open(&state, cycle, isStart: true)
            } catch {
                endRun(&state)
                throw error
            }
            RealtimeThread.lockMemory { core.hub.send(.notice($0)) }
            core.show(.running)
            watch(cycle)
        }
    }

    func stop() {
        gate.withLock { state in
            guard state.cycle != nil else { return }
            close(&state)
            core.tellNews(isLast: true)
            endRun(&state)
        }
    }

    private func endRun(_ state: inout State) {
        core.endRun()
        state.cycle = nil
    }

    /// The connections that are being closed: a render loop that does not end keeps one waiting.
    private let leaving = Atomic<Int>(0)

    private func open(_ state: inout State, _ cycle: PipeWireCycle, isStart: Bool) throws(PipeWireError) {
        let connection = try PipeWireConnection(settings.remote, settings.connectionProperties)
        do throws(PipeWireError) {
            if isStart { try checkTargets(connection.graph) }
            let graphRate = connection.graph.rate.flatMap { PipeWireSettings.rates.contains($0) ? $0 : nil }
            let rate = settings.sampleRate.map { Int($0) } ?? graphRate ?? Int(core.renderer.sampleRate)
            try makeNodes(&state, connection, cycle, rate: rate)
        } catch {
            connection.close()
            throw error
        }
    }

    private func makeNodes(
        _ state: inout State, _ connection: PipeWireConnection, _ cycle: PipeWireCycle, rate: Int
    ) throws(PipeWireError) {
        core.renderer.configureElsewhere(sampleRate: Double(rate))
        settleInputs(state, cycle, connection.graph)
        let nodes = try PipeWireNodes(
            connection, cycle, settings(state), channels: core.renderer.outputChannelCounts, rate: rate)
        state.nodes = nodes
        if let title = state.title { nodes.setTitle(title) }
        state.hasWish = state.volume != nil || state.isMuted != nil
        if state.hasWish { nodes.set(volume: state.volume, isMuted: state.isMuted) }
        state.seen.heardSince = nil
        state.seen.told = (0, 0)
        state.seen.manager = connection.graph.manager
        state.seen.unheardSince = nil
    }

    private func checkTargets(_ graph: PipeWireGraph) throws(PipeWireError) {
        for (target, isSink) in [(settings.target, true), (settings.source, false)] {
            let name: String
            // A monitor is that of a device that plays.
            var mustPlay = isSink
            switch target {
            case .device(let device): name = device
            case .monitor(let device?): (name, mustPlay) = (device, true)
            case .standard, .none, .monitor(nil): continue
            }
            let fit = graph.devices(isSink: mustPlay)
            guard !fit.contains(where: { [$0.name, $0.serial].contains(name) }) else { continue }
            throw .noTarget(name, known: fit.map(\.name))
        }
    }

    /// Ends the connection. A render loop that does not end keeps it waiting: after two seconds a thread of its own does the rest.
    ///
    /// - Parameter keepsConnection: `true` to end the nodes alone.
    /// - Returns: The connection, if it is open still.
    @discardableResult private func close(_ state: inout State, keepsConnection: Bool = false) -> PipeWireConnection? {
        guard let nodes = state.nodes else { return nil }
        state.nodes = nil
        let connection = nodes.connection
        leaving.wrappingAdd(1, ordering: .acquiringAndReleasing)
        let isKept = withPatience(
            2,
            tooLate: { [self] isKept in
                if isKept { connection.close() }
                leaving.wrappingSubtract(1, ordering: .acquiringAndReleasing)
            }
        ) {
            nodes.close()
            if !keepsConnection { connection.close() }
            return keepsConnection
        }
        if isKept != nil { leaving.wrappingSubtract(1, ordering: .acquiringAndReleasing) }
        state.cycle?.forgetConnection()
        return isKept == true ? connection : nil
    }

    // MARK: Threads

    private func watch(_ cycle: PipeWireCycle) {
        var (watcher, clock) = (pthread_t(), pthread_t())
        let error = startThread(&watcher) { [weak self] in
            nameThread("rs-pipewire")
            while true {
                usleep(50_000)
                guard self?.look(at: cycle) == true else { return }
            }
        }
        guard error == 0 else {
            StandardError.say("the system has no thread that looks after PipeWire (error \(error))")
            return
        }
        pthread_detach(watcher)
        if startThread(&clock, { PipeWireSession.keepTime(cycle) }) == 0 { pthread_detach(clock) }
    }

    /// Renders by the clock while PipeWire does not call: a program, its players and its timers go on.
    private static func keepTime(_ cycle: PipeWireCycle) {
        nameThread("rs-clock")
        let run = cycle.run
        // The time at which the next cycle by the clock is due; `nil` while PipeWire calls.
        var next: Int64?
        var called = HostClock.now
        while run.goesOn {
            let now = HostClock.now
            let latest = cycle.called.load(ordering: .acquiring)
            if latest > called { (called, next) = (latest, nil) }
            // Four cycles of its own, as long as a busy machine may keep it waiting, and no longer than a user does.
            let rate = max(1, cycle.graphRate.load(ordering: .relaxed))
            let cycles = 4 * Int64(cycle.duration.load(ordering: .relaxed)) * 1_000_000_000 / Int64(rate)
            let patience = min(max(200_000_000, cycles), 3_000_000_000)
            let due = next ?? called + patience
            guard due <= now else {
                guard run.sleep(until: due) else { return }
                continue
            }
            guard cycle.playByClock(at: due) else {
                // PipeWire is in a cycle that does not end.
                guard run.sleep(until: now + 20_000_000) else { return }
                continue
            }
            // After a sleep of the whole machine time begins anew.
            let start = now - due > 1_000_000_000 ? now : due
            next = start + Int64(Double(PipeWireCycle.clockLength) * 1e9 / max(1, run.sampleRate))
        }
    }

    /// `false`: the cycles are those of an earlier start, or have ended.
    private func look(at cycle: PipeWireCycle) -> Bool {
        gate.withLock { state in
            guard state.cycle === cycle else { return false }
            keepHouse(&state, cycle, HostClock.now)
            return state.cycle != nil
        }
    }

    // MARK: Housekeeping

    private func keepHouse(_ state: inout State, _ cycle: PipeWireCycle, _ now: Int64) {
        let patience = cycle.isFreewheeling.load(ordering: .relaxed) ? 10 * OutputRun.patience : OutputRun.patience
        core.tellNews(patience: patience, isLate: (cycle.run.cycleAge(now) ?? 0) > 100_000_000)
        guard let nodes = state.nodes else { return rejoin(&state, cycle, now) }
        if nodes.connection.graph.isLost { return lose(&state, cycle) }
        if let words = nodes.connection.graph.takeFailure() ?? nodes.notes.takeError() {
            core.hub.send(.notice("PipeWire says: \(words)"))
        }
        if takeInputs(&state, nodes, cycle) || followSource(&state, nodes, cycle)
            || replace(&state, nodes, cycle, now) || follow(&state, nodes, cycle)
            || greetManager(&state, nodes, cycle, now)
        {
            return
        }
        tellLength(&state, cycle)
        tellPriority(&state, cycle)
        tellDevice(&state, nodes, now)
        tellSilence(&state, cycle, now)
        tellInput(&state, nodes, cycle, now)
        endNotes(&state, nodes, cycle)
        tellVolume(&state, nodes, now)
        tellLatency(&state, nodes, cycle, now)
    }

    private func lose(_ state: inout State, _ cycle: PipeWireCycle) {
        close(&state)
        core.tellNews(isLast: true)
        guard settings.rejoins else {
            core.show(.stopped)
            core.hub.send(.lost("The PipeWire daemon has ended. Start the output again when it is back."))
            return endRun(&state)
        }
        core.show(.waiting)
        core.hub.send(
            .lost(
                "The PipeWire daemon has ended. The program plays on by the clock, unheard, and joins it again when it is back."
            ))
        cycle.run.endNotes()
        state.nextTry = 0
    }

    private func rejoin(_ state: inout State, _ cycle: PipeWireCycle, _ now: Int64) {
        guard now >= state.nextTry, leaving.load(ordering: .acquiring) == 0 else { return }
        state.nextTry = now + 250_000_000
        guard (try? open(&state, cycle, isStart: false)) != nil else { return }
        state.seen.latency.beginAnew()
        core.show(.running)
        core.hub.send(.regained)
    }

    /// Follows the rate of the graph. `true`: the nodes are new.
    private func follow(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle) -> Bool {
        let rate = cycle.graphRate.load(ordering: .relaxed)
        guard rate > 0, rate != nodes.rate, cycle.called.load(ordering: .relaxed) != 0 else { return false }
        let isUsual = PipeWireSettings.rates.contains(rate)
        if settings.sampleRate != nil || !isUsual {
            if !state.seen.isConverterTold {
                state.seen.isConverterTold = true
                core.hub.send(
                    .notice(
                        isUsual
                            ? "PipeWire runs at \(rate) Hz and the program at \(nodes.rate) Hz, as it was told to: PipeWire converts."
                            : "PipeWire runs at \(rate) Hz, which is no rate for sound: the program stays at \(nodes.rate) Hz. Perhaps it was "
                                + "told to: `pw-metadata -n settings 0 clock.force-rate 0` lets it choose."
                    ))
            }
            return false
        }
        if remake(&state, cycle, rate: rate) { core.hub.send(.sampleRateChanged(Double(rate))) }
        return true
    }

    /// Makes the nodes anew when another program has taken one away, once a second at most.
    private func replace(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle, _ now: Int64) -> Bool {
        guard nodes.notes.now.isRemoved, now - state.seen.replaced > 1_000_000_000 else { return false }
        state.seen.replaced = now
        core.hub.send(.notice("Another program has taken a node of this one out of the graph: it is made anew."))
        _ = remake(&state, cycle, rate: nodes.rate)
        return true
    }

    /// A manager that comes after another one leaves nodes alone that it has not seen coming (wireplumber 0.4, whatever the program):
    /// it gets new ones. `true`: the nodes are new.
    private func greetManager(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle, _ now: Int64)
        -> Bool
    {
        guard let manager = nodes.connection.graph.manager, manager != state.seen.manager else { return false }
        if manager != state.seen.newManager { (state.seen.newManager, state.seen.newManagerSince) = (manager, now) }
        guard let since = state.seen.unheardSince, settings.target != .none else {
            if !nodes.devices.isEmpty { state.seen.manager = manager }
            return false
        }
        // It may be about to.
        guard now - max(since, state.seen.newManagerSince) > 700_000_000 else { return false }
        _ = remake(&state, cycle, rate: nodes.rate)
        return true
    }

    /// Makes the nodes anew in the same connection. `false`: that has failed, and another connection will be made.
    func remake(_ state: inout State, _ cycle: PipeWireCycle, rate: Int) -> Bool {
        guard let connection = close(&state, keepsConnection: true) else { return false }
        do throws(PipeWireError) {
            try makeNodes(&state, connection, cycle, rate: rate)
            return true
        } catch {
            connection.close()
            core.hub.send(.notice("\(error)"))
            return false
        }
    }

    // MARK: Questions and wishes of the program

    func withNodes<Result>(_ body: (PipeWireNodes, PipeWireCycle) -> Result) throws(PipeWireError) -> Result {
        let result: Result? = gate.withLock { state in
            guard let nodes = state.nodes, let cycle = state.cycle else { return nil }
            return body(nodes, cycle)
        }
        guard let result else { throw .notRunning }
        return result
    }

    /// The cycles from start to stop; `nil` while it is stopped.
    var cycle: PipeWireCycle? { gate.withLock { $0.cycle } }

    /// The volume as the desktop has it.
    var volume: Double {
        get {
            gate.withLock { state in
                state.hasWish ? state.volume ?? 1 : state.nodes?.notes.now.volume ?? state.volume ?? 1
            }
        }
        set { set(volume: newValue) }
    }

    var isMuted: Bool {
        get {
            gate.withLock { state in
                state.hasWish ? state.isMuted ?? false : state.nodes?.notes.now.isMuted ?? state.isMuted ?? false
            }
        }
        set { set(isMuted: newValue) }
    }

    private func set(volume: Double? = nil, isMuted: Bool? = nil) {
        gate.withLock { state in
            state.volume = volume ?? state.volume
            state.isMuted = isMuted ?? state.isMuted
            state.nodes?.set(volume: volume, isMuted: isMuted)
        }
    }

    var title: String {
        get { gate.withLock { $0.title ?? settings.title } }
        set {
            gate.withLock { state in
                let title = String(newValue.prefix { $0 != "\0" })
                state.title = title
                state.nodes?.setTitle(title)
            }
        }
    }
}
