/// The first run of a render closure, in which nobody hears it: which modules it has, and whether its stack adds up.
final class DryRun {
    /// The modules, each once, in the order of their first run.
    private var modules: [any Module] = []
    /// Those that no other module answers for.
    private(set) var ownModules: [any Module] = []
    private var ownIdentities: Set<ObjectIdentifier> = []
    /// The members of the composites that are being shown, the innermost last.
    private var members: [Set<ObjectIdentifier>] = []
    private var numbers: [ObjectIdentifier: Int32] = [:]
    private(set) var faults: [Fault] = []
    /// Which way the sound goes.
    var paths = SignalPaths()
    private var opened: Set<ObjectIdentifier> = []
    private var scratch: [() -> Void] = []

    /// The number of a module in the table to be.
    func note(_ module: any Module) -> Int32 {
        // A composite's members come and go with it.
        let isMember = members.last?.contains(ObjectIdentifier(module)) ?? false
        if !isMember && ownIdentities.insert(ObjectIdentifier(module)).inserted { ownModules.append(module) }
        if let number = numbers[ObjectIdentifier(module)] { return number }
        let number = Int32(modules.count)
        numbers[ObjectIdentifier(module)] = number
        modules.append(module)
        return number
    }

    func note(_ record: FaultRecord) {
        let module = record.module >= 0 ? modules[Int(record.module)].name : nil
        faults.append(record.named(module))
    }

    /// Runs what a composite runs. `false`: it is being shown, so it runs itself.
    func show(_ composite: any CompositeModule, _ context: inout RenderContext) -> Bool {
        guard opened.insert(ObjectIdentifier(composite)).inserted else { return false }
        members.append(Set(composite.members.map(ObjectIdentifier.init)))
        composite.dryRun(&context)
        members.removeLast()
        opened.remove(ObjectIdentifier(composite))
        return true
    }

    /// Something to be freed when the run is over.
    func keep(_ free: @escaping () -> Void) { scratch.append(free) }

    deinit { for free in scratch { free() } }
}

/// Why a render closure was refused: its stack does not add up.
public struct RenderLoopError: Error, CustomStringConvertible {
    /// What its dry run found, in order.
    public let faults: [Fault]

    /// The first of them in a sentence, and how many more there are.
    public var description: String {
        let more = faults.count > 1 ? " (and \(faults.count - 1) more)" : ""
        return "The render loop's stack does not add up: \(faults.first?.description ?? "")\(more)."
    }
}
