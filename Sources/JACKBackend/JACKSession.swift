internal import CJACK
internal import RenderCore
internal import Synchronization

/// What an output does between start and stop, over all servers that come and go meanwhile.
final class JACKSession: @unchecked Sendable {
    // Unchecked because what changes is touched with the gate of `JACKLibrary` held only.
    let renderer: Renderer
    let settings: JACKSettings
    let hub = EventHub<OutputEvent>()
    let load = LoadHistogram()
    /// 0 stopped, 1 running, 2 waiting: for who asks without the gate.
    let shownState = Atomic<Int>(0)
    let faultsBefore = Atomic<Int>(0)

    private(set) var client: JACKClient?
    private(set) var isWaiting = false
    /// The name to come back under.
    private(set) var name: String
    /// Links to be made as soon as their other ends are there.
    private var wanted: [JACKClient.Link] = []
    private var links: Set<JACKClient.Link> = []
    /// Links whose other end went away lately: perhaps the server was going down already.
    private var lost: [(link: JACKClient.Link, time: Int64)] = []
    /// Links made lately: the server shows them a cycle later.
    private var fresh: [(link: JACKClient.Link, time: Int64)] = []
    private var seen = Seen()

    /// What has been told already.
    private struct Seen {
        var xruns = 0
        var cycles = 0
        var progress: Int64 = 0
        var bufferSize = 0
        var sampleRate = 0
        var priority = JACKCycle.unknown
        var freewheelChanges = 0
        var nextLinks: Int64 = 0
    }

    /// How long no cycle may come before the server counts as gone: PipeWire does not always say that it goes.
    static let silence: Int64 = 3_000_000_000
    /// How long before its end a server may have begun to take ports away.
    static let farewell: Int64 = 2_000_000_000

    init(_ renderer: Renderer, _ settings: JACKSettings) {
        self.renderer = renderer
        self.settings = settings
        name = settings.name
    }

    // MARK: Start, stop, loss, return

    func open() throws(JACKError) {
        if !isWaiting { faultsBefore.store(renderer.faultCount, ordering: .relaxed) }
        let client = try JACKClient.open(
            name, renderer: renderer, load: load, settings: settings, startsServer: settings.startsServer && !isWaiting)
        if client.name != name { hub.send(.renamed(client.name)) }
        seen = Seen()
        seen.progress = HostClock.now
        seen.bufferSize = client.cycle.bufferSize.load(ordering: .relaxed)
        seen.sampleRate = client.cycle.sampleRate.load(ordering: .relaxed)
        _ = client.cycle.latencies.set(ways)
        try client.activate()
        if !isWaiting { wanted = client.links(settings.connect, mainChannels: renderer.channelCount) }
        makeLinks(client)
        // Ports that a new output does not find at its start are not waited for; those of before the loss are.
        if !isWaiting, settings.connect == .physical { wanted = [] }
        name = client.name
        self.client = client
        if isWaiting { hub.send(.regained) }
        isWaiting = false
        shownState.store(1, ordering: .releasing)
    }

    func close() {
        client?.close()
        client = nil
        isWaiting = false
        wanted = []
        links = []
        lost = []
        fresh = []
        name = settings.name
        shownState.store(0, ordering: .releasing)
    }

    /// The server is gone: closes, remembers, tells.
    func lose(_ why: String) {
        guard let client else { return }
        let now = HostClock.now
        let recent = (lost + fresh).filter { now - $0.time < JACKSession.farewell }.map(\.link)
        wanted += links.union(recent).filter { !wanted.contains($0) }
        links = []
        lost = []
        fresh = []
        self.client = nil
        isWaiting = settings.rejoins
        shownState.store(isWaiting ? 2 : 0, ordering: .releasing)
        hub.send(
            .lost(
                why
                    + (isWaiting
                        ? " It is joined again when it is back."
                        : " Start the output again when it is back.")))
        client.close()
    }

    // MARK: Housekeeping

    /// Why the server counts as gone, if it does.
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
        if cycles != seen.cycles || cycle.isInside.load(ordering: .relaxed) {
            seen.cycles = cycles
            seen.progress = now
        }
        let period = Int64(seen.bufferSize) * 1_000_000_000 / Int64(max(1, seen.sampleRate))
        guard now - seen.progress > max(JACKSession.silence, 20 * period) else { return nil }
        return ("The JACK server has not called for \(JACKSession.silence / 1_000_000_000) seconds.", false)
    }

    /// Tells what is new, and sees to the links.
    func keepHouse(_ now: Int64) {
        guard let client else { return }
        let cycle = client.cycle
        let xruns = cycle.xruns.load(ordering: .relaxed)
        if xruns != seen.xruns {
            hub.send(.xruns(count: xruns - seen.xruns, hostTime: load.statistics.lastMissedDeadline ?? now))
            seen.xruns = xruns
        }
        let size = cycle.bufferSize.load(ordering: .relaxed)
        if size != seen.bufferSize {
            seen.bufferSize = size
            hub.send(.bufferSizeChanged(frames: size))
            client.recomputeLatencies()
        }
        let rate = cycle.sampleRate.load(ordering: .relaxed)
        if rate != seen.sampleRate {
            seen.sampleRate = rate
            renderer.configure(sampleRate: Double(rate))
            hub.send(.sampleRateChanged(Double(rate)))
        }
        // On and off again may have been between two looks.
        let changes = cycle.freewheelChanges.load(ordering: .relaxed)
        while seen.freewheelChanges < changes {
            seen.freewheelChanges += 1
            hub.send(.freewheel(seen.freewheelChanges % 2 == 1))
        }
        if cycle.latencies.set(ways) { client.recomputeLatencies() }
        tellPriority(client)
        let changed = cycle.graphChanged.exchange(false, ordering: .acquiring)
        if changed || now >= seen.nextLinks {
            seen.nextLinks = now + 500_000_000
            makeLinks(client)
            noteLinks(client, now)
        }
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
        let found = client.links
        for link in links.subtracting(found) where !client.hasPort(link.other) { lost.append((link, now)) }
        lost.removeAll { now - $0.time > JACKSession.farewell }
        fresh.removeAll { found.contains($0.link) || now - $0.time > JACKSession.farewell }
        links = found
    }

    private func tellPriority(_ client: JACKClient) {
        let priority = client.cycle.priority.load(ordering: .relaxed)
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

    /// How late the modules make the sound, from each input to each output.
    private var ways: JACKLatencies.Ways {
        let outputs = renderer.outputChannelCounts.indices
        return settings.inputs.map { input in outputs.map { renderer.latencies(from: input, to: $0) } }
    }
}
