internal import RenderCore

/// Interruptions of the sound that an output has yet to report. It reports the first at once, and those that follow within a
/// second as one sum.
package struct MissedDeadlines: Sendable {
    /// The number of interruptions that have not been reported.
    private var count = 0
    /// The frames of the gaps among them, and the end of the last.
    private var gap: (frames: Int64, hostTime: Int64)?
    /// The longest of the output's own cycles that came too late, and the time at which that was noticed.
    private var overrun: (cycle: LoadHistogram.Overrun, time: Int64)?
    /// The time of the last report, of the last interruption, and of the last report of an overrun.
    private var (told, interrupted, toldOverrun): (Int64?, Int64?, Int64?)

    /// Nanoseconds between two reports; also between a cycle that came too late and the interruption that it may have caused.
    private static let interval: Int64 = 1_000_000_000

    package init() {}

    /// What is to be reported.
    package struct Report: Sendable {
        /// The number of interruptions.
        package var count = 0
        /// The frames in which the sound stood still, and the end of the last gap.
        package var gap: (frames: Int64, hostTime: Int64)?
        /// The cycle of the program itself that may have caused them.
        package var overrun: LoadHistogram.Overrun?
    }

    /// Notes interruptions.
    package mutating func add(_ more: Int, at now: Int64) {
        guard more > 0 else { return }
        count &+= more
        interrupted = now
    }

    /// Notes a gap.
    package mutating func add(gap more: (frames: Int64, hostTime: Int64), at now: Int64) {
        gap = ((gap?.frames ?? 0).addingSaturated(more.frames), more.hostTime)
        interrupted = now
    }

    /// Notes a cycle of the program's own that has taken longer than it may.
    package mutating func add(_ cycle: LoadHistogram.Overrun, at now: Int64) {
        if let overrun, now - overrun.time < Self.interval, overrun.cycle.nanoseconds > cycle.nanoseconds { return }
        overrun = (cycle, now)
    }

    /// Takes what is to be reported now.
    ///
    /// - Parameter isLast: `true` if there is no later time.
    package mutating func take(at now: Int64, isLast: Bool = false) -> Report? {
        func isOver(_ time: Int64?) -> Bool { time.map { now - $0 >= Self.interval } ?? true }
        var report = Report()
        if count > 0 || gap != nil, isLast || isOver(told) {
            (report.count, report.gap) = (count, gap)
            (count, gap) = (0, nil)
            told = now
        }
        // Which of the two comes first is the server's affair.
        if let overrun, !isOver(overrun.time), !isOver(interrupted), isLast || isOver(toldOverrun) {
            report.overrun = overrun.cycle
            self.overrun = nil
            toldOverrun = now
        }
        return report.count > 0 || report.gap != nil || report.overrun != nil ? report : nil
    }
}

/// Reports the interruptions of an output to its listeners: see ``MissedDeadlines``.
package final class MissedDeadlineTeller: Sendable {
    private let renderer: Renderer
    private let hub: EventHub<OutputEvent>
    private let load: LoadHistogram
    private let state = Lock(MissedDeadlines())
    /// What the first report of a cycle of the program's own says besides.
    private let hint = Lock(MissedDeadlineTeller.hint)

    /// A debug build is what is late, and not the loop: somebody who does not know that looks for the reason in it.
    static var hint: String {
        #if DEBUG
            " This is a debug build, which is many times slower: judge a release build, by `swift run -c release`."
        #else
            ""
        #endif
    }

    init(_ renderer: Renderer, _ hub: EventHub<OutputEvent>, _ load: LoadHistogram) {
        self.renderer = renderer
        self.hub = hub
        self.load = load
    }

    /// Begins anew, with nothing to report.
    func begin() { state.withLock { $0 = MissedDeadlines() } }

    /// Notes what is new, and reports what it is time for.
    ///
    /// - Parameters:
    ///   - count: The number of new interruptions.
    ///   - gap: The frames of new gaps, and the end of the last.
    ///   - isLast: `true` if there is no later time.
    ///   - event: The event for a number of interruptions.
    package func tell(
        _ count: Int = 0, gap: (frames: Int64, hostTime: Int64)? = nil, isLast: Bool = false,
        _ event: (Int) -> OutputEvent
    ) {
        let now = HostClock.now
        let report: MissedDeadlines.Report? = state.withLock { state in
            state.add(count, at: now)
            if let gap { state.add(gap: gap, at: now) }
            if let overrun = load.takeOverrun() { state.add(overrun, at: now) }
            return state.take(at: now, isLast: isLast)
        }
        guard let report else { return }
        if report.count > 0 { hub.send(event(report.count)) }
        if let gap = report.gap { hub.send(.gap(frames: gap.frames, hostTime: gap.hostTime)) }
        guard let overrun = report.overrun else { return }
        let slowest = renderer.moduleTimes.max { $0.nanoseconds < $1.nanoseconds }
        let hint = hint.withLock { hint in
            defer { hint = "" }
            return hint
        }
        hub.send(.notice(overrun.sentence(slowest: slowest) + hint))
    }
}
