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
                } else if let outer = module as? any SupplyPassing {
                    known.formUnion(outer.filledInputs.map { ObjectIdentifier($0) })
                    inside += outer.innerRenderers.filter { known.insert(ObjectIdentifier($0)).inserted }
                }
            }
            waiting += inside.reversed()
        }
        return inputs
    }
}
