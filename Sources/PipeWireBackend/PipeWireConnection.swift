internal import CPipeWire

/// A connection, and the graph that it shows.
@safe final class PipeWireConnection: @unchecked Sendable {
    // Unchecked because the handle does not change, and the library's functions are called with its lock held.
    let handle: OpaquePointer
    let graph: PipeWireGraph
    private let held: Unmanaged<PipeWireGraph>

    private static func graph(_ this: UnsafeMutableRawPointer) -> PipeWireGraph {
        unsafe Unmanaged<PipeWireGraph>.fromOpaque(this).takeUnretainedValue()
    }

    /// Connects, and learns what there is.
    init(_ remote: String?, _ properties: [String]) throws(PipeWireError) {
        let graph = PipeWireGraph()
        let held = unsafe Unmanaged.passRetained(graph)
        var events = unsafe cpw_connection_events(
            failed: { graph, isLost, words in
                unsafe PipeWireConnection.graph(graph).failed(isLost: isLost, String(cString: words))
            },
            came: { graph, id, type, properties in
                unsafe PipeWireConnection.graph(graph).came(id, String(cString: type)) { key in
                    unsafe cpw_property(properties, key).map { unsafe String(cString: $0) }
                }
            },
            went: { graph, id in unsafe PipeWireConnection.graph(graph).went(id) },
            said: { graph, key, value in
                unsafe PipeWireConnection.graph(graph).said(
                    String(cString: key), value.map { unsafe String(cString: $0) })
            })
        var error: Int32 = 0
        let opened = unsafe withWords(properties) { words in
            unsafe remote.withCString { unsafe cpw_open($0, words, &events, held.toOpaque(), &error) }
        }
        guard let opened = unsafe opened else {
            unsafe held.release()
            throw .connecting(to: remote, error)
        }
        unsafe (handle, self.graph, self.held) = (opened, graph, held)
        // The first trip brings the objects, the second what those say to which we then listen.
        let hasAnswered = unsafe locked { unsafe cpw_round_trip($0, 3) && cpw_round_trip($0, 3) }
        guard hasAnswered else {
            let isLost = graph.isLost
            close()
            throw isLost ? .noDaemon(remote: remote ?? "", reason: "it ended the connection") : .notAnswering
        }
    }

    /// Calls a closure with the connection's lock held.
    func locked<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe cpw_lock(handle)
        defer { unsafe cpw_unlock(handle) }
        return unsafe body(handle)
    }

    /// Ends it. Once; then nothing is called any more.
    func close() {
        unsafe cpw_close(handle)
        unsafe held.release()
    }
}

extension String? {
    /// Calls a closure with the text, or a null pointer.
    fileprivate func withCString<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        guard let self else { return body(nil) }
        return unsafe self.withCString { unsafe body($0) }
    }
}
