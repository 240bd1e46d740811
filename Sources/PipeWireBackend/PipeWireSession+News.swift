internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

// What an output tells of its own accord, each time that the session looks after it.
extension PipeWireSession {
    /// The news that have been reported already.
    struct Seen {
        var duration = 0
        var graphRate = 0
        var priority = OutputRun.unknown
        var freewheelChanges = 0
        var latency: Latency?
        var newLatency = Latency(playback: 0, capture: 0)
        var newLatencySince: Int64 = 0
        var ownLatency = 0
        var device: String?
        /// The time since which the output has been linked to nothing, or PipeWire has not called.
        var unheardSince: Int64?
        var isUnheardTold = false
        var volume: Double?
        var isMuted = false
        var hasVolume = false
        var devices: Set<String>?
        var messageLinks: Set<UInt32> = []
        /// The session manager under which the nodes were made, another one, and the time since which that is there.
        var manager: Int?
        var newManager: Int?
        var newManagerSince: Int64 = 0
        var isConverterTold = false
    }

    /// Frames behind and before the output.
    struct Latency: Equatable {
        var playback: Int
        var capture: Int

        /// Returns whether another one is no more than the wavering of a converter.
        func isAbout(_ other: Latency) -> Bool {
            abs(playback - other.playback) <= 32 && abs(capture - other.capture) <= 32
        }
    }

    func tellLength(_ state: inout State, _ cycle: PipeWireCycle) {
        let length = cycle.duration.load(ordering: .relaxed)
        if length != state.seen.duration, length > 0 {
            if state.seen.duration > 0 { core.hub.send(.bufferSizeChanged(frames: length)) }
            state.seen.duration = length
        }
        let changes = cycle.freewheelChanges.load(ordering: .relaxed)
        while state.seen.freewheelChanges < changes {
            state.seen.freewheelChanges += 1
            core.hub.send(.freewheel(state.seen.freewheelChanges % 2 == 1))
        }
    }

    func tellPriority(_ state: inout State, _ cycle: PipeWireCycle) {
        // While the clock renders its thread is an ordinary one.
        guard cycle.isCalled(since: HostClock.now - 100_000_000) else { return }
        let priority = cycle.run.threadPriority
        guard priority != state.seen.priority else { return }
        state.seen.priority = priority
        guard priority == 0 else { return }
        core.hub.send(
            .notice(
                "PipeWire's data thread has no real-time priority: the sound may be interrupted when the machine is busy. Install "
                    + "rtkit, or allow it with an `rtprio` line in /etc/security/limits.d."))
    }

    /// Says where the sound goes when that changes, and when it goes nowhere.
    func tellDevice(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle, _ now: Int64) {
        let devices = Set(nodes.connection.graph.devices.map(\.name))
        if let before = state.seen.devices {
            for name in before.subtracting(devices).sorted() { core.hub.send(.deviceGone(name)) }
            for name in devices.subtracting(before).sorted() { core.hub.send(.deviceCame(name)) }
        }
        state.seen.devices = devices
        if let device = nodes.devices.first?.name {
            state.seen.unheardSince = nil
            if state.seen.isUnheardTold { core.hub.send(.notice("The output is heard again, on \(device).")) }
            state.seen.isUnheardTold = false
            if let before = state.seen.device, before != device { core.hub.send(.moved(to: device)) }
            state.seen.device = device
            return
        }
        let since = state.seen.unheardSince ?? now
        state.seen.unheardSince = since
        guard now - since > 1_000_000_000, !state.seen.isUnheardTold, settings.target != .none else { return }
        state.seen.isUnheardTold = true
        let graph = nodes.connection.graph
        core.hub.send(
            .notice(
                "The output is connected to nothing, so it is not heard; the program plays on by the clock. "
                    + (graph.manager == nil
                        ? "No session manager has chosen a device: start one with `systemctl --user start wireplumber`."
                        : graph.devices.contains(where: \.isSink)
                            ? "Connect it, for instance with `pw-link \(settings.name):output_FL …`."
                            : "PipeWire has no sink: plug in a sound card, or make one with "
                                + "`pactl load-module module-null-sink`.")))
    }

    /// Lets go of what a program holds down whose link is gone.
    func endNotes(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle) {
        let links = nodes.messageLinks
        if !state.seen.messageLinks.isSubset(of: links) { cycle.run.endNotes() }
        state.seen.messageLinks = links
    }

    func tellVolume(_ state: inout State, _ nodes: PipeWireNodes) {
        let now = nodes.notes.now
        guard let volume = now.volume else { return }
        let isNew = state.seen.volume != volume || state.seen.isMuted != now.isMuted
        defer { (state.seen.volume, state.seen.isMuted, state.seen.hasVolume) = (volume, now.isMuted, true) }
        guard isNew else { return }
        (state.volume, state.isMuted) = (volume, now.isMuted)
        // The first is what the desktop remembers, and no news where it is the usual one.
        if state.seen.hasVolume || volume != 1 || now.isMuted {
            core.hub.send(.volumeChanged(volume: volume, isMuted: now.isMuted))
        }
    }

    /// Says how late the sound is when that has changed, and stays; and tells the graph how late our modules are.
    func tellLatency(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle, _ now: Int64) {
        let own = settings.inputs.compactMap { core.renderer.latencies(from: $0, to: 0)?.upperBound }.max() ?? 0
        if own != state.seen.ownLatency {
            state.seen.ownLatency = own
            nodes.setLatency(frames: own)
        }
        guard cycle.called.load(ordering: .relaxed) != 0 else { return }
        func frames(_ delay: Int64) -> Int { Int((Double(delay) * Double(nodes.rate) / 1e9).rounded()) }
        let waiting = max(0, cycle.waitingInput.load(ordering: .relaxed))
        let latency = Latency(
            playback: frames(cycle.playbackDelay.load(ordering: .relaxed)),
            capture: settings.inputs.isEmpty ? 0 : frames(cycle.captureDelay.load(ordering: .relaxed)) + waiting)
        if !latency.isAbout(state.seen.newLatency) || state.seen.newLatencySince == 0 {
            state.seen.newLatency = latency
            state.seen.newLatencySince = now
        }
        guard now - state.seen.newLatencySince > 500_000_000, state.seen.latency.map({ !latency.isAbout($0) }) ?? true
        else { return }
        if state.seen.latency != nil {
            core.hub.send(.latencyChanged(playback: latency.playback, capture: latency.capture))
        }
        state.seen.latency = latency
    }
}
