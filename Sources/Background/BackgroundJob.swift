internal import RenderCore

/// A job that control code gives to the threads of ``BackgroundWork``, to be done once.
package enum BackgroundJob {
    /// The number of the threads.
    package static var threadCount: Int { WorkPool.shared.threadLimit }

    /// Has a job done among those of render threads, of which the one that is due first comes first.
    ///
    /// - Parameters:
    ///   - due: The host time at which the result is needed.
    ///   - job: The job, which must not wait for anything, and should be short: others wait for it.
    package static func run(due: Int64, _ job: @escaping @Sendable () -> Void) {
        WorkPool.shared.run(due: due, job)
    }
}
