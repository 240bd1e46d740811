internal import Synchronization

/// A module that takes its samples from a disk, or gives them to one, through a ring that another thread fills or
/// empties.
///
/// Live, the module never waits: frames that are not there in time are silence, and are counted. Offline, the driver
/// waits: before each slice the renderer asks such a module to see to it that its ring has the frames that the slice
/// takes, or room for the frames that the slice gives.
///
/// Threads: control.
public protocol StreamingModule: Module {
    /// Returns when the disk is ready for this slice. Called while rendering offline only, on the thread that renders,
    /// before the render loop: it may wait, lock and allocate, and the stack is empty.
    ///
    /// Threads: render.
    func awaitDisk(_ context: inout RenderContext)

    /// Returns whether the disk is ready for a slice of that many frames, as far as can be said at a glance: then
    /// ``awaitDisk(_:)`` is not called for it. `false` by default.
    func isDiskReady(frames: Int) -> Bool
}

extension StreamingModule {
    /// Returns `false`: the renderer looks each time.
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
    /// Returns the module in a slot of its own type.
    func makeStreamingSlot() -> StreamingSlot { StreamingSlotOf(self) }
}
