internal import Synchronization

/// How late the sound is behind an output and before it, in frames of the renderer, and whether host times count that.
package final class OutputLatency: Sendable {
    private let behind = Atomic<Int>(0)
    private let before = Atomic<Int>(0)
    private let isOn = Atomic<Bool>(true)

    init() {}

    /// Indicates whether host times are those at which a frame is heard, and was captured.
    package var isCompensated: Bool {
        get { isOn.load(ordering: .relaxed) }
        set { isOn.store(newValue, ordering: .relaxed) }
    }

    /// The frames after which the sound of a cycle is heard.
    package var playback: Int {
        get { behind.load(ordering: .relaxed) }
        set { behind.store(max(0, newValue), ordering: .relaxed) }
    }

    /// The age in frames of the sound that comes into a cycle.
    package var capture: Int {
        get { before.load(ordering: .relaxed) }
        set { before.store(max(0, newValue), ordering: .relaxed) }
    }
}
