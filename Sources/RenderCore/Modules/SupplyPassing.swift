/// A module whose own renderers get the supply of the renderer around it: inputs, MIDI and transport.
package protocol SupplyPassing: Module {
    /// The renderers inside.
    var innerRenderers: [Renderer] { get }
    /// Inputs in those renderers that the module itself fills: no output brings sound for them.
    var filledInputs: [any Module] { get }
    /// Indicates whether the module has to be told when the inputs inside may have changed.
    var carriesInputs: Bool { get }
    /// Looks which inputs are inside.
    func lookAtInputs()
    /// Returns the least and the most latency from an input inside to the module's output; `nil` if no way leads there.
    func latencies(fromInside source: any Module, at sampleRate: Double) -> ClosedRange<Int>?
}

extension SupplyPassing {
    package var filledInputs: [any Module] { [] }
    package var carriesInputs: Bool { false }
    package func lookAtInputs() {}

    package func latencies(fromInside source: any Module, at sampleRate: Double) -> ClosedRange<Int>? {
        let all = innerRenderers.compactMap { $0.latencies(from: source, at: sampleRate) }
        guard let least = all.map(\.lowerBound).min(), let most = all.map(\.upperBound).max() else { return nil }
        return least...most
    }
}
