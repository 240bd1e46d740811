public import AudioFiles
internal import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

extension BufferPlayer {
    /// The ways in which a sound is scheduled.
    ///
    /// Threads: control.
    public struct Options: OptionSet, Sendable {
        /// Its bits.
        public let rawValue: Int
        /// Options with these bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// It is heard over and over, until it is interrupted or stopped.
        public static let loops = Options(rawValue: 1)
        /// It does not wait for its turn: the playing sound is cut off at its time, and sounds that were scheduled
        /// before it are dropped.
        public static let interrupts = Options(rawValue: 2)
        /// It does not wait for its turn, but the playing sound is heard to its end; a loop to the end of the present
        /// round.
        public static let interruptsAtLoop = Options(rawValue: 4)
    }

    /// The state of control code. Under its lock.
    struct Control {
        /// The renderer's rate, when it is known.
        var sampleRate: Double?
        /// The sounds that are scheduled and not over, in order.
        var tickets: [ScheduledSound] = []
        /// The sounds that have been rendered and are still to be heard.
        var sounding: [ScheduledSound] = []
        /// The number up to which the list has been emptied.
        var pruned = 0
        /// The last number that was given.
        var lastNumber = 0
        var stretching = WantedStretch()
        /// Changes in transactions that have neither been shown nor called off.
        var staged = 0
        /// The newest stream of each sound that has one, and all that may still be heard.
        var streams: [Int: DiskStream] = [:]
        var allStreams: [DiskStream] = []
    }

    // MARK: Scheduling

    /// Schedules a sound, behind the scheduled ones if no option says otherwise.
    ///
    /// - Parameters:
    ///   - sound: The sound.
    ///   - options: The ways in which it is scheduled.
    ///   - time: Not before; by default as soon as it is its turn.
    /// - Returns: The scheduled sound, which says how it has ended.
    @discardableResult
    public func schedule(
        _ sound: Sound, _ options: Options = [], at time: RenderTime = .immediately
    ) -> ScheduledSound {
        let (rate, stretch) = control.withLock { ($0.sampleRate, $0.wantedStretch) }
        _ = rate.map(sound.at)  // takes long: not under the lock
        let stream = rate.flatMap { rate in stretch.flatMap { firstStream(of: sound, options, at: rate, $0) } }
        let ticket = control.withLock { control in
            control.lastNumber += 1
            let number = control.lastNumber
            let ticket = ScheduledSound(number: number, sound, options, time)
            control.tickets.append(ticket)
            let converted = control.sampleRate.map(sound.at) ?? sound
            let first = control.sampleRate == rate && control.wantedStretch == stretch ? stream : nil
            control.keep(first, of: number)
            entries.append(number, BufferEntry(number, converted, ticket, first)) {
                $0 > done.load(ordering: .acquiring)
            }
            stage(&control) { [weak self] control in
                control.tickets.removeAll { $0 === ticket }
                guard let self else { return }
                newest.store(control.tickets.last?.number ?? done.load(ordering: .acquiring), ordering: .releasing)
                Collector.shared.runErrand { ticket.cut() }
            }
            if !options.isDisjoint(with: [.interrupts, .interruptsAtLoop]) {
                newestInterruption.store(number, ordering: .relaxed)
            }
            newest.store(number, ordering: .releasing)
            return ticket
        }
        provide()
        Collector.shared.add(self)
        return ticket
    }

    /// Reads a segment of a file, and schedules it. It waits for the disk.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - frames: The segment, in frames of the file; by default all of it. It is kept in memory.
    ///   - options: The ways in which it is scheduled.
    ///   - time: Not before.
    /// - Throws: An error if the file cannot be read.
    @discardableResult
    public func schedule(
        path: String, frames: Range<Int64>? = nil, _ options: Options = [], at time: RenderTime = .immediately
    ) throws(AudioFileError) -> ScheduledSound {
        schedule(try Sound(path: path, frames: frames), options, at: time)
    }

    /// The number of sounds that are scheduled and not over; the one that plays is counted.
    public var scheduledCount: Int {
        let done = done.load(ordering: .acquiring)
        return control.withLock { control in control.tickets.count { $0.number > done } }
    }

    // MARK: Play and stop

    /// Plays the scheduled sounds, or goes on after a pause.
    ///
    /// - Returns: `false` if 64 commands wait for their time; then it was not taken.
    @discardableResult
    public func play(at time: RenderTime = .immediately) -> Bool {
        commands.send(Command(action: .play, number: 0), at: time)
    }

    /// Rests on the present frame.
    @discardableResult
    public func pause(at time: RenderTime = .immediately) -> Bool {
        commands.send(Command(action: .pause, number: 0), at: time)
    }

    /// Stops, and drops the sounds that have been scheduled up to now.
    @discardableResult
    public func stop(at time: RenderTime = .immediately) -> Bool {
        let number = newest.load(ordering: .acquiring)
        guard commands.send(Command(action: .stop, number: number), at: time) else { return false }
        if time == .immediately && !OpenTransaction.exists { cutUnrendered(upTo: number) }
        return true
    }

    /// Ends sounds that no renderer has seen yet, because none may ever come that would drop them.
    private func cutUnrendered(upTo number: Int) {
        let dropped: [ScheduledSound] = control.withLock { control in
            guard control.sampleRate == nil else { return [] }
            defer { control.tickets.removeAll { $0.number <= number } }
            return control.tickets.filter { $0.number <= number }
        }
        for ticket in dropped { ticket.cut() }
    }

    /// Indicates whether the player was started, and neither paused nor stopped since. It may have nothing to play.
    public var isPlaying: Bool { shownState.load(ordering: .relaxed) != 0 }

    /// Indicates whether a sound is heard.
    public var isSounding: Bool { shownState.load(ordering: .relaxed) == 2 }

    /// The delay with which a frame is heard after its time, in seconds, as the output reports it: `playbackLatency` of an output whose
    /// host times do not count it, divided by the sample rate. It counts for
    /// ``ScheduledSound/Stage/played``.
    public var outputLatency: Double {
        get { HostClock.seconds(outputDelay.load(ordering: .relaxed)) }
        set { outputDelay.store(HostClock.nanoseconds(newValue), ordering: .relaxed) }
    }

    // MARK: Lists

    /// Counts a change, if it is made in a transaction, until that is applied.
    ///
    /// - Parameter undo: Takes the change back if the transaction throws or is called off.
    func stage(_ control: inout Control, undo: @escaping @Sendable (inout Control) -> Void) {
        guard OpenTransaction.exists else { return }
        control.staged += 1
        OpenTransaction.afterCycles(
            { [weak self] in self?.control.withLock { $0.staged -= 1 } },
            ifCalledOff: { [weak self] in
                self?.control.withLock { control in
                    control.staged -= 1
                    undo(&control)
                }
            })
    }

    /// Converts the scheduled sounds, if the renderer has another rate than they were made for.
    public func prepare(_ preparation: Preparation) {
        let tickets: [ScheduledSound] = control.withLock { control in
            if control.sampleRate == preparation.sampleRate { return [] }
            control.sampleRate = preparation.sampleRate
            control.streams = [:]
            return control.tickets.apart
        }
        let byNumber = Dictionary(uniqueKeysWithValues: tickets.map { ($0.number, $0) })
        entries.replaceEach { number in
            guard let ticket = byNumber[number] else { return nil }
            return BufferEntry(number, ticket.sound.at(preparation.sampleRate), ticket)
        }
        provide()
    }
}

extension BufferPlayer: Collectable {
    /// Reports how sounds have ended, and releases them.
    package func collect() -> Bool {
        let through = done.load(ordering: .acquiring)
        var (finished, cut, heard): ([ScheduledSound], [ScheduledSound], [ScheduledSound]) = ([], [], [])
        let now = HostClock.now.subtractingSaturated(outputDelay.load(ordering: .relaxed))
        control.withLock { control in
            for ticket in control.tickets where ticket.number <= through {
                if ticket.end[0] == 0 { cut.append(ticket) } else { finished.append(ticket) }
            }
            control.tickets.removeAll { $0.number <= through }
            control.sounding += finished
            heard = control.sounding.filter { Int64(bitPattern: $0.end[0]) <= now && $0.has(.rendered) }
            control.sounding.removeAll { ticket in heard.contains { $0 === ticket } }
            // This is not done while a transaction is open: it would be seen before its time.
            guard control.pruned < through, control.staged == 0 else { return }
            control.pruned = through
            entries.keep { $0 > through }
        }
        if !cut.isEmpty || !finished.isEmpty || !heard.isEmpty {
            // Code that waits for a sound is the user's, and runs without the lock.
            let (cut, finished, heard) = (cut, finished, heard)
            Collector.shared.runErrand {
                for ticket in cut { ticket.cut() }
                for ticket in finished { ticket.reach(.consumed) }
            }
            // Rendered: when the cycle is over that has taken the last frame.
            if !finished.isEmpty { OpenTransaction.afterCycles { for ticket in finished { ticket.reach(.rendered) } } }
            Collector.shared.runErrand { for ticket in heard { ticket.reach(.played) } }
        }
        return isPlaying || control.withLock { !$0.sounding.isEmpty || $0.pruned < through }
    }
}
