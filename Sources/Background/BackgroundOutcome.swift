internal import RenderCore

/// The outcome of a job: see ``BackgroundWork/collect(_:at:_:)``.
///
/// Threads: any.
@frozen public enum BackgroundOutcome: Sendable {
    /// The job is done, or there was none: the state is the module's until it submits it again.
    case ready
    /// The deadline of the job is still to come.
    case notDue
    /// The deadline of the job is over, and it is not done.
    case late

    /// Indicates whether the state is the module's.
    @inlinable public var isReady: Bool {
        @_noLocks @_noAllocation get { if case .ready = self { true } else { false } }
    }
}
