internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

// An output tells all this of its own accord, each time that the session looks after it.
extension PipeWireSession {
    /// The frames by which a converter has the latency waver.
    private static let waver = 32

    /// The news that have been reported already.
    struct Seen {
        var duration = 0
        var priority = OutputRun.unknown
        var freewheelChanges = 0
        var latency = LatencyNews(tolerance: PipeWireSession.waver)
        /// The frames by which the sound is late that the nodes play, and will be that they capture, as the graph knows them.
        var told = (played: 0, captured: 0)
        var device: String?
        /// The time since which the output has been linked to nothing, or PipeWire has not called.
        var unheardSince: Int64?
        var isUnheardTold = false
        var volume: Double?
        var isMuted = false
        var wished: Int64 = 0
        var devices = DeviceNews()
        var messageLinks: Set<UInt32> = []
        /// The session manager under which the nodes were made, another one, and the time since which that is there.
        var manager: Int?
        var newManager: Int?
        var newManagerSince: Int64 = 0
        var isConverterTold = false
        /// The time since which the nodes are linked, and the last at which they were made anew because one was taken away.
        var heardSince: Int64?
        var replaced: Int64 = 0
        var isSilenceTold = false
        /// The time since which the inputs are linked to nothing.
        var unfedSince: Int64?
        var isUnfedTold = false
        var lateInput = 0
        var cutInput = 0
        var nextInputNews: Int64 = 0
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
    func tellDevice(_ state: inout State, _ nodes: PipeWireNodes, _ now: Int64) {
        for event in state.seen.devices.note(Set(nodes.connection.graph.devices.map(\.name))) { core.hub.send(event) }
        if let device = nodes.devices.first?.name {
            state.seen.unheardSince = nil
            state.seen.heardSince = state.seen.heardSince ?? now
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

    /// Says when PipeWire does not call although there is a device, and when it calls again.
    func tellSilence(_ state: inout State, _ cycle: PipeWireCycle, _ now: Int64) {
        guard let since = state.seen.heardSince, state.seen.unheardSince == nil else { return }
        let latest = max(since, cycle.called.load(ordering: .relaxed))
        let isSilent = now - latest > 3_000_000_000
        guard isSilent != state.seen.isSilenceTold else { return }
        state.seen.isSilenceTold = isSilent
        core.hub.send(
            .notice(
                isSilent
                    ? "PipeWire has not called for 3 seconds: its daemon stands still, or has paused the program, which plays on by the "
                        + "clock, unheard."
                    : "PipeWire calls again."))
    }

    /// Says when the inputs are linked to nothing, and when input came too late or was left out.
    func tellInput(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle, _ now: Int64) {
        guard !state.inputs.isEmpty else { return }
        if settings.source != .none {
            let isUnfed = nodes.sources.isEmpty
            let since = isUnfed ? state.seen.unfedSince ?? now : nil
            state.seen.unfedSince = since
            if let since, now - since > 1_000_000_000, !state.seen.isUnfedTold {
                state.seen.isUnfedTold = true
                core.hub.send(
                    .notice(
                        "The inputs are connected to nothing, so they are silent. Connect them, for instance with `pw-link … "
                            + "\(settings.name)-in:input_FL`, or plug in what records."))
            }
            if !isUnfed { state.seen.isUnfedTold = false }
        }
        let (late, cut) = (cycle.lateInput.load(ordering: .relaxed), cycle.cutInput.load(ordering: .relaxed))
        guard now >= state.seen.nextInputNews, late > state.seen.lateInput || cut > state.seen.cutInput else { return }
        state.seen.nextInputNews = now + 1_000_000_000
        let (lateNow, cutNow) = (late - state.seen.lateInput, cut - state.seen.cutInput)
        (state.seen.lateInput, state.seen.cutInput) = (late, cut)
        if lateNow > 0 {
            core.hub.send(
                .notice("The input came late: \(lateNow) frames of silence are in it, and it is that much older."))
        }
        if cutNow > 0 { core.hub.send(.notice("The input had fallen behind: \(cutNow) frames of it are left out.")) }
    }

    func tellVolume(_ state: inout State, _ nodes: PipeWireNodes, _ now: Int64) {
        let reported = nodes.notes.now
        if state.hasWish {
            // The session manager has set what it remembers by then.
            guard let since = state.seen.heardSince, now - since > 300_000_000 else { return }
            state.hasWish = false
            nodes.set(volume: state.volume, isMuted: state.isMuted)
            state.seen.wished = now
            return
        }
        guard let volume = reported.volume, now - state.seen.wished > 300_000_000 else { return }
        let isNew = state.seen.volume != volume && !reported.isMuted || state.seen.isMuted != reported.isMuted
        // The first is what the desktop remembers, and no news where it is the usual one.
        let isUsual = state.seen.volume == nil && volume == 1 && !reported.isMuted
        (state.seen.volume, state.seen.isMuted) = (volume, reported.isMuted)
        if isUsual { return }
        (state.volume, state.isMuted) = (volume, reported.isMuted)
        if isNew { core.hub.send(.volumeChanged(volume: volume, isMuted: reported.isMuted)) }
    }

    /// Says how late the sound is when that has changed, and stays; and tells the graph how late it is with our modules.
    func tellLatency(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle, _ now: Int64) {
        guard cycle.called.load(ordering: .relaxed) != 0 else { return }
        func frames(_ delay: Int64) -> Int { Int((Double(delay) * Double(nodes.rate) / 1e9).rounded()) }
        let waiting = max(0, cycle.waitingInput.load(ordering: .relaxed))
        let behind = frames(cycle.playbackDelay.load(ordering: .relaxed))
        let before = state.inputs.isEmpty ? 0 : frames(cycle.captureDelay.load(ordering: .relaxed)) + waiting
        (core.latency.playback, core.latency.capture) = (behind, before)
        let news = state.seen.latency.note(playback: behind, capture: before, at: now, staysFor: 500_000_000)
        if let news { core.hub.send(news) }
        // Sound that the program makes itself has come from no input.
        let own = state.inputs.compactMap { core.renderer.latencies(from: $0, to: 0)?.upperBound }.max()
        let told = own.map { (played: before + $0, captured: behind + $0) } ?? (played: 0, captured: 0)
        let known = state.seen.told
        guard max(abs(told.played - known.played), abs(told.captured - known.captured)) > Self.waver else { return }
        state.seen.told = told
        nodes.setLatencies(played: told.played, captured: told.captured)
    }
}
