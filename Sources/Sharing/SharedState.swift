public import RenderCore
public import Synchronization

/// A value that several modules on one render thread share, such as the sum of a bus.
///
///     sum = SharedState(Sum(channels: 2))                 // in one module
///     sum = SharedState(sharing: other.sum)               // in another
///     …
///     sum.with(&context) { sum, context in … }            // in `process` of both
///
/// A ``/RenderCore/RenderState`` belongs to one module. A shared state belongs to the module that is in it, one at a time. A module
/// that finds another one in it (on another render thread, by mistake) is turned away with a ``/Exchange/Fault``. No thread ever
/// waits.
///
/// Threads: control.
@safe public struct SharedState<Value: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because only the thread that has set `isBusy` touches the value, or the control side when it has taken
    // it out.
    @usableFromInline let memory: UnsafeMutablePointer<Memory>

    @safe @usableFromInline struct Memory: ~Copyable {
        @usableFromInline let value: Atomic<UnsafeMutablePointer<Value>>
        @usableFromInline let isBusy = Atomic<Bool>(false)
        let holders = Atomic<Int>(1)

        init(_ value: UnsafeMutablePointer<Value>) { unsafe self.value = Atomic(value) }

        deinit {
            let value = unsafe value.load(ordering: .acquiring)
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
        }
    }

    /// Creates a state.
    public init(_ value: consuming Value) {
        let first = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe first.initialize(to: value)
        unsafe memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: Memory(first))
    }

    /// Creates a reference to the same state, for another module.
    public init(sharing other: borrowing SharedState) {
        unsafe memory = other.memory
        unsafe memory.pointee.holders.wrappingAdd(1, ordering: .relaxed)
    }

    deinit {
        if unsafe memory.pointee.holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            unsafe memory.deinitialize(count: 1)
            unsafe memory.deallocate()
        }
    }

    /// Calls `body` with the value in place. In a dry run, and for a module that is turned away, `body` does not run.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func with(_ context: inout RenderContext, _ body: (inout Value, inout RenderContext) -> Void) {
        if let value = unsafe enter(context) {
            unsafe body(&value.pointee, &context)
            leave()
        }
    }

    /// Replaces the value from the control side. The old one is freed when it can no longer be in use.
    public func replace(with value: consuming Value) {
        let new = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe new.initialize(to: value)
        let old = unsafe UInt(bitPattern: memory.pointee.value.exchange(new, ordering: .sequentiallyConsistent))
        Reclaimer.shared.retire {
            guard let old = unsafe UnsafeMutablePointer<Value>(bitPattern: old) else { return }
            unsafe old.deinitialize(count: 1)
            unsafe old.deallocate()
        }
    }

    @inlinable @inline(__always)
    func enter(_ context: borrowing RenderContext) -> UnsafeMutablePointer<Value>? {
        if context.isDryRun { return nil }
        if unsafe memory.pointee.isBusy.exchange(true, ordering: .acquiring) {
            context.fault(.foreignState, .state, wanted: 0, found: 0)
            return nil
        }
        // Sequentially consistent: after the cycle counter's store, see `Reclaimer`.
        return unsafe memory.pointee.value.load(ordering: .sequentiallyConsistent)
    }

    @inlinable @inline(__always)
    func leave() { unsafe memory.pointee.isBusy.store(false, ordering: .releasing) }
}
