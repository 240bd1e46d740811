public import AudioFiles
package import DiskStreaming
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

    /// The content of an entry: a sound, or a segment of a file.
    struct Content: Sendable {
        let sound: Sound?
        let file: StreamFile?
        let frames: Range<Int64>
    }

    /// The state of control code. Under its lock.
    struct Control {
        /// The renderer's rate, when it is known.
        var sampleRate: Double?
        /// The sounds that are scheduled and not over, in order.
        var tickets: [ScheduledSound] = []
        /// The sounds that are over, in order, of which not all are heard yet.
        var sounding: [(ticket: ScheduledSound, ending: ScheduledSound.Ending)] = []
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
        /// The missing frames that have been reported.
        var missingTold = 0
    }

    // MARK: Scheduling

    /// Schedules a sound, behind the scheduled ones if no option says otherwise.
    ///
    /// - Parameters:
    ///   - sound: The sound.
    ///   - options: The ways in which it is scheduled.
    ///   - time: Not before; by default as soon as it is its turn.
    ///   - gain: An amplitude factor, 0…16; a number outside becomes the nearest one, with a notice on standard error.
    /// - Returns: The scheduled sound, which says how it has ended.
    @discardableResult
    public func schedule(
        _ sound: Sound, _ options: Options = [], at time: RenderTime = .immediately, gain: Float = 1
    ) -> ScheduledSound {
        schedule(Content(sound: sound, file: nil, frames: 0..<Int64(sound.frameCount)), options, at: time, gain: gain)
    }

    /// Schedules a file, or a segment of it, behind the scheduled sounds if no option says otherwise. It is streamed from the
    /// disk when its turn comes.
    ///
    /// It waits for the disk, to find out the properties of the file, and if few sounds are scheduled, to read its first frames.
    /// Of a file that goes away until its turn comes the ``ScheduledSound`` tells an error.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - frames: The segment, in frames of the file; frames outside of the file are left out. By default all of it.
    ///   - options: The ways in which it is scheduled.
    ///   - time: Not before; by default as soon as it is its turn.
    ///   - gain: An amplitude factor, 0…16; a number outside becomes the nearest one, with a notice on standard error.
    /// - Returns: The scheduled file, which says how it has ended.
    /// - Throws: An error if the file cannot be played.
    @discardableResult
    public func schedule(
        path: String, frames: Range<Int64>? = nil, _ options: Options = [], at time: RenderTime = .immediately,
        gain: Float = 1
    ) throws(AudioFileError) -> ScheduledSound {
        schedule(try StreamFile(path: path, staysOpen: false), frames: frames, options, at: time, gain: gain)
    }

    /// Schedules anything that can be streamed.
    @discardableResult
    package func schedule(
        _ file: StreamFile, frames: Range<Int64>? = nil, _ options: Options = [],
        at time: RenderTime = .immediately, gain: Float = 1
    ) -> ScheduledSound {
        let all = 0..<max(0, file.frameCount)
        let frames = (frames ?? all).clamped(to: all)
        beginStreaming()
        return schedule(Content(sound: nil, file: file, frames: frames), options, at: time, gain: gain)
    }

    private func schedule(
        _ content: Content, _ options: Options, at time: RenderTime, gain: Float
    ) -> ScheduledSound {
        let gain = nearest(
            to: gain, in: 0...16, insteadOfNaN: 1, "BufferPlayer: a sound with a gain of \(gain); it must be 0…16")
        let (rate, stretch) = control.withLock { ($0.sampleRate, $0.stretching.stretch) }
        if let rate, let sound = content.sound { _ = sound.at(rate) }  // takes long: not under the lock
        let isNear = newest.load(ordering: .relaxed) - done.load(ordering: .relaxed) < BufferPlayer.most
        let stream = isNear ? rate.flatMap { makeStream(content, options, number: nil, at: $0, stretch) } : nil
        if stream == nil && !isNear { content.file?.close() }
        let ticket = control.withLock { control in
            control.lastNumber += 1
            let number = control.lastNumber
            let ticket = ScheduledSound(number: number, content, options, time, gain: gain, handlers)
            control.tickets.append(ticket)
            if let stream, control.sampleRate == rate && control.stretching.stretch == stretch {
                control.keep(stream, of: number)
                ticket.lead(to: stream)
            }
            entries.append(number, BufferEntry(ticket, at: control.sampleRate)) {
                $0 > done.load(ordering: .acquiring)
            }
            stage(&control) { [weak self] control in
                control.tickets.removeAll { $0 === ticket }
                control.streams[ticket.number] = nil
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
        if stream == nil && isNear { provide() }
        Collector.shared.add(self)
        return ticket
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
        for ticket in dropped {
            ticket.cut()
            hub.send(.ended(ticket, .cut))
        }
    }

    /// Indicates whether the player plays: whether a sound is heard. A player that rests, waits for a time, or has nothing to
    /// play, does not.
    public var isPlaying: Bool { playhead.load().phase == .playing }

    /// Indicates whether the player rests in the middle of a sound.
    public var isPaused: Bool { playhead.load().phase == .paused }

    /// The sound that is heard, or in which the player rests; `nil` if there is none.
    public var currentSound: ScheduledSound? {
        let number = playhead.load().item
        return number == 0 ? nil : control.withLock { $0.tickets.first { $0.number == number } }
    }

    /// The frame of the current sound or file that is heard now, reckoned from the last cycle by the clock; offline and at rest
    /// the next one. 0 if nothing plays.
    public var currentFrame: Int64 { position.frame }

    /// The position in the current sound or file, in seconds: ``currentFrame`` as a time. In a segment it is that in the file.
    public var currentTime: Double { position.time }

    private var position: (frame: Int64, time: Double) {
        let now = playhead.load()
        let ticket = now.item == 0 ? nil : control.withLock { $0.tickets.first { $0.number == now.item } }
        guard now.phase != .idle, let ticket else { return (0, 0) }
        let time = max(now.hostTime.subtractingSaturated(now.sliceLength), min(HostClock.now, now.hostTime))
        let frame = now.position(at: now.sliceLength == 0 ? now.hostTime : time)
        // A sound in memory has been converted to the renderer's rate.
        guard let sound = ticket.sound else { return (frame, Double(frame) / ticket.sampleRate) }
        let seconds = Double(frame) / now.sampleRate
        return (min(Int64(sound.frameCount), Int64(saturating: seconds * sound.sampleRate)), seconds)
    }

    /// The events from now on.
    public var events: AsyncStream<BufferPlayerEvent> {
        let stream = hub.subscribe()
        Collector.shared.add(self)
        return stream
    }

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
            // Under the lock, so that no stream of the new rate is put away.
            for ticket in control.tickets { ticket.lead(to: nil) }
            return control.tickets.apart
        }
        if tickets.isEmpty { return }
        let byNumber = Dictionary(uniqueKeysWithValues: tickets.map { ($0.number, $0) })
        entries.replaceEach { number in byNumber[number].map { BufferEntry($0, at: preparation.sampleRate) } }
        provide()
    }
}

extension BufferPlayer: Collectable {
    /// Reports what has happened to the sounds, and releases those that have ended.
    package func collect() -> Bool {
        let through = done.load(ordering: .acquiring)
        let current = playhead.load().item
        let now = HostClock.now.subtractingSaturated(outputDelay.load(ordering: .relaxed))
        var (news, over, heard): ([BufferPlayerEvent], [(ScheduledSound, ScheduledSound.Ending)], [ScheduledSound]) = (
            [], [], []
        )
        control.withLock { control in
            for ticket in control.tickets.prefix(while: { $0.number <= max(through, current) }) {
                let (began, rounds) = ticket.takeNews()
                if let began { news.append(.began(ticket, began)) }
                if rounds > 0 { news.append(.looped(ticket, count: rounds)) }
                if ticket.number > through { continue }
                let failure = control.streams.removeValue(forKey: ticket.number)?.takeFailure()
                let ending: ScheduledSound.Ending =
                    ticket.notes[ScheduledSound.Note.end] == 0 ? .cut : failure.map { .failed($0) } ?? .finished
                over.append((ticket, ending))
                news.append(.ended(ticket, ending))
                // Its stream goes, also if someone keeps the ticket.
                OpenTransaction.suspended { ticket.lead(to: nil) }
            }
            control.tickets.removeFirst(control.tickets.prefix { $0.number <= through }.count)
            control.sounding += over.map { ($0, $1) }
            // In order: a sound that was cut comes behind those before it.
            heard = control.sounding.prefix {
                Int64(bitPattern: $0.ticket.notes[ScheduledSound.Note.end]) <= now && $0.ticket.has(.rendered)
            }.map(\.ticket)
            control.sounding.removeFirst(heard.count)
            let missing = missing.load(ordering: .relaxed)
            if missing > control.missingTold { news.append(.underrun(frames: missing - control.missingTold)) }
            control.missingTold = missing
            // This is not done while a transaction is open: it would be seen before its time.
            guard control.pruned < through, control.staged == 0 else { return }
            control.pruned = through
            entries.keep { $0 > through }
        }
        for event in news { hub.send(event) }
        if !over.isEmpty || !heard.isEmpty {
            // Code that waits for a sound is the user's, and runs without the lock.
            let (ended, heard) = (over, heard)
            if !ended.isEmpty {
                Collector.shared.runErrand { for (ticket, ending) in ended { ticket.reach(.consumed, ending) } }
                // Rendered: when the cycle is over that has taken the last frame.
                OpenTransaction.afterCycles { for (ticket, ending) in ended { ticket.reach(.rendered, ending) } }
            }
            if !heard.isEmpty {
                Collector.shared.runErrand { for ticket in heard { ticket.reach(.played, .finished) } }
            }
        }
        return isStarted.load(ordering: .relaxed)
            || control.withLock { !$0.sounding.isEmpty || $0.pruned < through }
    }
}
