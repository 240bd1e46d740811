/// How late the sound is behind and before an output, as its listeners know it: a change is told once it has stayed for a time, because
/// links come one by one.
package struct LatencyNews {
    private typealias Latency = (playback: Int, capture: Int)
    private let tolerance: Int
    private var told: Latency?
    private var new: Latency = (0, 0)
    private var since: Int64 = 0

    /// - Parameter tolerance: The frames by which a latency may waver.
    package init(tolerance: Int = 0) { self.tolerance = tolerance }

    /// Notes the latencies in frames. Returns the event of a change that has stayed; the first latencies are none.
    ///
    /// - Parameter duration: The time that a change has to stay, in nanoseconds.
    package mutating func note(playback: Int, capture: Int, at now: Int64, staysFor duration: Int64) -> OutputEvent? {
        if since == 0 || !isAbout(new, playback, capture) { (new, since) = ((playback, capture), now) }
        guard now - since > duration, told.map({ !isAbout($0, playback, capture) }) ?? true else { return nil }
        let isFirst = told == nil
        told = (playback, capture)
        return isFirst ? nil : .latencyChanged(playback: playback, capture: capture)
    }

    /// Waits anew for latencies that stay: the connection is another one. Those before it count as told.
    package mutating func beginAnew() {
        told = told ?? new
        since = 0
    }

    private func isAbout(_ latency: Latency, _ playback: Int, _ capture: Int) -> Bool {
        abs(latency.playback - playback) <= tolerance && abs(latency.capture - capture) <= tolerance
    }
}
