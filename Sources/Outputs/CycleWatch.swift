package import RenderCore
internal import Synchronization

/// Notices from outside that a cycle does not end: a render loop that waits or loops forever cannot say so by itself.
///
/// The thread that renders notes when it begins and ends a cycle; the thread that looks after the output asks.
package final class CycleWatch: Sendable {
    /// The time at which the present cycle began; 0 between cycles.
    private let began = Atomic<Int64>(0)
    /// The beginning of the cycle that was reported last.
    private let told = Atomic<Int64>(0)

    /// The time that a cycle may take before it counts as one that does not end, in nanoseconds.
    package static let patience: Int64 = 1_000_000_000

    package init() {}

    /// Notes that a cycle begins. On the render thread.
    package func begin(_ now: Int64) { began.store(now, ordering: .relaxed) }

    /// Notes that it has ended. On the render thread.
    package func end() { began.store(0, ordering: .relaxed) }

    /// Nanoseconds since the cycle began that is being rendered; `nil` between cycles.
    package func age(_ now: Int64) -> Int64? {
        let began = began.load(ordering: .relaxed)
        return began == 0 ? nil : max(0, now - began)
    }

    /// Returns the sentence about a cycle that does not end, once for each such cycle.
    ///
    /// - Parameters:
    ///   - renderer: The renderer.
    ///   - now: Nanoseconds of the host clock.
    ///   - patience: The time that the cycle may take.
    package func news(
        of renderer: Renderer, _ now: Int64, patience: Int64 = CycleWatch.patience
    ) -> String? {
        let began = began.load(ordering: .relaxed)
        guard began != 0, now - began >= patience, told.load(ordering: .relaxed) != began else { return nil }
        // The renderer knows the module; it may have seen the cycle a little later, and is waited for.
        let sentence = renderer.endlessCycle() ?? (now - began >= patience + 900_000_000 ? Self.plainSentence : nil)
        if sentence != nil { told.store(began, ordering: .relaxed) }
        return sentence
    }

    private static let plainSentence =
        "The render loop has not ended for more than a second, and the output is silent until it does. Look in it for a "
        + "`while` without an end, or for a call that waits."
}
