public import RenderCore

/// A driver of a renderer: the clock here, sound servers and cards in other targets.
///
/// Threads: control.
public protocol RenderOutput: EventSource<OutputEvent>, AnyObject {
    /// Begins to render. Does nothing if it is running.
    func start() throws
    /// Ends after the cycle that is being rendered. Does nothing if it is not running.
    func stop()
    /// The state of the output.
    var state: OutputState { get }
    /// The statistics since the output was started.
    var statistics: OutputStatistics { get }
    /// The frames of the renderer after which the sound of a cycle is heard, as `OutputEvent.latencyChanged` tells them: what is behind
    /// the output, without the modules of the render loop (`Renderer.latency`).
    var playbackLatency: Int { get }
    /// The age in frames of the renderer of the sound that comes into a cycle: what is before the output.
    var captureLatency: Int { get }
    /// Indicates whether host times are those at which a frame is heard, and was captured; else they are those at which its cycle began.
    /// A change counts from the next cycle on, whose host time jumps by the latency; the sound goes on as it is.
    var compensatesLatency: Bool { get set }
}

extension RenderOutput {
    /// The frames of the renderer after which the sound of a cycle is heard, as `OutputEvent.latencyChanged` tells them: what is behind
    /// the output, without the modules of the render loop (`Renderer.latency`). It is 0 before the first start, and where the output
    /// knows none.
    public var playbackLatency: Int { (self as? any CoredOutput)?.core.latency.playback ?? 0 }

    /// The age in frames of the renderer of the sound that comes into a cycle: what is before the output. It is 0 before the first
    /// start, without inputs, and where the output knows none.
    public var captureLatency: Int { (self as? any CoredOutput)?.core.latency.capture ?? 0 }

    /// Indicates whether host times are those at which a frame is heard, and was captured; else they are those at which its cycle began.
    /// A change counts from the next cycle on, whose host time jumps by the latency; the sound goes on as it is. For an output that
    /// knows no latency both are the same.
    public var compensatesLatency: Bool {
        get { (self as? any CoredOutput)?.core.latency.isCompensated ?? true }
        set { (self as? any CoredOutput)?.core.latency.isCompensated = newValue }
    }
}

/// The state of an output.
///
/// Threads: any.
public enum OutputState: Sendable, Hashable {
    /// The output does not render.
    case stopped
    /// The output renders.
    case running
    /// The output was started, but the server or device is gone: it goes on when that comes back.
    case waiting
}

/// An event that an output reports.
///
/// Threads: control.
public enum OutputEvent: Sendable, Hashable, CustomStringConvertible {
    /// The output goes on, but not as well as it could: the sentence says why and what to do.
    case notice(String)
    /// Cycles came too late: their number since the last event. The first comes at once, and those that follow within a
    /// second as one event.
    case missedDeadlines(count: Int)
    /// The sound was interrupted: the number of times since the last event, and the time of the last, in nanoseconds of
    /// ``/Exchange/HostClock``. The first comes at once, and those that follow within a second as one event. If a cycle of the program
    /// itself took more than its time, and not another program, a ``OutputEvent/notice(_:)`` says so.
    case xruns(count: Int, hostTime: Int64)
    /// The sound stood still for that many frames, until a host time in nanoseconds of ``/Exchange/HostClock``. Rendering goes on
    /// where it was.
    case gap(frames: Int64, hostTime: Int64)
    /// The server gave the output another name than it asked for, because that one was taken.
    case renamed(String)
    /// A cycle has another length now.
    case bufferSizeChanged(frames: Int)
    /// The sample rate is another one now; the renderer has been configured for it.
    case sampleRateChanged(Double)
    /// The sound is heard later by that many frames than it is rendered, and the input is older by that many: both count
    /// the latencies behind and before the output.
    case latencyChanged(playback: Int, capture: Int)
    /// The server or device is gone: the sentence says what happened, and what happens next.
    case lost(String)
    /// The server or device is back, and rendering goes on.
    case regained
    /// The output has stopped although a cycle has not ended: the sentence says where the render loop is. Its thread stays
    /// there.
    case abandoned(String)
    /// The desktop, or the program, has set another volume: a factor, of which 1 is unchanged.
    case volumeChanged(volume: Double, isMuted: Bool)
    /// The sound goes to another device now, because the default one has changed, or somebody has moved it there.
    case moved(to: String)
    /// There is a new device, which an output could play on or record from: its name.
    case deviceCame(String)
    /// A device is gone: its name.
    case deviceGone(String)
    /// Rendering without a clock has begun (`true`), as fast as the machine can, or has ended.
    case freewheel(Bool)

    /// The event in one sentence.
    public var description: String {
        switch self {
        case .notice(let sentence): sentence
        case .missedDeadlines(let count): "\(count) \(count == 1 ? "cycle" : "cycles") came too late."
        case .xruns(let count, _): "The sound was interrupted \(count == 1 ? "once" : "\(count) times")."
        case .gap(let frames, _): "The sound stood still for \(frames) frames."
        case .renamed(let name): "Another program has that name: this one is called \"\(name)\" now."
        case .bufferSizeChanged(let frames): "A cycle has \(frames) frames now."
        case .sampleRateChanged(let rate): "The sample rate is \(rate) Hz now."
        case .latencyChanged(let playback, let capture):
            "The latency has changed: the output is now heard after \(playback) frames, and the input is "
                + "\(capture) frames old."
        case .lost(let sentence): sentence
        case .abandoned(let sentence): sentence
        case .regained: "The sound server or device is back, and rendering goes on."
        case .volumeChanged(let volume, let isMuted):
            isMuted ? "The program is mute now." : "The volume is \(Float(volume)) now."
        case .moved(let device): "The sound goes to \(device) now."
        case .deviceCame(let device): "There is a new device: \(device)."
        case .deviceGone(let device): "The device \(device) is gone."
        case .freewheel(let isOn): isOn ? "Rendering goes on without a clock." : "Rendering follows the clock again."
        }
    }
}

/// An output of this package, which all have a core.
package protocol CoredOutput: RenderOutput {
    var core: OutputCore { get }
}

extension RenderOutput {
    /// Runs for a time, or until the program is asked to end (Ctrl-C, SIGTERM), and stops.
    ///
    /// - Parameter duration: The duration; `nil` for until the program is asked to end.
    /// - Returns: `true` if the time was over; `false` if the program was asked to end, or has stopped the output.
    /// - Throws: The errors of ``start()``; ``/RenderCore/OutputError`` if the output stops by itself, because its server or device
    ///   is lost and it is not to wait for it, and if the render loop does not end.
    @discardableResult
    public func run(for duration: Duration? = nil) async throws -> Bool {
        let events = events
        try start()
        defer { stop() }
        let ends = AsyncStream.makeStream(of: OutputEnd.self)
        let wait = Task { _ = ends.continuation.yield(.waited(isOver: await Interruption.wait(atMost: duration))) }
        let listen = Task {
            var abandoned: String?
            for await event in events {
                if case .lost(let why) = event { ends.continuation.yield(.lost(why)) }
                if case .abandoned(let why) = event { abandoned = why }
            }
            return abandoned
        }
        let look = Task {
            while (try? await Task.sleep(for: .milliseconds(100))) != nil { ends.continuation.yield(.look) }
        }
        defer {
            for task in [wait, look] { task.cancel() }
            listen.cancel()
        }
        let isOver = try await withTaskCancellationHandler {
            var looks = 0
            /// The reason of a loss that the output has reported while it still runs, and the looks since then: a
            /// user's output may report it before it stops.
            var farewell: (why: String, looks: Int)?
            for await end in ends.stream {
                switch end {
                case .waited(let isOver): return isOver
                case .lost(let why):
                    if state == .stopped { throw OutputError(why) }
                    if state == .running { farewell = (why, 0) }
                case .look:
                    // The event comes behind the state: only a second look may take it for the program's own wish.
                    looks = state == .stopped ? looks + 1 : 0
                    if looks > 0, let farewell { throw OutputError(farewell.why) }
                    farewell?.looks += 1
                    if farewell?.looks ?? 0 > 20 { farewell = nil }
                    if looks > 2 { return false }
                }
            }
            return false
        } onCancel: {
            wait.cancel()
        }
        stop()
        // It still gets what was sent before.
        listen.cancel()
        if let why = await listen.value { throw OutputError(why) }
        return isOver
    }
}

/// The reason why ``RenderOutput/run(for:)`` may return.
private enum OutputEnd: Sendable {
    case waited(isOver: Bool)
    case lost(String)
    case look
}
