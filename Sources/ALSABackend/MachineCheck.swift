/// One thing that good sound needs, how it stands on this machine, and what to do about it.
///
///     for check in MachineCheck.all { print(check) }
public struct MachineCheck: Sendable, Hashable, CustomStringConvertible {
    /// How it stands.
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// As it should be.
        case good
        /// To know.
        case note
        /// There is sound, but it may be interrupted, or another program is in the way.
        case advice
        /// There is no sound.
        case problem
    }

    /// What it is about, in a word or two: "real-time priority".
    public let subject: String
    /// How it stands.
    public let verdict: Verdict
    /// What was found: a sentence.
    public let finding: String
    /// What to do: a sentence, where there is something to do.
    public let remedy: String?

    init(_ subject: String, _ verdict: Verdict, _ finding: String, _ remedy: String? = nil) {
        self.subject = subject
        self.verdict = verdict
        self.finding = finding
        self.remedy = remedy
    }

    /// Both sentences.
    public var description: String { finding + (remedy.map { " \($0)" } ?? "") }

    /// All that can be looked at here, what matters most first. What this machine does not tell is left out.
    public static var all: [MachineCheck] { Machine().checks }
}

/// What stands in the way of good sound on this machine, and what to do about it.
public enum MachineAdvice {
    /// A sentence or two for each thing; none where all is well.
    public static var sentences: [String] { sentences(Machine()) }

    private static func sentences(_ machine: Machine) -> [String] {
        machine.checks.filter { $0.verdict == .advice || $0.verdict == .problem }.map(\.description)
    }

    /// The same for files that lie somewhere else, for tests.
    static func sentences(root: String, isRoot: Bool, hasCard: Bool, freeSharedMemory: Int?) -> [String] {
        var machine = Machine(root: root)
        machine.user = Machine.User(id: isRoot ? 0 : 1000, name: "user", groups: [])
        machine.hasCard = hasCard
        machine.freeSharedMemory = freeSharedMemory
        return sentences(machine)
    }
}
