internal import CRender
internal import Dispatch
internal import RenderCore

/// Waits for Ctrl-C, or for a request to end by SIGTERM, in code that is not an output and must end cleanly too.
///
///     let work = Task { try await file.run(for: .seconds(600)) }
///     let watch = Task { if await !Interruption.wait() { work.cancel() } }
///
/// While no task waits, the signals have their usual effect. ``RenderOutput/run(for:)`` waits by itself.
///
/// Threads: control.
public enum Interruption {
    /// Signals belong to the process: the first task that waits takes them, the last gives them back.
    ///
    /// With a handler of our own: a signal that is ignored for the sake of a dispatch source is lost until that source
    /// listens, some time later on another thread.
    private struct Waiting {
        var next = 0
        var continuations: [Int: AsyncStream<Bool>.Continuation] = [:]
        var source: (any DispatchSourceRead)?
        /// The host time at which the last request came.
        var lastRequest: Int64?

        mutating func takeSignals() {
            guard source == nil else { return }
            let descriptor = crender_catch_interruptions()
            guard descriptor >= 0 else { return }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
            source.setEventHandler {
                guard crender_take_interruption() else { return }
                let time = crender_last_interruption()
                let told: [AsyncStream<Bool>.Continuation] = Interruption.waiting.withLock { waiting in
                    if waiting.isWithinRequest(time) { return [] }
                    waiting.lastRequest = time
                    return Array(waiting.continuations.values)
                }
                for continuation in told { continuation.yield(false) }
            }
            source.resume()
            self.source = source
        }

        /// Indicates whether a signal of that host time is part of the last request.
        func isWithinRequest(_ time: Int64) -> Bool {
            lastRequest.map { time - $0 < Interruption.requestLength } ?? false
        }

        /// Gives the signals back, unless a task waits; not before the last request is over.
        mutating func giveBackSignals() {
            guard continuations.isEmpty, let source else { return }
            if isWithinRequest(HostClock.now) {
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) {
                    Interruption.waiting.withLock { $0.giveBackSignals() }
                }
                return
            }
            source.cancel()
            crender_release_interruptions()
            self.source = nil
        }
    }
    private static let waiting = Lock(Waiting())

    /// Nanoseconds in which several signals are one request. A terminal sends Ctrl-C to a whole group of processes, and
    /// one of them may pass it on to another: that gets it twice, and must not die of the second.
    static let requestLength: Int64 = 250_000_000

    /// Waits for SIGINT or SIGTERM, or for a time. Signals within a quarter of a second are one request; a later one while
    /// the program ends has its usual effect.
    ///
    /// - Parameter duration: The longest time to wait; `nil` for as long as it takes.
    /// - Returns: `true` if the time was over; `false` for a signal, or if the task was cancelled.
    public static func wait(atMost duration: Duration? = nil) async -> Bool {
        let (results, continuation) = AsyncStream.makeStream(of: Bool.self)
        let number = waiting.withLock { waiting in
            if waiting.continuations.isEmpty { waiting.takeSignals() }
            waiting.next += 1
            waiting.continuations[waiting.next] = continuation
            return waiting.next
        }
        defer {
            waiting.withLock { waiting in
                waiting.continuations[number] = nil
                waiting.giveBackSignals()
            }
        }
        let timer = Task {
            guard let duration else { return }
            // The clock ends the program beyond some centuries.
            try await Task.sleep(for: .nanoseconds(min(duration.inNanoseconds, .max / 4)))
            continuation.yield(true)
        }
        defer { timer.cancel() }
        for await isOver in results { return isOver }
        return false
    }
}
