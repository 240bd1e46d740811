internal import RenderCore
internal import Synchronization

/// Hands an object over to the render thread, which neither waits for it nor frees it: the giver keeps a reference.
@safe final class Handover<Object: AnyObject & Sendable>: Sendable {
    private let slot: Atomic<Unmanaged<Object>?> = unsafe Atomic(nil)

    deinit { _ = take() }

    /// Lays an object down. One that has not been taken is dropped.
    func put(_ object: Object) {
        if let old = unsafe slot.exchange(.passRetained(object), ordering: .acquiringAndReleasing) {
            unsafe old.release()
        }
    }

    /// Takes it, if there is one.
    func take() -> Object? {
        guard unsafe slot.load(ordering: .relaxed) != nil else { return nil }
        return unsafe slot.exchange(nil, ordering: .acquiringAndReleasing)?.takeRetainedValue()
    }
}

/// Gaps in the sound, from the render thread to the thread that reports them.
final class GapLog: Sendable {
    private let count = Atomic<Int>(0)
    private let frames = Atomic<Int64>(0)
    private let hostTime = Atomic<Int64>(0)

    /// Notes a gap. On the render thread; one that is not taken before the next is reported together with that.
    func add(frames: Int64, hostTime: Int64) {
        self.frames.wrappingAdd(frames, ordering: .relaxed)
        self.hostTime.store(hostTime, ordering: .relaxed)
        count.wrappingAdd(1, ordering: .releasing)
    }

    /// Returns the sum of the gaps since the last call.
    func take() -> (frames: Int64, hostTime: Int64)? {
        guard count.exchange(0, ordering: .acquiring) > 0 else { return nil }
        return (frames.exchange(0, ordering: .relaxed), hostTime.load(ordering: .relaxed))
    }
}
