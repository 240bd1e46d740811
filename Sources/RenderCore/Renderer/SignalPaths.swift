/// Which way the sound goes through a closure, as its dry run has seen it: what ``Renderer/latency`` is computed from.
///
/// Every buffer of the dry run has the number of a node. A module is a node behind those of its inputs; a mix is one behind
/// those of its parts. Modules are known by their identity alone: members of a list come and go, and one with weak
/// references to it is retained five times as slowly.
struct SignalPaths: Sendable {
    private struct Node: Sendable {
        var module: ObjectIdentifier?
        var before: [Int32]
    }
    /// In the order in which they were met, so that what a node needs comes before it.
    private var nodes: [Node] = [Node(module: nil, before: [])]
    /// The nodes that are heard, for each output.
    private var heard: [Int: Set<Int32>] = [:]

    /// Nothing goes anywhere.
    init() {}

    /// A module behind others.
    ///
    /// - Parameter shown: where what it leaves comes from, if it is made of others and those have been met.
    mutating func add(_ module: any Module, inputs: [Int32], shown: [Int32]?) -> Int32 {
        if let shown { return join(shown) }
        nodes.append(Node(module: ObjectIdentifier(module), before: inputs))
        return Int32(nodes.count - 1)
    }

    /// A sum.
    mutating func join(_ parts: [Int32]) -> Int32 {
        if Set(parts).count <= 1 { return parts.first ?? 0 }
        nodes.append(Node(module: nil, before: parts))
        return Int32(nodes.count - 1)
    }

    mutating func note(_ paths: [Int32], at output: Int) { heard[output, default: []].formUnion(paths) }

    /// The least and the most frames that a sound takes to an output, over all ways. `nil`: there is no way.
    ///
    /// - Parameters:
    ///   - source: where the ways begin; anywhere if nothing is said.
    ///   - output: where they end; at any output if nothing is said.
    ///   - modules: those that there are.
    func latencies(
        from source: (any Module)?, to output: Int?, among modules: [any Module]
    ) -> ClosedRange<Int>? {
        let known = Dictionary(modules.map { (ObjectIdentifier($0), $0) }, uniquingKeysWith: { first, _ in first })
        // A buffer that no module has made begins here, and so does everything else that has nothing before it.
        let start: ClosedRange<Int>? = source == nil ? 0...0 : nil
        var ranges: [ClosedRange<Int>?] = []
        for node in nodes {
            let input = node.before.isEmpty ? start : union(node.before.map { ranges[Int($0)] })
            let module = node.module.flatMap { known[$0] }
            ranges.append(module.map { through($0, input, from: source) } ?? input)
        }
        let ends = output.map { heard[$0] ?? [] } ?? heard.values.reduce(into: []) { $0.formUnion($1) }
        return union(ends.map { ranges[Int($0)] })
    }

    /// What comes out of a module, given what goes in. Lists may be in lists, but one in itself has no end.
    private func through(
        _ module: any Module, _ input: ClosedRange<Int>?, from source: (any Module)?, level: Int = 0
    ) -> ClosedRange<Int>? {
        let input = module === source ? 0...0 : input
        guard let composite = module as? any CompositeModule else { return input.map { moved($0, by: module.latency) } }
        if level > 16 { return input }
        switch composite.arrangement {
        case .asShown: return input
        case .chain(let members): return members.reduce(input) { through($1, $0, from: source, level: level + 1) }
        case .parallel(let members):
            let start: ClosedRange<Int>? = source == nil ? 0...0 : nil
            if members.isEmpty { return input }
            return union(members.map { through($0, start, from: source, level: level + 1) })
        }
    }

    private func moved(_ range: ClosedRange<Int>, by frames: Int) -> ClosedRange<Int> {
        let frames = max(0, frames)
        return range.lowerBound + frames...range.upperBound + frames
    }

    private func union(_ ranges: [ClosedRange<Int>?]) -> ClosedRange<Int>? {
        ranges.reduce(nil) { sum, range in
            guard let sum, let range else { return sum ?? range }
            return min(sum.lowerBound, range.lowerBound)...max(sum.upperBound, range.upperBound)
        }
    }
}

// What a dry run notes of the ways that the sound goes. It is on the control side, where it may allocate; the operations of
// the stack that call this are annotated for the render thread, where it is not called.

extension RenderContext {
    /// The paths of the buffers on top, from the top down.
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

    /// The buffers on top become one.
    @_semantics("no_performance_analysis") @inline(never)
    @usableFromInline func joinPaths(_ count: Int) {
        guard let dryRun = unsafe core.pointee.dryRun else { return }
        let parts = paths(count)
        setPaths(count, unsafe dryRun._withUnsafeGuaranteedRef { $0.paths.join(parts) })
    }

    /// The buffers on top are heard.
    @_semantics("no_performance_analysis") @inline(never)
    func notePaths(_ count: Int, to output: OutputID) {
        guard let dryRun = unsafe core.pointee.dryRun else { return }
        let heard = paths(count)
        unsafe dryRun._withUnsafeGuaranteedRef { $0.paths.note(heard, at: output.index) }
    }

    /// The buffers on top are what the module has left that was met last.
    @_semantics("no_performance_analysis") @inline(never)
    func markResults(_ count: Int) { setPaths(count, unsafe core.pointee.resultPath) }
}
