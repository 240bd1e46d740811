/// The place where a loop's library and the program that plays it meet. The library's entry, which is written for it, calls
/// ``load(_:_:)``.
///
/// Threads: control.
public final class LiveEntry {
    package let live: Live
    package private(set) var loop: RenderLoop?
    package private(set) var error: (any Error)?

    package init(_ live: Live) { self.live = live }

    /// Calls a loop file's function.
    ///
    /// - Parameters:
    ///   - entry: The entry, as the program gave it.
    ///   - function: The file's function.
    public static func load(_ entry: UnsafeRawPointer, _ function: (Live) throws -> RenderLoop) {
        let entry = unsafe Unmanaged<LiveEntry>.fromOpaque(entry).takeUnretainedValue()
        do { entry.loop = try function(entry.live) } catch { entry.error = error }
    }
}

extension RenderContext {
    /// Runs a module, as `run(_:)` does, for the function of that name that each version of a loop has of its own.
    @inlinable @inline(__always) public mutating func runModule<M: Module>(_ module: M) { run(module) }
}
