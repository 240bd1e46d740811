/// A module whose own renderer gets the supply of the renderer around it: inputs, MIDI and transport.
package protocol SupplyPassing: Module {
    /// The renderer inside.
    var renderer: Renderer { get }
}
