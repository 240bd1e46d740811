internal import RenderCore

/// Statistics of the jobs of a ``BackgroundWork``.
///
/// Threads: any.
public struct BackgroundStatistics: Sendable, Hashable {
    /// The number of jobs that were submitted.
    public var submitted: Int
    /// The number of jobs that were not done at their deadline, in live rendering.
    public var late: Int
    /// The time of the longest job, in nanoseconds.
    public var longest: Int64
}
