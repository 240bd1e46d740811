import Glibc
import RenderStackLive

/// A loop's library. It stays loaded: code of it may be on its way anywhere.
@safe struct LoopLibrary {
    private let enter: @convention(c) (UnsafeRawPointer) -> Void

    /// Loads a library.
    init(_ path: String) throws(LiveError) {
        guard let handle = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
            throw LiveError("the version cannot be loaded: \(unsafe String(cString: dlerror()))")
        }
        guard let place = unsafe dlsym(handle, "renderstack_live_loop") else {
            throw LiveError("the version has no loop: \(unsafe String(cString: dlerror()))")
        }
        // The type is that of the entry, which the compiler of this program has written.
        unsafe enter = unsafeBitCast(place, to: (@convention(c) (UnsafeRawPointer) -> Void).self)
    }

    /// Calls the file's function.
    func load(_ live: Live) throws -> RenderLoop {
        let entry = LiveEntry(live)
        unsafe enter(UnsafeRawPointer(Unmanaged.passUnretained(entry).toOpaque()))
        if let error = entry.error { throw error }
        guard let loop = entry.loop else { throw LiveError("the file's function returned no loop") }
        return loop
    }
}

extension Mappings {
    /// The pieces of memory that this process has mapped.
    static var now: Mappings {
        let count = Folder.read("/proc/self/maps")?.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) } ?? 0
        let limit = Folder.text("/proc/sys/vm/max_map_count").flatMap { Int($0.prefix { $0.isNumber }) } ?? 65_530
        return Mappings(count: count, limit: limit)
    }
}
