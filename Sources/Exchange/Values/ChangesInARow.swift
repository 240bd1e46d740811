/// The last changes of something that one thread made, without a change of another thread between them.
///
/// A closure that changes a list may itself call what changes the list. Its change then still holds; it is made anew only if
/// another thread has changed the list meanwhile.
package struct ChangesInARow: Sendable, BitwiseCopyable {
    private var thread: UInt = 0
    /// The version that the first of them built on.
    private var start = 0

    package init() {}

    /// Returns whether all changes after a version are of this thread.
    package func areAll(of thread: UInt, after version: Int) -> Bool { self.thread == thread && start <= version }

    /// Adds a change of a thread that builds on a version.
    package mutating func add(of thread: UInt, on version: Int) {
        if self.thread != thread { (self.thread, start) = (thread, version) }
    }
}
