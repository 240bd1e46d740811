/// Something that drives a renderer: the clock here, sound servers and cards in other targets.
public protocol RenderOutput: EventSource<OutputEvent>, AnyObject {
    /// Begins to render. Does nothing if it is running.
    func start() throws
    /// Ends after the cycle that is being rendered. Does nothing if it is not running.
    func stop()
    /// What it is doing.
    var state: OutputState { get }
    /// How it has been doing since it was started.
    var statistics: OutputStatistics { get }
}

/// What an output is doing.
public enum OutputState: Sendable, Hashable {
    /// Not rendering.
    case stopped
    /// Rendering.
    case running
    /// Started, but the server or device is gone: it goes on when that comes back.
    case waiting
}

/// What an output tells.
public enum OutputEvent: Sendable, Hashable, CustomStringConvertible {
    /// It goes on, but not as well as it could: the sentence says why and what to do.
    case notice(String)
    /// Cycles came too late: how many since the last event.
    case missedDeadlines(count: Int)
    /// The sound was interrupted: how often since the last event, and when last, in nanoseconds of ``HostClock``.
    case xruns(count: Int, hostTime: Int64)
    /// The sound stood still for so many frames, until a host time in nanoseconds of ``HostClock``. What is rendered goes on
    /// where it was.
    case gap(frames: Int64, hostTime: Int64)
    /// The server gave it another name than was asked for, because that one was taken.
    case renamed(String)
    /// A cycle has another length now.
    case bufferSizeChanged(frames: Int)
    /// The sample rate is another one now; the renderer has been configured for it.
    case sampleRateChanged(Double)
    /// The server or device is gone: the sentence says what happened, and what happens next.
    case lost(String)
    /// It is back, and rendering goes on.
    case regained
    /// Rendering without a clock has begun (`true`), as fast as it goes, or has ended.
    case freewheel(Bool)

    /// One sentence.
    public var description: String {
        switch self {
        case .notice(let sentence): sentence
        case .missedDeadlines(let count): "\(count) \(count == 1 ? "cycle" : "cycles") came too late."
        case .xruns(let count, _): "The sound was interrupted \(count == 1 ? "once" : "\(count) times")."
        case .gap(let frames, _): "The sound stood still for \(frames) frames."
        case .renamed(let name): "The name was taken: this is \"\(name)\" now."
        case .bufferSizeChanged(let frames): "A cycle has \(frames) frames now."
        case .sampleRateChanged(let rate): "The sample rate is \(rate) Hz now."
        case .lost(let sentence): sentence
        case .regained: "The sound server or device is back, and rendering goes on."
        case .freewheel(let isOn): isOn ? "Rendering goes on without a clock." : "Rendering follows the clock again."
        }
    }
}

extension RenderOutput {
    /// Runs for a time, or until the program is asked to end (Ctrl-C, SIGTERM), and stops.
    ///
    /// - Parameter duration: how long; `nil` for until asked.
    /// - Returns: whether the time was over; `false` if the program was asked to end.
    @discardableResult
    public func run(for duration: Duration? = nil) async throws -> Bool {
        try start()
        defer { stop() }
        return await Interruption.wait(atMost: duration)
    }
}
