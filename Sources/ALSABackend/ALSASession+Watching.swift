internal import Glibc
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

// The watcher's work, a hundred times a second: it reports news, and looks for devices that are gone. With the gate
// held.
extension ALSASession {
    /// Looks after the start of this number. Returns `false` when it is over.
    func look(_ number: Int) -> Bool {
        gate.withLock { control in
            guard control.isStarted, control.number == number else { return false }
            control.retired = []
            if let engine = control.engine {
                tellNews(&control)
                let end = engine.end.load(ordering: .acquiring)
                if growBuffers(&control) || takeInputs(&control) {
                    // Nothing of what failed before is left.
                } else if end > ALSAEngine.End.stopped {
                    lose(&control, end)
                } else {
                    loseOne(&control, engine)
                    tellGrowth(&control)
                }
            }
            guard control.isStarted else { return false }
            core.tellNews()
            noticeChanges(&control)
            if HostClock.now >= control.nextTry { search(&control) }
            return true
        }
    }

    // MARK: More inputs

    /// Records inputs that a new loop has brought; a running sound is interrupted for it. `true`: the devices are open anew.
    private func takeInputs(_ control: inout Control) -> Bool {
        let (known, now) = (control.settings.inputs, HostClock.now)
        guard now >= control.nextInputs else { return false }
        control.nextInputs = now + 50_000_000
        guard takeThoseThatJoined(&control) else { return false }
        let names = control.settings.inputs.dropFirst(known.count).map(\.name).joined(separator: ", ")
        hub.send(.notice("The devices are opened anew for the inputs that have joined: \(names)."))
        // If that fails, it goes on trying.
        try? reopen(&control)
        return true
    }

    /// Takes the inputs that have joined the renderer. `true`: there are some.
    func takeThoseThatJoined(_ control: inout Control) -> Bool {
        guard control.settings.followsInputs,
            let inputs = CycleInputs.grown(control.settings.inputs, for: renderer)
        else { return false }
        // A program that has turned recording off records no more.
        if control.settings.inputs.isEmpty {
            control.settings.inputDevice = control.settings.inputDevice ?? control.settings.laterInputDevice
        }
        control.settings.inputs = inputs
        return true
    }

    // MARK: Losing

    private static func sentence(_ end: Int, _ what: String) -> String {
        switch end {
        case ALSAEngine.End.stalled: "\(what) stands still."
        case ALSAEngine.End.asleep: "\(what) was suspended and does not wake up."
        default: "\(what) is lost: \(ALSAError.text(Int32(end - ALSAEngine.End.lost)))."
        }
    }

    /// Handles the loss of all devices.
    private func lose(_ control: inout Control, _ end: Int) {
        let what = Self.sentence(end, "The sound device")
        let due = control.engine?.nextDue.load(ordering: .relaxed)
        control.resumesAt = due == .min ? nil : due
        close(&control)
        control.nextTry = 0
        control.isReturnVain = false
        switch control.settings.lossPolicy {
        case .stop: stop(&control, what)
        case .wait:
            core.show(.waiting)
            hub.send(.lost("\(what) It is opened again when it is back."))
        case .fallBack(let other):
            core.show(.waiting)
            hub.send(.lost("\(what) It is opened again, or \"\(other)\" in its place."))
        }
    }

    /// Handles the loss of one of two devices: the other goes on.
    private func loseOne(_ control: inout Control, _ engine: ALSAEngine) {
        let playback = engine.lostPlayback.exchange(0, ordering: .acquiring)
        if playback != 0 {
            let what = Self.sentence(playback, "The device that plays")
            if control.settings.lossPolicy == .stop {
                close(&control)
                stop(&control, what)
                return
            }
            if let line = control.playback { control.retired.append(line) }
            control.playback = nil
            control.isPlaybackMissing = true
            control.isReturnVain = false
            control.nextTry = HostClock.now + 5_000_000
            hub.send(.lost("\(what) Recording goes on, and nothing is heard until it is back."))
        }
        let capture = engine.lostCapture.exchange(0, ordering: .acquiring)
        if capture != 0 {
            let what = Self.sentence(capture, "The device that records")
            if control.settings.lossPolicy == .stop {
                close(&control)
                stop(&control, what)
                return
            }
            if let line = control.capture { control.retired.append(line) }
            control.capture = nil
            control.isCaptureMissing = true
            control.nextTry = HostClock.now + 5_000_000
            hub.send(.lost("\(what) The input is silent until it is back."))
        }
    }

    private func stop(_ control: inout Control, _ what: String) {
        control.isStarted = false
        closeMIDI(&control)
        core.endRun()
        control.watch = nil
        // The watcher ends by itself: no thread joins it.
        if let watcher = control.watcher { pthread_detach(watcher) }
        control.watcher = nil
        hub.send(.lost("\(what) Start the output again when it is back."))
    }

    // MARK: Finding

    /// Looks for devices that are gone, and takes them if they are back.
    private func search(_ control: inout Control) {
        control.nextTry = HostClock.now + control.settings.searchInterval
        guard let engine = control.engine else {
            if (try? open(&control, isFirst: false)) != nil { hub.send(.regained) }
            return
        }
        var isFound = false
        var isOther = false
        if control.isPlaybackMissing { (isFound, isOther) = findPlayback(&control, engine) }
        if control.isCaptureMissing, !isOther { (isFound, isOther) = findCapture(&control, engine) }
        if isOther { isFound = (try? reopen(&control)) != nil }
        if isFound { hub.send(.regained) }
        returnToFirst(&control)
    }

    /// Opens the device that plays and hands it to the render thread.
    ///
    /// - Returns: `isFound` is `true` if the device exists, and `isOther` if it is so different that all has to be opened anew.
    private func findPlayback(_ control: inout Control, _ engine: ALSAEngine) -> (isFound: Bool, isOther: Bool) {
        guard let stream = try? openPlayback(&control, isFirst: false) else { return (false, false) }
        let isOtherRate = control.settings.rate == nil && stream.configuration.sampleRate != engine.rate
        if isOtherRate || ALSAEngine.isOneClock(stream, control.capture?.stream) { return (true, true) }
        let channels = renderer.outputChannelCounts.reduce(0, +)
        let line = PlaybackLine(stream, rendererRate: engine.rate, channels: max(1, min(64, channels)))
        // The line between the two clocks is as long as the cycles that it was made for need.
        let isLonger = line.mostFrames > (control.capture?.followedPeriod ?? 0)
        if isLonger || ALSAEngine.neededCapacity(line, nil, atLeast: 0) > engine.capacity { return (true, true) }
        control.playback = line
        control.configurations.playback = stream.configuration
        control.isPlaybackMissing = false
        control.told.clipped = 0
        engine.newPlayback.put(line)
        return (true, false)
    }

    /// Finds the device that records.
    private func findCapture(_ control: inout Control, _ engine: ALSAEngine) -> (isFound: Bool, isOther: Bool) {
        guard let playback = control.playback else { return (false, false) }
        let channels = control.settings.inputChannels
        guard let opened = try? openCapture(control, rate: playback.rate), let stream = opened as ALSAStream? else {
            return (false, false)
        }
        // A whole device may have other channels now.
        let isOther = control.settings.inputChannels != channels
        if isOther || ALSAEngine.isOneClock(playback.stream, stream) { return (true, true) }
        let line = CaptureLine(
            stream, rendererRate: engine.rate, channels: max(1, control.settings.inputChannels),
            followsPeriodOf: playback.mostFrames)
        if ALSAEngine.neededCapacity(nil, line, atLeast: 0) > engine.capacity { return (true, true) }
        guard stream.prepare() == 0, stream.start() == 0 else { return (false, false) }
        control.capture = line
        control.configurations.capture = stream.configuration
        control.isCaptureMissing = false
        engine.newCapture.put(line)
        return (true, false)
    }

    /// Goes back from the substitute device to the first one.
    private func returnToFirst(_ control: inout Control) {
        guard control.isFallenBack, !control.isReturnVain, let first = control.settings.device,
            ALSAStream.isThere(first)
        else { return }
        _ = try? reopen(&control)
        // It can be opened, but not used: another try would only interrupt the sound.
        control.isReturnVain = control.isFallenBack
        if !control.isFallenBack, control.engine != nil {
            hub.send(.notice("The sound is back on the device \"\(first)\"."))
        }
    }

    /// Looks again at once where devices came or the configuration has changed, and follows a name that stands for
    /// another device now, such as "default".
    private func noticeChanges(_ control: inout Control) {
        let now = HostClock.now
        if control.watch?.hasChanged() == true { control.changedAt = now }
        // It waits until the last of a row of changes: permission to use a device comes after the device.
        guard let changed = control.changedAt, now - changed >= 100_000_000 else { return }
        control.changedAt = nil
        control.nextTry = 0
        control.isReturnVain = false
        DeviceWatch.readConfigurationAnew()
        for event in control.devices.note(control.settings.deviceNames()) { hub.send(event) }
        guard control.engine != nil else { return }
        for (name, old) in control.definitions {
            guard let new = DeviceWatch.definition(of: name), new != old else { continue }
            control.leastBuffers[name] = nil
            let isOpen = (try? reopen(&control)) != nil
            hub.send(.notice("\"\(name)\" is another device now.\(isOpen ? "" : " It cannot be opened yet.")"))
            return
        }
    }

    // MARK: Telling

    func tellNews(_ control: inout Control) {
        guard let engine = control.engine else { return }
        for sentence in notices.withLock({ list in
            defer { list = [] }
            return list
        }) { tell(sentence, &control) }
        for sentence in control.midi?.takeNotices() ?? [] { tell(sentence, &control) }
        let breaks = engine.lineBreaks.load(ordering: .relaxed)
        core.tellNews(gap: engine.gaps.take(), more: max(0, breaks - control.told.lineBreaks))
        control.told.lineBreaks = breaks
        let clipped = control.playback?.stream.clipped.load(ordering: .relaxed) ?? 0
        if clipped > 0, control.told.clipped == 0 {
            tell("The sound is too loud for the device: samples are clipped.", &control)
        }
        control.told.clipped = clipped
        tellLatency(&control, engine)
        if engine.isUnclocked.load(ordering: .relaxed) {
            tell(
                "The device takes frames at once and has no clock: the output sends them by the machine's clock.",
                &control)
        }
    }

    /// Says how late the sound is when that has changed, and stays.
    private func tellLatency(_ control: inout Control, _ engine: ALSAEngine) {
        guard engine.nextDue.load(ordering: .relaxed) != .min else { return }
        let news = control.told.latency.note(
            playback: core.latency.playback, capture: core.latency.capture, at: HostClock.now, staysFor: 500_000_000)
        if let news { hub.send(news) }
    }

    /// Says something, once for each start.
    func tell(_ sentence: String, _ control: inout Control) {
        if control.told.notices.insert(sentence).inserted { hub.send(.notice(sentence)) }
    }
}
