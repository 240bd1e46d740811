internal import CRender
internal import Synchronization

/// The dry runs that are under way.
@usableFromInline package enum DryRuns {
    /// The address of their number, on all threads: the render thread reads it in one load.
    static var count: UnsafePointer<Atomic<Int>> {
        unsafe crender_dry_runs().assumingMemoryBound(to: Atomic<Int>.self)
    }

    /// Returns whether this thread is in one.
    @_semantics("no_performance_analysis") @inline(never)
    @usableFromInline static func includeThisThread() -> Bool { crender_is_in_dry_run() != 0 }

    /// Makes a dry run on this thread.
    package static func run(_ body: () -> Void) {
        crender_dry_run_begins()
        body()
        crender_dry_run_ends()
    }
}
