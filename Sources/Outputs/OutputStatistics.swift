internal import RenderCore

/// Statistics of an output since it was started.
///
/// Threads: control.
public struct OutputStatistics: Sendable, CustomStringConvertible {
    /// The number of cycles that were rendered.
    public var cycles: Int = 0
    /// The number of cycles that came too late: interruptions of the sound, if there is a listener.
    public var missedDeadlines: Int = 0
    /// The time at which the last of them was noticed, in nanoseconds of ``/Exchange/HostClock``; `nil` if there was none.
    public var lastMissedDeadline: Int64?
    /// The number of mistakes on the render thread that were made harmless: `renderer.events` reports them.
    public var faults: Int = 0
    /// The share of a cycle's time that its rendering took, where 1 is all of it: half of the cycles took less.
    public var loadMedian: Double = 0
    /// The share that 99 of 100 cycles did not reach.
    public var loadP99: Double = 0
    /// The largest share.
    public var loadMaximum: Double = 0
    /// The module that took the longest time in one slice (of those that were timed), and that time in nanoseconds.
    public var slowestModule: (name: String, nanoseconds: Int64)?

    /// A line for a terminal.
    public var description: String {
        func percent(_ load: Double) -> String { "\((load * 1000).rounded() / 10) %" }
        let slowest =
            slowestModule.map { ", slowest module \($0.name.shown) (\(Double($0.nanoseconds / 100) / 10) µs)" } ?? ""
        let faults = self.faults > 0 ? "; \(self.faults) faults, see the renderer's events" : ""
        return "\(cycles) cycles, \(missedDeadlines) missed; load \(percent(loadMedian)) (median), "
            + "\(percent(loadP99)) (p99), \(percent(loadMaximum)) (maximum)\(slowest)\(faults)"
    }
}
