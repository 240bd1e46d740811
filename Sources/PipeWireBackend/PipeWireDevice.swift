/// A device of PipeWire's: a card, or a node that is like one.
///
/// Threads: control.
public struct PipeWireDevice: Sendable, Hashable {
    /// The name that ``PipeWireTarget/device(_:)`` takes.
    public let name: String
    /// The name for people.
    public let description: String
    /// Indicates whether it plays.
    public let isSink: Bool
    /// Indicates whether it records.
    public let isSource: Bool
    /// Indicates whether it is the default of its kind.
    public let isDefault: Bool

    /// Returns the devices that there are now.
    ///
    /// - Parameter remote: The name of the daemon's socket; by default PipeWire's own choice.
    /// - Throws: ``PipeWireError``: no daemon answers.
    public static func all(of remote: String? = nil) throws(PipeWireError) -> [PipeWireDevice] {
        let connection = try PipeWireConnection(remote, ["application.name", "RenderStack"])
        defer { connection.close() }
        let graph = connection.graph
        let defaults = [graph.defaultName(isSink: true), graph.defaultName(isSink: false)]
        return graph.devices.map { node in
            PipeWireDevice(
                name: node.name, description: node.description, isSink: node.isSink, isSource: node.isSource,
                isDefault: node.isSink && node.name == defaults[0] || node.isSource && node.name == defaults[1])
        }
    }
}
