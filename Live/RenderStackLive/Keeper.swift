/// The things that go on from one version of a loop file to the next, by their names.
package final class Keeper {
    /// A thing that goes on.
    package struct Entry {
        /// The module, the value, or the knob.
        package let value: any Sendable
        /// Its parameters, by the names of its own.
        package let parameters: [ParameterReference]
        let shape: ModuleShape?
        /// The numbers that the file gives its parameters.
        let numbers: [String: Float]

        init(
            _ value: any Sendable, parameters: [ParameterReference], shape: ModuleShape?,
            wishes: [ParameterReference]? = nil
        ) {
            self.value = value
            self.parameters = parameters
            self.shape = shape
            numbers = Dictionary(
                (wishes ?? parameters).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// The entries of a version that is being loaded.
    struct Draft {
        var names: [String] = []
        var entries: [String: Entry] = [:]
        var goesOn: Set<String> = []
        /// The names that were asked for twice.
        var doubled: [String] = []

        mutating func add(_ name: String, _ entry: Entry) {
            if entries[name] == nil { names.append(name) } else { doubled.append(name) }
            entries[name] = entry
        }
    }

    /// The news of a version, for a line on the terminal.
    package struct News {
        /// The names that go on, that are new, and that have gone.
        package let goesOn, new, gone: [String]
        /// Names that were asked for twice.
        package let doubled: [String]
    }

    /// The names in the order of the file.
    package private(set) var names: [String] = []
    private var entries: [String: Entry] = [:]
    /// The values that were turned by hand, by the whole names of the parameters.
    package private(set) var turned: [String: Float] = [:]
    /// Indicates whether values that were turned by hand go back to what the file says with each save.
    package let followsFile: Bool

    /// Creates one that keeps nothing yet.
    package init(followsFile: Bool) { self.followsFile = followsFile }

    /// The entry of a name.
    package func entry(_ name: String) -> Entry? { entries[name] }

    /// Notes that a parameter was turned by hand.
    package func note(_ name: String, turnedTo value: Float) { turned[name] = value }

    /// Sets the parameters of what goes on to the numbers of the file that are new.
    ///
    /// - Parameter outer: The name that stands before those of the parameters.
    func follow(_ wishes: [ParameterReference], _ kept: Entry, _ outer: String?) {
        for wish in wishes {
            guard let parameter = kept.parameters[wish.name] else { continue }
            if followsFile || kept.numbers[wish.name] != wish.value {
                parameter.value = wish.value
                pending.append(outer.map { "\($0).\(wish.name)" } ?? wish.name)
            }
        }
    }
    /// The parameters that the version that is being loaded has set.
    private var pending: [String] = []

    /// Gives modules that were made anew the values that their parameters were turned to by hand.
    package func restoreTurned(_ modules: [any Module], in live: Live) {
        if followsFile || turned.isEmpty { return }
        for parameter in parameters(of: modules, in: live) where !pending.contains(parameter.name) {
            if let value = turned[parameter.name], parameter.value != value { parameter.value = value }
        }
    }

    /// Forgets what a version has asked for that is not heard after all.
    package func discard() { pending = [] }

    /// Keeps what a version has asked for, from now on.
    package func commit(_ live: Live) -> News {
        for name in pending { turned[name] = nil }
        pending = []
        let draft = live.draft
        let news = News(
            goesOn: draft.names.filter { draft.goesOn.contains($0) },
            new: draft.names.filter { !draft.goesOn.contains($0) },
            gone: names.filter { draft.entries[$0] == nil }, doubled: draft.doubled)
        names = draft.names
        entries = draft.entries
        return news
    }

    /// Returns the parameters of a loop's modules by the names that its file gives the modules, else by the modules' own.
    ///
    /// - Parameter live: The version that is being loaded; by default that which is heard.
    package func parameters(of modules: [any Module], in live: Live? = nil) -> [ParameterReference] {
        let (names, entries) = live.map { ($0.draft.names, $0.draft.entries) } ?? (names, entries)
        var known: [ObjectIdentifier: String] = [:]
        for (name, entry) in entries { (entry.value as? any Module).map { known[ObjectIdentifier($0)] = name } }
        var counts: [String: Int] = [:]
        var all: [ParameterReference] = []
        for name in names where entries[name]?.value is Knob { all += entries[name]?.parameters ?? [] }
        for module in modules {
            let parameters = module.parameters
            if parameters.isEmpty { continue }
            if let name = known[ObjectIdentifier(module)] {
                all += parameters.inside(name)
            } else {
                let count = counts[module.name, default: 0] + 1
                counts[module.name] = count
                all += parameters.inside(count == 1 ? module.name : "\(module.name) \(count)")
            }
        }
        return all
    }
}
