/// A module that runs other modules. The renderer has to know those too, so that it can prepare them.
package protocol CompositeModule: Module {
    /// The modules that it runs now, or is about to, or may still be running.
    var members: [any Module] { get }
    /// Runs what it runs, so that nobody hears it. On the control side.
    func dryRun(_ context: inout RenderContext)
    /// How its modules stand to each other, for who asks how late the sound is.
    var arrangement: ModuleArrangement { get }
    /// A renderer has it: it wants to know when the members change.
    func attach(_ renderer: Renderer)
}

extension CompositeModule {
    /// A generator mixes its members; in any other the dry run has seen it.
    package var arrangement: ModuleArrangement { stackEffect.pops == 0 ? .parallel(members) : .asShown }
}

/// How the modules inside of a module stand to each other.
package enum ModuleArrangement {
    /// As the dry run has seen them.
    case asShown
    /// One after the other.
    case chain([any Module])
    /// Side by side, into one sum.
    case parallel([any Module])

    var isAsShown: Bool { if case .asShown = self { true } else { false } }
}

/// The renderers that have a composite module.
package struct AttachedRenderers: Sendable {
    private struct Weak: Sendable {
        weak var renderer: Renderer?
    }
    private var all: [Weak] = []

    package init() {}

    /// Those that still exist.
    package var renderers: [Renderer] { all.compactMap(\.renderer) }

    package mutating func attach(_ renderer: Renderer) {
        all.removeAll { $0.renderer == nil || $0.renderer === renderer }
        all.append(Weak(renderer: renderer))
    }
}
