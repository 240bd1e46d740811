/// The ways of the sound through a render loop, as its dry run has seen them. ``Renderer/latency`` is computed from
/// them.
///
/// Every buffer of the dry run has the number of a node. A module is a node behind those of its inputs; a mix is one
/// behind those of its parts. Modules are known by their identity alone: members of a list come and go, and one with
/// weak references to it is retained five times as slowly.
struct SignalPaths: Sendable {
    private struct Node: Sendable {
        var module: ObjectIdentifier?
        var before: [Int32]
    }
    /// In the order in which they were met, so that the nodes that a node needs come before it.
    private var nodes: [Node] = [Node(module: nil, before: [])]
    /// The nodes that are heard, for each output.
    private var heard: [Int: Set<Int32>] = [:]

    /// Creates paths without any sound.
    init() {}

    /// Adds a module behind others, and returns its number.
    ///
    /// - Parameter shown: The origins of its results, if it is made of other modules and those have been met.
    mutating func add(_ module: any Module, inputs: [Int32], shown: [Int32]?) -> Int32 {
        if let shown { return join(shown) }
        nodes.append(Node(module: ObjectIdentifier(module), before: inputs))
        return Int32(nodes.count - 1)
    }

    /// Adds a sum, and returns its number.
    mutating func join(_ parts: [Int32]) -> Int32 {
        if Set(parts).count <= 1 { return parts.first ?? 0 }
        nodes.append(Node(module: nil, before: parts))
        return Int32(nodes.count - 1)
    }

    /// Indicates whether a buffer has been put on an output, or taken in another way.
    var isHeard: Bool { !heard.isEmpty }

    /// The number for sound that goes somewhere else than to an output.
    static let elsewhere = -1

    mutating func note(_ paths: [Int32], at output: Int) { heard[output, default: []].formUnion(paths) }

    /// Returns the least and the most frames that a sound takes to an output, over all ways; `nil` if there is no way.
    ///
    /// - Parameters:
    ///   - source: The module at which the ways begin; by default anywhere.
    ///   - output: The output at which they end; by default any.
    ///   - modules: Those that there are.
    ///   - sampleRate: The rate for which the modules' latencies are asked.
    func latencies(
        from source: (any Module)?, to output: Int?, among modules: [any Module], at sampleRate: Double
    ) -> ClosedRange<Int>? {
        let places = places(from: source, among: modules, at: sampleRate)
        let ends = output.map { heard[$0] ?? [] } ?? heard.values.reduce(into: []) { $0.formUnion($1) }
        if ends.isEmpty { return nil }
        let end = LatencyWalk.join(ends.map { places[Int($0)] })
        return source == nil ? end.all : end.fromSource
    }

    /// Returns the modules that hold back the buffers that they take from the stack, and the latencies of these
    /// buffers, in the order in which they are pushed.
    func alignments(
        among modules: [any Module], at sampleRate: Double
    ) -> [(module: any LatencyAligning, latencies: [Int])] {
        let known = Dictionary(modules.map { (ObjectIdentifier($0), $0) }, uniquingKeysWith: { first, _ in first })
        let places = places(from: nil, among: modules, at: sampleRate)
        return nodes.compactMap { node in
            guard let module = node.module.flatMap({ known[$0] }) as? any LatencyAligning, !node.before.isEmpty else {
                return nil
            }
            return (module, node.before.reversed().map { places[Int($0)].all.upperBound })
        }
    }

    /// Returns the lateness of the sound at each node.
    private func places(
        from source: (any Module)?, among modules: [any Module], at sampleRate: Double
    ) -> [LatencyWalk.Lateness] {
        let known = Dictionary(modules.map { (ObjectIdentifier($0), $0) }, uniquingKeysWith: { first, _ in first })
        var walk = LatencyWalk(from: source, at: sampleRate)
        var places: [LatencyWalk.Lateness] = []
        for node in nodes {
            // A buffer that no module has made begins here, and so does everything else that has nothing before it.
            let parts = node.before.map { places[Int($0)] }
            let module = node.module.flatMap { known[$0] }
            let input = module is any LatencyAligning ? LatencyWalk.align(parts) : LatencyWalk.join(parts)
            places.append(module.map { walk.through($0, input) } ?? input)
        }
        return places
    }
}

// Notes that a dry run makes of the ways of the sound. It is on the control side, where it may allocate. The operations
// of the stack that call this are annotated for the render thread, where it is not called.

extension RenderContext {
    /// Returns the paths of the buffers on top, from the top down.
    func paths(_ count: Int) -> [Int32] {
        (0..<max(0, min(count, depth - floor))).compactMap { index in
            let position = depth - 1 - index
            return unsafe position < entryCount ? entries[position].path : nil
        }
    }

    private func setPaths(_ count: Int, _ path: Int32) {
        for index in 0..<max(0, min(count, depth - floor)) where depth - 1 - index < entryCount {
            unsafe entries[depth - 1 - index].path = path
        }
    }

    /// Notes that the buffers on top become one.
    @_semantics("no_performance_analysis") @inline(never)
    @usableFromInline package func joinPaths(_ count: Int) {
        guard let dryRun = unsafe core.pointee.dryRun else { return }
        let parts = paths(count)
        setPaths(count, unsafe dryRun._withUnsafeGuaranteedRef { $0.paths.join(parts) })
    }

    /// Notes that the buffers on top are heard.
    @_semantics("no_performance_analysis") @inline(never)
    func notePaths(_ count: Int, to output: OutputID) {
        guard let dryRun = unsafe core.pointee.dryRun else { return }
        let heard = paths(count)
        unsafe dryRun._withUnsafeGuaranteedRef { $0.paths.note(heard, at: output.index) }
    }

    /// Tells a dry run that the top is taken in another way than by an output.
    package func isHeardElsewhere() {
        guard let dryRun = unsafe core.pointee.dryRun else { return }
        let heard = paths(1)
        unsafe dryRun._withUnsafeGuaranteedRef { $0.paths.note(heard, at: SignalPaths.elsewhere) }
    }

    /// Notes that the buffers on top come from the module that was met last.
    @_semantics("no_performance_analysis") @inline(never)
    func markResults(_ count: Int) { setPaths(count, unsafe core.pointee.resultPath) }
}
