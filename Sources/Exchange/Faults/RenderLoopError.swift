/// The reason why a render loop was refused: its stack does not add up, or it makes modules itself.
///
/// Threads: control.
public struct RenderLoopError: Error, CustomStringConvertible {
    /// The faults that its dry run found, in order.
    public let faults: [Fault]

    package init(faults: [Fault]) { self.faults = faults }

    /// A sentence about the first fault, and the number of others.
    public var description: String {
        let more = faults.count > 1 ? " (and \(faults.count - 1) more)" : ""
        let first = faults.first?.description ?? ""
        if faults.first?.kind == .madeInLoop { return "The render loop cannot be used: \(first)\(more)." }
        return "The render loop's stack does not add up: \(first)\(more)."
    }
}
