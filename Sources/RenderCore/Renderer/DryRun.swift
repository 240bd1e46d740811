/// The first run of a render loop, which is not heard: which modules it has, and whether its stack adds up.
final class DryRun {
    /// The modules, each once, in the order of their first run.
    private var modules: [any Module] = []
    /// The modules that no other module answers for.
    private(set) var ownModules: [any Module] = []
    private var ownIdentities: Set<ObjectIdentifier> = []
    /// The members of the composites that are being shown, the innermost last.
    private var members: [Set<ObjectIdentifier>] = []
    private var numbers: [ObjectIdentifier: Int32] = [:]
    private(set) var faults: [Fault] = []
    /// The ways that the sound goes.
    var paths = SignalPaths()
    private var opened: Set<ObjectIdentifier> = []
    private var scratch: [() -> Void] = []
    /// Modules that have been run more than once, and must not be.
    private var repeated: [any Module] = []
    /// The modules that others list as their members, and by which names those go.
    private var listed: [(module: any Module, parents: [String], isItself: Bool)] = []
    private var listedNumbers: [ObjectIdentifier: Int] = [:]
    private var expanded: Set<ObjectIdentifier> = []
    /// The modules that were met in the loop that is being run: several loops may share a slice.
    private var metInLayer: Set<ObjectIdentifier> = []

    /// Returns the number of a module in the table to be.
    ///
    /// - Parameter isPart: `true` if this is for a part of the slice only.
    func note(_ module: any Module, isPart: Bool) -> Int32 {
        // A composite's members come and go with it.
        let isMember = members.last?.contains(ObjectIdentifier(module)) ?? false
        if !isMember && ownIdentities.insert(ObjectIdentifier(module)).inserted { ownModules.append(module) }
        let isFirstInLayer = metInLayer.insert(ObjectIdentifier(module)).inserted
        if let number = numbers[ObjectIdentifier(module)] {
            if !isFirstInLayer && !isPart && !module.isRepeatable && !repeated.contains(where: { $0 === module }) {
                repeated.append(module)
            }
            return number
        }
        let number = Int32(modules.count)
        numbers[ObjectIdentifier(module)] = number
        modules.append(module)
        noteMembers(of: module)
        return number
    }

    /// Notes the members of a module. Those of a composite show themselves, or come and go.
    private func noteMembers(of module: any Module) {
        var waiting = [module]
        var next = 0
        while next < waiting.count {
            let parent = waiting[next]
            next += 1
            guard !(parent is any CompositeModule), expanded.insert(ObjectIdentifier(parent)).inserted else { continue }
            for member in parent.members {
                let number = listedNumbers[ObjectIdentifier(member)] ?? listed.count
                if number == listed.count {
                    listed.append((member, [], false))
                    listedNumbers[ObjectIdentifier(member)] = number
                    waiting.append(member)
                }
                listed[number].parents.append(parent.name)
                if parent === member { listed[number].isItself = true }
            }
        }
    }

    /// Notices about modules that are members of others in a way that does not work.
    private var noticesOfMembers: [String] {
        listed.compactMap { module, parents, isItself in
            if isItself { return "\(module.name.shown) is a member of itself; inside of itself it is silent" }
            let isRunToo = numbers[ObjectIdentifier(module)] != nil
            if module.isRepeatable || parents.count == 1 && !isRunToo { return nil }
            let places =
                parents.map(\.shown).joined(separator: " and of ") + (isRunToo ? ", and runs outside of it too" : "")
            return
                "\(module.name.shown) is a member of \(places). It goes on by a slice each time that it runs: give each place "
                + "a module of its own"
        }
    }

    /// Begins another loop of the same slice.
    func beginLayer() { metInLayer = [] }

    func note(_ record: FaultRecord) {
        let module = record.module >= 0 ? modules[Int(record.module)].name : nil
        faults.append(record.named(module))
    }

    /// Runs the members of a composite. `false`: it is being shown, so it runs itself.
    func show(_ composite: any CompositeModule, _ context: inout RenderContext) -> Bool {
        guard opened.insert(ObjectIdentifier(composite)).inserted else { return false }
        members.append(Set(composite.members.map(ObjectIdentifier.init)))
        composite.dryRun(&context)
        members.removeLast()
        opened.remove(ObjectIdentifier(composite))
        return true
    }

    /// Keeps a closure that frees memory when the run is over.
    func keep(_ free: @escaping () -> Void) { scratch.append(free) }

    deinit { for free in scratch { free() } }

    /// Returns what the run has found. It is called once, after the run, and gives the modules away.
    ///
    /// - Throws: An error that says what is wrong with the render loop.
    func findings() throws(RenderLoopError) -> LoopImage.Findings {
        var notices = repeated.map {
            "\($0.name.shown) runs more than once in a slice, and goes on by a slice each time. Run it once; to hear it in "
                + "several places use a Splitter or RenderContext.duplicate(), and for the same effect twice two modules"
        }
        let makesSound = modules.contains { $0.stackEffect.pushes > $0.stackEffect.pops }
        let isTapped =
            modules.contains { $0.stackEffect.isReadOnly } || listed.contains { $0.module.stackEffect.isReadOnly }
        notices += noticesOfMembers
        listed = []
        if makesSound && !isTapped && !paths.isHeard {
            notices.append(
                "The render loop puts nothing on its output, so the output is silent: end the loop with context.output()"
            )
        }
        faults += takeMadeInLoop()
        if !faults.isEmpty { throw RenderLoopError(faults: faults) }
        return (ownModules, paths, notices)
    }

    /// Takes out the modules that only the dry run holds any more, and returns faults for them: the render loop has
    /// made them, and makes others each time it runs.
    private func takeMadeInLoop() -> [Fault] {
        repeated = []
        var all = modules.map { $0 as AnyObject? }
        var own = ownModules.map { ObjectIdentifier($0) }
        (modules, ownModules) = ([], [])
        var kept: [ObjectIdentifier: any Module] = [:]
        var faults: [Fault] = []
        for index in all.indices {
            var object = all[index]
            all[index] = nil
            let isKept = !isKnownUniquelyReferenced(&object)
            guard let module = object as? any Module else { continue }
            if isKept { kept[ObjectIdentifier(module)] = module } else { faults.append(.madeInLoop(module.name)) }
        }
        own.removeAll { kept[$0] == nil }
        ownModules = own.compactMap { kept[$0] }
        return faults
    }
}
