internal import Synchronization

/// A module that takes its samples from a disk, or gives them to one, through a ring that somebody else fills or empties.
///
/// Live it never waits: what is not there in time is silence, and counted. Offline nobody has to be on time, and it is
/// the driver that waits: before each slice the renderer asks such a module to see to it that its ring has what the slice
/// takes, or room for what the slice gives.
public protocol StreamingModule: Module {
    /// Returns when the disk is ready for this slice. Called while rendering offline only, on the thread that renders,
    /// before the closure: it may wait, lock and allocate, and the stack is empty.
    func awaitDisk(_ context: inout RenderContext)

    /// Whether the disk is ready for a slice of so many frames, as far as can be said at a glance: then ``awaitDisk(_:)`` is not
    /// called for it. `false` if nothing is said.
    func isDiskReady(frames: Int) -> Bool
}

extension StreamingModule {
    /// Looks each time.
    public func isDiskReady(frames: Int) -> Bool { false }
}

extension RenderContext {
    /// Has a module wait, in its own name, so that it can look at its states.
    mutating func awaitDisk<M: StreamingModule>(_ module: M) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        if unsafe ask(identity, { context in module.awaitDisk(&context) }) { cleanUp() }
    }
}

/// A streaming module behind one indirect call, without a reference count: players are known to the disk thread by weak
/// references, which make each retain slow.
class StreamingSlot {
    func awaitDisk(_ context: inout RenderContext) {}
}

final class StreamingSlotOf<M: StreamingModule>: StreamingSlot {
    private let module: M
    init(_ module: M) { self.module = module }
    override func awaitDisk(_ context: inout RenderContext) {
        if !module.isDiskReady(frames: context.frameCount) { context.awaitDisk(module) }
    }
}

extension StreamingModule {
    /// The module in a slot of its own type.
    func makeStreamingSlot() -> StreamingSlot { StreamingSlotOf(self) }
}
