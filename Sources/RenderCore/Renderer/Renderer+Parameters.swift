extension Renderer {
    /// The parameters of all modules of the render loop, each with its module's name before its own. Of modules with
    /// the same name the second is called `Delay 2`, and so on. Those of a renderer inside of another are not among
    /// them.
    public var parameters: [ParameterReference] {
        var counts: [String: Int] = [:]
        return modules.flatMap { module in
            let parameters = module.parameters
            if parameters.isEmpty { return [ParameterReference]() }
            let count = counts[module.name, default: 0] + 1
            counts[module.name] = count
            return parameters.inside(count == 1 ? module.name : "\(module.name) \(count)")
        }
    }
}
