public import AudioFiles
public import RenderCore
internal import Synchronization

extension BufferPlayer {
    /// How a sound is scheduled.
    public struct Options: OptionSet, Sendable {
        /// Its bits.
        public let rawValue: Int
        /// Options with these bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// It is heard over and over, until it is interrupted or stopped.
        public static let loops = Options(rawValue: 1)
        /// It does not wait for its turn: what plays is cut off at its time, and what was scheduled before it is
        /// dropped.
        public static let interrupts = Options(rawValue: 2)
        /// The same, but what plays is heard to its end; a loop to the end of the round that it is in.
        public static let interruptsAtLoop = Options(rawValue: 4)
    }

    /// What control code keeps. Under its lock.
    struct Control {
        /// The renderer's rate, when it is known.
        var sampleRate: Double?
        /// What is scheduled and not over, in order.
        var tickets: [ScheduledSound] = []
        /// What has been rendered and is still to be heard.
        var sounding: [ScheduledSound] = []
        /// Changes of the list that the render thread may not have seen.
        var openChanges = 0
        /// How far the list has been emptied.
        var pruned = 0
        /// The last number that was given.
        var lastNumber = 0
    }

    // MARK: Scheduling

    /// Schedules a sound, behind what is scheduled already if no option says otherwise.
    ///
    /// - Parameters:
    ///   - sound: what is heard.
    ///   - options: how.
    ///   - time: not before; as soon as it is its turn if nothing is said.
    /// - Returns: what tells how it has ended.
    @discardableResult
    public func schedule(
        _ sound: Sound, _ options: Options = [], at time: RenderTime = .immediately
    ) -> ScheduledSound {
        let rate = control.withLock { $0.sampleRate }
        _ = rate.map(sound.at)  // takes long: not under the lock
        let (ticket, retire) = control.withLock { control in
            control.lastNumber += 1
            let number = control.lastNumber
            let ticket = ScheduledSound(number: number, sound, options, time)
            control.tickets.append(ticket)
            control.openChanges += 1
            let converted = control.sampleRate.map(sound.at) ?? sound
            let retire = entries.exchange(
                entries.keys.filter { $0 > done.load(ordering: .acquiring) } + [number],
                whenOldIsReleased: { [weak self] in self?.changeIsSeen() },
                undo: { [weak self] in self?.takeBack(ticket) },
                make: { key, _ in key == number ? BufferEntry(number, converted, ticket) : BufferEntry(gone: key) })
            if !options.isDisjoint(with: [.interrupts, .interruptsAtLoop]) {
                newestInterruption.store(number, ordering: .relaxed)
            }
            newest.store(number, ordering: .releasing)
            return (ticket, retire)
        }
        retire()
        Collector.shared.add(self)
        return ticket
    }

    /// Reads a segment of a file, and schedules it. It waits for the disk.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - frames: the segment, in frames of the file; all of it if nothing is said. It is kept in memory.
    ///   - options: how.
    ///   - time: not before.
    /// - Throws: why it cannot be read.
    @discardableResult
    public func schedule(
        path: String, frames: Range<Int64>? = nil, _ options: Options = [], at time: RenderTime = .immediately
    ) throws(AudioFileError) -> ScheduledSound {
        schedule(try Sound(path: path, frames: frames), options, at: time)
    }

    /// Sounds that are scheduled and not over; the one that plays is counted.
    public var scheduledCount: Int {
        let done = done.load(ordering: .acquiring)
        return control.withLock { control in control.tickets.count { $0.number > done } }
    }

    // MARK: Play and stop

    /// Plays what is scheduled, or goes on after a pause.
    ///
    /// - Returns: `false` if 64 commands wait for their time; then it was not taken.
    @discardableResult
    public func play(at time: RenderTime = .immediately) -> Bool {
        commands.send(Command(action: .play, number: 0), at: time)
    }

    /// Rests on its frame.
    @discardableResult
    public func pause(at time: RenderTime = .immediately) -> Bool {
        commands.send(Command(action: .pause, number: 0), at: time)
    }

    /// Stops, and drops what has been scheduled up to now.
    @discardableResult
    public func stop(at time: RenderTime = .immediately) -> Bool {
        commands.send(Command(action: .stop, number: newest.load(ordering: .acquiring)), at: time)
    }

    /// Whether it was started, and neither paused nor stopped since. It may have nothing to play.
    public var isPlaying: Bool { shownState.load(ordering: .relaxed) != 0 }

    /// Whether a sound is heard.
    public var isSounding: Bool { shownState.load(ordering: .relaxed) == 2 }

    /// How long after its time a frame is heard, in seconds: what the output says. It counts for
    /// ``ScheduledSound/Stage/played``.
    public var outputLatency: Double {
        get { HostClock.seconds(latency.load(ordering: .relaxed)) }
        set { latency.store(HostClock.nanoseconds(newValue), ordering: .relaxed) }
    }

    // MARK: Lists

    private func changeIsSeen() { control.withLock { $0.openChanges -= 1 } }

    /// A transaction was thrown away.
    private func takeBack(_ ticket: ScheduledSound) {
        control.withLock { control in
            control.openChanges -= 1
            control.tickets.removeAll { $0 === ticket }
            newest.store(control.tickets.last?.number ?? done.load(ordering: .acquiring), ordering: .releasing)
        }
        ticket.cut()
    }

    /// Converts what is scheduled, where the renderer has another rate than it was made for.
    public func prepare(_ preparation: Preparation) {
        let tickets: [ScheduledSound] = control.withLock { control in
            if control.sampleRate == preparation.sampleRate { return [] }
            control.sampleRate = preparation.sampleRate
            return control.tickets
        }
        for ticket in tickets {
            let sound = ticket.sound.at(preparation.sampleRate)
            entries.replace(ticket.number, with: BufferEntry(ticket.number, sound, ticket))
        }
    }
}

extension BufferPlayer: Collectable {
    /// Tells how sounds have ended, and lets go of them.
    package func collect() -> Bool {
        let through = done.load(ordering: .acquiring)
        var (finished, cut, heard): ([ScheduledSound], [ScheduledSound], [ScheduledSound]) = ([], [], [])
        let now = HostClock.now - latency.load(ordering: .relaxed)
        let retire: (() -> Void)? = control.withLock { control in
            for ticket in control.tickets where ticket.number <= through {
                if ticket.end[0] == 0 { cut.append(ticket) } else { finished.append(ticket) }
            }
            control.tickets.removeAll { $0.number <= through }
            control.sounding += finished
            heard = control.sounding.filter { Int64(bitPattern: $0.end[0]) <= now && $0.has(.rendered) }
            control.sounding.removeAll { ticket in heard.contains { $0 === ticket } }
            // Not while a transaction is open: it would be seen before its time.
            guard control.pruned < through, control.openChanges == 0 else { return nil }
            control.pruned = through
            return entries.exchange(
                entries.keys.filter { $0 > through }, whenOldIsReleased: nil, undo: nil,
                make: { key, _ in BufferEntry(gone: key) })
        }
        retire?()
        for ticket in cut { ticket.cut() }
        for ticket in finished { ticket.reach(.consumed) }
        if !finished.isEmpty {
            // Rendered: when the cycle is over that has taken the last frame.
            let rendered = finished
            cycles.set(0) { for ticket in rendered { ticket.reach(.rendered) } }
        }
        for ticket in heard { ticket.reach(.played) }
        return isPlaying || control.withLock { !$0.sounding.isEmpty || $0.pruned < through }
    }
}

/// One scheduling of a sound: tells how far it has come.
///
///     let ending = await player.schedule(announcement).wait()             // heard, or cut off
///     player.schedule(part).when(.consumed) { _ in feedTheNext() }
public final class ScheduledSound: Sendable {
    /// How far a sound has come.
    public enum Stage: Int, Sendable, CaseIterable {
        /// The render thread has taken its last frame.
        case consumed
        /// The cycle with its last frame is over: it is with the output.
        case rendered
        /// Its last frame has been heard, as far as the host clock and ``BufferPlayer/outputLatency`` tell.
        case played
    }

    /// What has become of a sound.
    public enum Ending: Sendable, Hashable {
        /// It was heard to its end.
        case finished
        /// It was stopped or interrupted, or the player is gone. Loops end so.
        case cut
    }

    /// The sound.
    public let sound: Sound
    let number: Int
    let options: BufferPlayer.Options
    let time: RenderTime
    let end = SharedWords()
    private let state = Lock(State())

    private struct State {
        var stage: Stage?
        var wasCut = false
        var waiting: [(stage: Stage, tell: @Sendable (Ending) -> Void)] = []
    }

    init(number: Int, _ sound: Sound, _ options: BufferPlayer.Options, _ time: RenderTime) {
        self.number = number
        self.sound = sound
        self.options = options
        self.time = time
    }

    /// Waits until it has come so far. It tells within some milliseconds; a cancelled task does not wait.
    public func wait(for stage: Stage = .played) async -> Ending {
        let (stream, continuation) = AsyncStream.makeStream(of: Ending.self)
        listen(for: stage) { ending in
            continuation.yield(ending)
            continuation.finish()
        }
        for await ending in stream { return ending }
        return .cut
    }

    /// Has something done when it has come so far, in a task of its own.
    public func when(_ stage: Stage = .played, _ handler: @escaping @Sendable (Ending) async -> Void) {
        listen(for: stage) { ending in Task { await handler(ending) } }
    }

    private func listen(for stage: Stage, _ tell: @escaping @Sendable (Ending) -> Void) {
        let ending: Ending? = state.withLock { state in
            if let reached = state.stage, reached.rawValue >= stage.rawValue { return .finished }
            if state.wasCut { return .cut }
            state.waiting.append((stage, tell))
            return nil
        }
        if let ending { tell(ending) }
    }

    func has(_ stage: Stage) -> Bool { state.withLock { ($0.stage?.rawValue ?? -1) >= stage.rawValue } }

    func reach(_ stage: Stage) {
        let told = state.withLock { state in
            state.stage = stage
            defer { state.waiting.removeAll { $0.stage.rawValue <= stage.rawValue } }
            return state.waiting.filter { $0.stage.rawValue <= stage.rawValue }
        }
        for listener in told { listener.tell(.finished) }
    }

    func cut() {
        let told = state.withLock { state in
            state.wasCut = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for listener in told { listener.tell(.cut) }
    }
}
