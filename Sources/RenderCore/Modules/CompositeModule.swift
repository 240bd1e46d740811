/// A module whose members come and go, or show themselves in a dry run only. Its ``Module/members`` are those that it runs
/// now, or is about to, or may still be running.
package protocol CompositeModule: Module {
    /// Runs the module's members in a dry run, which is not heard. On the control side.
    func dryRun(_ context: inout RenderContext)
    /// The way in which the members are connected, from which latencies are computed.
    var arrangement: ModuleArrangement { get }
    /// Gets the renderer that has the module, which must hear when the members change.
    func attach(_ renderer: Renderer)
}

extension CompositeModule {
    /// A generator mixes its members; in any other the dry run has seen it.
    package var arrangement: ModuleArrangement { stackEffect.pops == 0 ? .parallel(members) : .asShown }

    /// Returns the latency of a module that takes nothing from the stack.
    package func latency(of module: any Module, at sampleRate: Double) -> Int {
        var walk = LatencyWalk(from: nil, at: sampleRate)
        return walk.through(module, .start).all.upperBound
    }

    /// Returns the latency of the sound behind the members.
    package func latencyOfArrangement(at sampleRate: Double) -> Int { latency(of: self, at: sampleRate) }
}

/// The way in which the modules inside of a module are connected.
package enum ModuleArrangement {
    /// The members are connected in the way that the dry run has seen.
    case asShown
    /// The members run one after the other.
    case chain([any Module])
    /// The members run side by side, into one sum.
    case parallel([any Module])
    /// The members run side by side into one sum, with all held back until the latest.
    case aligned([any Module])

    var isAsShown: Bool { if case .asShown = self { true } else { false } }
}
