package import RenderCore

extension Renderer {
    /// The inputs whose sound an output brings: those of the render loop, and of the renderers inside of it that get the
    /// same supply.
    package var inputs: [AudioInput] {
        var inputs: [AudioInput] = []
        var known: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
        var waiting = [self]
        while let renderer = waiting.popLast() {
            var inside: [Renderer] = []
            for module in renderer.modules {
                if let input = module as? AudioInput, known.insert(ObjectIdentifier(input)).inserted {
                    inputs.append(input)
                } else if let inner = (module as? any SupplyPassing)?.renderer,
                    known.insert(ObjectIdentifier(inner)).inserted
                {
                    inside.append(inner)
                }
            }
            waiting += inside.reversed()
        }
        return inputs
    }
}
