internal import CPluginMemory

/// The memory that an instance of a plug-in may write: its channels, and what else its format adds. Each piece lies between two guards.
@safe package final class PluginMemory: @unchecked Sendable {
    // Unchecked because the format adds the pieces before any other thread has them; then one thread at a time looks at the guards.
    /// To it the format adds pieces.
    package let pointer: OpaquePointer

    /// Creates a memory without pieces. A debug build's guards are so long that they find a run of a wrong length too.
    init(_ name: String) throws(PluginError) {
        var guardLength: Int32 = 16
        #if DEBUG
            guardLength = 4_096
        #endif
        guard let pointer = unsafe cplugin_memory_new(guardLength) else {
            throw PluginError(description: "There is no memory for \(name).")
        }
        unsafe self.pointer = pointer
    }

    deinit { unsafe cplugin_memory_free(pointer) }

    /// The number of runs after which a guard was no longer what it was.
    var overrunCount: Int { unsafe Int(cplugin_memory_overrun_count(pointer)) }
}

/// The reason why a plug-in cannot be a module: a sentence.
struct PluginError: Error, CustomStringConvertible {
    let description: String
}
