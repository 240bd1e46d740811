internal import CJACK
internal import Glibc
internal import LinuxRealtime
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// An output's work between start and stop, over all servers that come and go meanwhile.
final class JACKSession: @unchecked Sendable {
    // Unchecked because all that changes is touched with the gate of `JACKLibrary` held only.
    let core: OutputCore
    private(set) var settings: JACKSettings
    var renderer: Renderer { core.renderer }
    var hub: EventHub<OutputEvent> { core.hub }

    private(set) var client: JACKClient?
    /// What renders from start to stop, and the memory of its cycles.
    private var run: (run: OutputRun, memory: JACKMemory)?
    private(set) var isWaiting = false
    /// The name to come back under.
    private(set) var name: String
    /// Links to be made as soon as their other ends are there.
    private var wanted: [JACKClient.Link] = []
    private var links: Set<JACKClient.Link> = []
    /// The number of looks at the links, for tests.
    let linkLooks = Atomic<Int>(0)
    /// The links that the settings ask for.
    private var planned: [JACKClient.Link] = []
    /// The other ends of ``links``, by their names.
    private var others: [String: JACKClient.OtherPort] = [:]
    /// Links whose other end went away lately: perhaps the server was going down already.
    private var lost: [(link: JACKClient.Link, time: Int64)] = []
    /// Links made lately: the server shows them a cycle later.
    private var fresh: [(link: JACKClient.Link, time: Int64)] = []
    private var seen = Seen()
    /// The inputs of the last try to give ports to more of them that failed.
    private var refused: [AudioInput] = []

    /// The news that have been reported already.
    private struct Seen {
        var cycles = 0
        var progress: Int64 = 0
        /// The cycles, and the time, when the library said without a reason that the server has ended.
        var doubt: (cycles: Int, since: Int64)?
        var bufferSize = 0
        var sampleRate = 0
        var priority = OutputRun.unknown
        var freewheelChanges = 0
        var nextLinks: Int64 = 0
        var latency = LatencyNews()
        var devices = DeviceNews()
        /// The time since which the output has been connected to nothing; `nil` while it is connected.
        var unheardSince: Int64?
        var isUnheardTold = false
        var wasHeard = false
        var messages: Set<String> = []
    }

    /// The time without a cycle after which the server counts as gone: PipeWire does not always say that it goes.
    static let silence: Int64 = 3_000_000_000
    /// The time before its end in which a server may begin to take ports away.
    static let farewell: Int64 = 2_000_000_000

    init(_ renderer: Renderer, _ settings: JACKSettings) {
        core = OutputCore(renderer, called: "a JACKOutput")
        core.latency.isCompensated = settings.compensatesLatency
        self.settings = settings
        name = settings.name
    }

    // MARK: Start, stop, loss, return

    func open() throws(JACKError) {
        guard let (run, memory) = run else { throw .notRunning }
        let before = isWaiting ? seen : nil
        refused = []
        let client = try JACKClient.open(
            name, renderer: renderer, run: run, memory: memory, settings: settings,
            startsServer: settings.startsServer && !isWaiting)
        if client.name != name { hub.send(.renamed(client.name)) }
        seen = Seen()
        seen.progress = HostClock.now
        seen.bufferSize = client.cycle.bufferSize.load(ordering: .relaxed)
        seen.sampleRate = client.cycle.sampleRate.load(ordering: .relaxed)
        if let before { (seen.latency, seen.devices) = (before.latency, before.devices) }
        // JACK locks the memory that programs share, and no more.
        if before == nil { RealtimeThread.lockMemory { hub.send(.notice($0)) } }
        _ = client.cycle.latencies.set(ways)
        try client.activate()
        if !isWaiting {
            planned = client.links(settings.connect, mainChannels: renderer.channelCount)
            wanted = planned
        }
        makeLinks(client)
        // Ports that a new output does not find at its start are not waited for; those of before the loss are.
        if !isWaiting, settings.connect == .physical { wanted = [] }
        name = client.name
        self.client = client
        if let before {
            hub.send(.regained)
            if seen.sampleRate != before.sampleRate { hub.send(.sampleRateChanged(Double(seen.sampleRate))) }
            if seen.bufferSize != before.bufferSize { hub.send(.bufferSizeChanged(frames: seen.bufferSize)) }
        }
        JACKMessages.shared.forget()
        isWaiting = false
        core.show(.running)
    }

    /// Begins a run, which has the renderer for this output alone.
    func begin() throws(JACKError) {
        // Those that have joined since the output was made.
        if settings.followsInputs {
            settings.inputs = CycleInputs.grown(settings.inputs, for: renderer) ?? settings.inputs
        }
        do throws(OutputError) {
            run = try core.begin().map { ($0, JACKMemory($0, settings)) }
        } catch {
            throw .rendererTaken(error.description)
        }
    }

    /// Ends it; a render loop that goes on gives the renderer back when it has ended.
    func end() {
        core.endRun()
        run = nil
    }

    func close() {
        client?.close()
        // A render loop that has kept us waiting; of one that goes on after all nothing is to be said.
        core.tellNews(isLast: true)
        end()
        client = nil
        isWaiting = false
        wanted = []
        planned = []
        links = []
        others = [:]
        lost = []
        fresh = []
        name = settings.name
    }

    /// Handles the loss of the server: closes the client, remembers its connections, and reports it.
    func lose(_ why: String) {
        guard let client else { return }
        let now = HostClock.now
        let recent = (lost + fresh).filter { now - $0.time < JACKSession.farewell }.map(\.link)
        wanted += links.union(recent).filter { !wanted.contains($0) }
        links = []
        lost = []
        fresh = []
        seen.latency.beginAnew()
        core.tellNews(isLast: true)
        self.client = nil
        isWaiting = settings.rejoins
        core.show(isWaiting ? .waiting : .stopped)
        hub.send(
            .lost(
                why
                    + (isWaiting
                        ? " It is joined again when it is back."
                        : " Start the output again when it is back.")))
        client.close()
        // What is held down ends when the server is back.
        if isWaiting { run?.run.endNotes() } else { end() }
    }

    // MARK: Housekeeping

    /// Returns the reason why the server counts as gone; `nil` if it does not.
    func reasonOfLoss(_ now: Int64) -> (sentence: String, isClientOnly: Bool)? {
        guard let client else { return nil }
        let cycle = client.cycle
        let shutdown = cycle.shutdown.load(ordering: .relaxed)
        if shutdown != 0 {
            let status = shutdown - 1
            return status & UInt32(JackClientZombie.rawValue) != 0
                ? ("The JACK server has removed the program.", true) : ("The JACK server has ended.", false)
        }
        if client.isStuck { return ("The JACK server does not answer.", false) }
        let cycles = cycle.cycles.load(ordering: .relaxed)
        if cycles != seen.cycles || cycle.run.cycleAge(now) != nil {
            seen.cycles = cycles
            seen.progress = now
        }
        let period = Int64(seen.bufferSize) * 1_000_000_000 / Int64(max(1, seen.sampleRate))
        if cycle.isInDoubt.load(ordering: .relaxed) {
            let doubt = seen.doubt ?? (cycles, now)
            seen.doubt = doubt
            if cycles > doubt.cycles + 1 {
                cycle.isInDoubt.store(false, ordering: .relaxed)
            } else if now - doubt.since > 100_000_000 + 3 * period {
                return ("The JACK server has ended.", false)
            }
        } else {
            seen.doubt = nil
        }
        guard now - seen.progress > max(JACKSession.silence, 20 * period) else { return nil }
        return ("The JACK server has not called for \(JACKSession.silence / 1_000_000_000) seconds.", false)
    }

    /// Reports news, and sees to the links.
    func keepHouse(_ now: Int64) {
        guard let client else { return }
        let cycle = client.cycle
        // Without a clock a cycle may wait for a disk, or for other programs.
        let patience = cycle.isFreewheeling.load(ordering: .relaxed) ? 10 * OutputRun.patience : OutputRun.patience
        // While a cycle does not end, the server interrupts it again and again: that is reported once, afterwards.
        core.tellNews(patience: patience, isLate: (cycle.run.cycleAge(now) ?? 0) > 100_000_000)
        let size = cycle.bufferSize.load(ordering: .relaxed)
        if size != seen.bufferSize {
            seen.bufferSize = size
            hub.send(.bufferSizeChanged(frames: size))
            client.recomputeLatencies()
        }
        let rate = cycle.sampleRate.load(ordering: .relaxed)
        if rate != seen.sampleRate {
            seen.sampleRate = rate
            renderer.configureElsewhere(sampleRate: Double(rate))
            hub.send(.sampleRateChanged(Double(rate)))
        }
        // On and off again may have been between two looks.
        let changes = cycle.freewheelChanges.load(ordering: .relaxed)
        while seen.freewheelChanges < changes {
            seen.freewheelChanges += 1
            hub.send(.freewheel(seen.freewheelChanges % 2 == 1))
        }
        takeInputs(client)
        if cycle.latencies.set(ways) { client.recomputeLatencies() }
        tellPriority(client)
        let changed = cycle.graphChanged.exchange(false, ordering: .acquiring)
        if changed || now >= seen.nextLinks {
            seen.nextLinks = now + 500_000_000
            makeLinks(client)
            noteLinks(client, now)
            for event in seen.devices.note(client.deviceNames) { hub.send(event) }
        }
        tellWhoListens(client, now)
        tellLatency(client.cycle, now)
    }

    /// Gives ports to inputs that a new loop has brought.
    private func takeInputs(_ client: JACKClient) {
        guard settings.followsInputs, client.cycle.isGrown,
            let inputs = CycleInputs.grown(settings.inputs, for: renderer),
            !refused.elementsEqual(inputs, by: ===)
        else { return }
        var next = settings
        next.inputs = inputs
        if !settings.inputs.contains(where: \.isWholeDevice) {
            CycleInputs.settle(inputs, on: client.sourceCount(settings.connect))
        }
        let outputs = renderer.outputChannelCounts
        let plans = JACKPortPlan.ports(outputs: outputs, next)
        guard let made = client.grow(to: plans, inputs: inputs, outputs: outputs) else {
            // It is tried again with other inputs, or when the server is back.
            refused = inputs
            let names = inputs.dropFirst(settings.inputs.count).map(\.name).joined(separator: ", ")
            hub.send(
                .notice("The JACK server gives no ports to the inputs that have joined (\(names)): they are silent."))
            return
        }
        settings = next
        let names = Set(made.map(\.plan.name))
        let new = client.links(settings.connect, mainChannels: renderer.channelCount).filter { names.contains($0.port) }
        planned += new
        wanted += new
        makeLinks(client)
        if settings.connect == .physical { wanted.removeAll { new.contains($0) } }
    }

    /// Passes on libjack's messages, each sentence once.
    func pass(on message: String) {
        guard client != nil, seen.messages.count < 100, seen.messages.insert(message).inserted else { return }
        hub.send(.notice("JACK says: \(message)"))
    }

    private func makeLinks(_ client: JACKClient) {
        let now = HostClock.now
        wanted.removeAll { link in
            guard client.connect(link) else { return false }
            fresh.append((link, now))
            return true
        }
    }

    private func noteLinks(_ client: JACKClient, _ now: Int64) {
        let departed = client.cycle.departed.withLock { departed in
            defer { departed = [] }
            return departed
        }
        let found = client.links
        for link in links.subtracting(found) {
            // A link whose other end is still there was cut by a user or another program on purpose.
            let wasThere = others[link.other]
            guard !client.hasPort(link.other) || wasThere.map({ departed.contains($0.identity) }) == true else {
                continue
            }
            lost.append((link, now))
            // A device comes back as it went; a program that ends may be meant to.
            let isToReturn = wasThere?.isHardware == true || planned.contains(link)
            if isToReturn, !wanted.contains(link) { wanted.append(link) }
        }
        lost.removeAll { now - $0.time > JACKSession.farewell }
        fresh.removeAll { found.contains($0.link) || now - $0.time > JACKSession.farewell }
        links = found
        others = [:]
        for link in found where others[link.other] == nil { others[link.other] = client.otherPort(link.other) }
        linkLooks.wrappingAdd(1, ordering: .releasing)
    }

    /// Says when nothing is connected to the output, after the time in which a device may come back.
    private func tellWhoListens(_ client: JACKClient, _ now: Int64) {
        if client.isHeard {
            seen.unheardSince = nil
            seen.isUnheardTold = false
            seen.wasHeard = true
            return
        }
        let since = seen.unheardSince ?? now
        seen.unheardSince = since
        // Without a wish to be connected, being alone is what was asked for, until something is connected.
        guard now - since > 700_000_000, !seen.isUnheardTold, settings.connect != .none || seen.wasHeard else { return }
        seen.isUnheardTold = true
        hub.send(
            .notice(
                "The output is connected to nothing, so it is not heard. "
                    + (wanted.isEmpty
                        ? "Connect it, for instance with `jack_connect \(client.name):out_1 …`."
                        : "It is connected again when \(wanted[0].other) is there.")))
    }

    /// Says how late the sound is when that has changed, and stays: after a return the links come one by one.
    private func tellLatency(_ cycle: JACKCycle, _ now: Int64) {
        let news = seen.latency.note(
            playback: core.latency.playback, capture: core.latency.capture, at: now,
            staysFor: wanted.isEmpty ? 500_000_000 : 3_000_000_000)
        if let news { hub.send(news) }
    }

    private func tellPriority(_ client: JACKClient) {
        let priority = client.cycle.run.threadPriority
        guard priority != seen.priority else { return }
        seen.priority = priority
        guard priority == 0 else { return }
        // JACK itself says 1 where the priority was refused, so the thread was asked.
        hub.send(
            .notice(
                unsafe jack_is_realtime(client.client) != 0
                    ? "No real-time priority: the sound may be interrupted when the machine is busy. Allow it with an "
                        + "`rtprio` line in /etc/security/limits.d."
                    : "The JACK server runs without real-time priority (`jackd -r`): the sound may be interrupted when "
                        + "the machine is busy."))
    }

    /// The latencies that the modules make, from each input to each output.
    private var ways: JACKLatencies.Ways {
        let outputs = renderer.outputChannelCounts.indices
        return settings.inputs.map { input in outputs.map { renderer.latencies(from: input, to: $0) } }
    }
}
