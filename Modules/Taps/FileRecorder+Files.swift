internal import AudioFiles
internal import DiskFiles
internal import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

// MARK: - Files

extension FileRecorder {
    func nextNumber() -> Int { commands.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Makes takes, and reports the error that keeps one from being made.
    func attempt(_ control: inout Control, _ body: (inout Control) throws(AudioFileError) -> Void) {
        do throws(AudioFileError) {
            try body(&control)
        } catch {
            control.failure = error
            hub.send(.failed(error))
        }
    }

    func makeTake(_ path: String, _ control: Control) throws(AudioFileError) -> DiskTake {
        DiskTake(
            try openSink(path, control.sampleRate), path: path, number: nextNumber(), channels: channelCount,
            sampleRate: control.sampleRate, seconds: ringSeconds, maximumFrameCount: control.maximumFrameCount,
            isMultiSource: isMultiSource)
    }

    func makeNextTake(_ control: inout Control, takesSequel: Bool = true) throws(AudioFileError) -> DiskTake {
        // A file that was made for another rate, and that no cycle has needed.
        if takesSequel, let index = control.sequels.lastIndex(where: { !$0.take.hasBegun }),
            control.sequels[index].take.callOff()
        {
            return try remake(control.sequels.remove(at: index).take, &control)
        }
        // Nobody has named this file: it takes the place of none.
        repeat {
            control.takeCount += 1
        } while FileDescriptor.exists(
            FileRecorder.numbered(control.path, control.takeCount))
        return try makeTake(FileRecorder.numbered(control.path, control.takeCount), control)
    }

    /// Returns a name with a number before its extension.
    static func numbered(_ path: String, _ number: Int) -> String {
        let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        guard let dot = path[name...].lastIndex(of: "."), dot > name else { return "\(path)-\(number)" }
        return "\(path[..<dot])-\(number)\(path[dot...])"
    }

    func cue(
        _ take: DiskTake, at time: RenderTime, _ control: inout Control,
        undo: (@Sendable (inout Control) -> Void)? = nil
    ) {
        prune(&control)
        let (before, isStaged) = (control.latest, OpenTransaction.exists)
        if !control.takes.contains(where: { $0 === take }) { control.takes.append(take) }
        control.latest = (take, time, isStaged)
        control.begunInCycle = nil
        // An earlier take that has not begun will not begin any more, once the render thread sees this one.
        let end: @Sendable () -> Void = {
            if let old = before?.take, !old.hasBegun && old !== take { old.close() }
        }
        begins.set(DiskCue(take: take, number: nextNumber(), time: time))
        if !isStaged { return end() }
        OpenTransaction.afterCycles(
            end,
            ifCalledOff: { [weak self] in
                self?.control.withLock { control in
                    if control.latest?.take === take { control.latest = before }
                    undo?(&control)
                }
            })
    }

    func prune(_ control: inout Control) {
        let over = control.takes.filter { take in
            take.isDone && !take.isInUse && take !== control.latest?.take && take !== control.begunInCycle
                && !control.sequels.contains { $0.take === take && take.hasBegun }
        }
        if over.isEmpty { return }
        for take in over {
            control.gaps += take.gapCount
            if take.hasBegun { control.past.append((take.number, Take(take))) }
        }
        control.takes.removeAll { take in over.contains { $0 === take } }
    }

    /// Makes files that have not begun anew if the renderer has another rate than they were made for. A take that is
    /// running goes on in a new file when the renderer has that rate: a file has one. With other settings it goes on.
    public func prepare(_ preparation: Preparation) {
        control.withLock { control in
            let isSame =
                control.sampleRate == preparation.sampleRate
                && control.maximumFrameCount >= preparation.maximumFrameCount
            guard !isSame else { return }
            let oldRate = control.sampleRate
            control.sampleRate = preparation.sampleRate
            control.maximumFrameCount = preparation.maximumFrameCount
            if oldRate == preparation.sampleRate {
                for take in control.takes where !take.isDone { take.makeRoom(forSlicesOf: control.maximumFrameCount) }
                return
            }
            adoptBegun(&control)
            for prepare in [prepareSequel, prepareArmed, prepareLatest, remakeReady] { attempt(&control, prepare) }
        }
        DiskThread.shared.wake()
    }

    private func prepareArmed(_ control: inout Control) throws(AudioFileError) {
        if let armed = control.armed { control.armed = try remake(armed, &control) }
    }

    private func prepareLatest(_ control: inout Control) throws(AudioFileError) {
        if let latest = control.latest, !latest.take.isOver && latest.take.callOff() {
            cue(try remake(latest.take, &control), at: latest.time, &control)
            control.latest?.isStaged = latest.isStaged
        }
    }

    /// Has a file ready in which the take that is running goes on. The render thread begins it with the first frame of the new
    /// rate, and so ends the other one with the last of the old rate.
    private func prepareSequel(_ control: inout Control) throws(AudioFileError) {
        let (waiting, cut) = control.sequels.last { !$0.take.hasBegun && !$0.take.isOver } ?? (nil, nil)
        // The render thread may begin it at this moment: then it is the one that is running.
        if let waiting, !waiting.callOff() { return try prepareSequel(&control) }
        control.sequels.removeAll { !$0.take.hasBegun }
        let running = control.takes.last { $0.hasBegun && !$0.isOver } ?? cut.flatMap { $0.isCut ? $0 : nil }
        // Where the rate is again that of the running take, a cycle that is under way may still cut it by the rate between.
        guard let running, waiting != nil || running.isOver || running.sampleRate != control.sampleRate else {
            // The rate is again that of the running take, or that has ended: the next take may have the file.
            running?.sequel = nil
            if control.armed == nil { control.armed = waiting }
            return
        }
        let take: DiskTake
        do throws(AudioFileError) {
            take = if let waiting { try remake(waiting, &control) } else { try makeNextTake(&control) }
        } catch {
            hub.send(
                .rateChanged(path: running.path, from: running.sampleRate, to: control.sampleRate, next: nil))
            throw error
        }
        control.sequels.append((take, running))
        running.sequel = take
        if !control.takes.contains(where: { $0 === take }) { control.takes.append(take) }
        sequels.set(DiskCue(take: take, number: nextNumber()))
        OpenTransaction.ifCalledOff { [weak self] in
            self?.control.withLock { $0.sequels.removeAll { $0.take === take } }
            take.close()
        }
    }

    /// Makes the take that goes on with another one's sound the latest, as it has begun. Returns the other one.
    func takeOver(_ take: DiskTake) -> DiskTake? {
        control.withLock { control in
            guard let index = control.sequels.firstIndex(where: { $0.take === take }) else { return nil }
            let old = control.sequels.remove(at: index).of
            // A take that waits for its time stays the latest.
            if control.latest?.take === old { control.latest?.take = take }
            if control.begunInCycle === old { control.begunInCycle = take }
            return old
        }
    }

    func remake(_ take: DiskTake, _ control: inout Control) throws(AudioFileError) -> DiskTake {
        take.close()
        while !take.isDone { _ = take.serve { _ in } }
        control.takes.removeAll { $0 === take && !$0.isInUse }
        if control.armed === take { control.armed = nil }
        let new = try makeTake(take.path, control)
        control.takes.append(new)
        return new
    }
}
