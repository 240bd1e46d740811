internal import CRender

// Notices to modules about the latencies of the buffers that they mix, and about inputs in their inner renderers.

extension Renderer {
    /// Tells the modules that hold branches back how late those are.
    ///
    /// - Parameter loops: The ways through the render loop, and through those that wait for their transaction: of a
    ///   module that is in several, the first counts.
    static func align(_ modules: [any Module], along loops: [SignalPaths], at sampleRate: Double) {
        guard isAligning(modules) else { return }
        var told: Set<ObjectIdentifier> = []
        for paths in loops {
            for (module, latencies) in paths.alignments(among: modules, at: sampleRate)
            where told.insert(ObjectIdentifier(module)).inserted {
                module.align(latencies)
            }
        }
        // Those that take nothing from the stack know their branches themselves.
        for case let module as any LatencyAligning in modules
        where module.stackEffect.pops == 0 && told.insert(ObjectIdentifier(module)).inserted {
            module.align([])
        }
        for case let module as any SupplyPassing in modules where module.carriesInputs { module.lookAtInputs() }
    }

    /// Returns whether there are modules that are told about what may change behind their back.
    static func isAligning(_ modules: [any Module]) -> Bool {
        modules.contains {
            ($0 as? any LatencyAligning)?.isAligning ?? ($0 as? any SupplyPassing)?.carriesInputs ?? false
        }
    }

    /// Looks whether latencies, or inputs inside of modules, have changed. It takes the turn of an installation for that: else it could tell modules
    /// the latencies of the loop before, after another one has been put in place.
    func alignAgain() {
        let turn = control.withLock { control -> Control? in
            // The thread that installs a loop aligns too.
            if control.isInstalling { return nil }
            control.isInstalling = true
            return control
        }
        guard let turn else { return }
        crender_installing_set(crender_installing_get() + 1)
        Renderer.align(turn.image.modules, along: turn.paths, at: turn.settings.sampleRate)
        crender_installing_set(crender_installing_get() - 1)
        let asked = control.withLock { control in
            control.isInstalling = false
            return control.asked
        }
        // Brings in place the changes for which threads that do not wait have asked meanwhile.
        bringInPlace(asked)
    }
}
