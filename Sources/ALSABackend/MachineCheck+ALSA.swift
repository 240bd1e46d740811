// With the checks, which are LinuxRealtime's.
@_exported public import LinuxRealtime

extension Machine {
    /// This machine, with the cards that ALSA sees.
    fileprivate static var here: Machine {
        let hasCard = ALSADevice.all.contains(where: \.isHardware)
        return Machine(hasCard: hasCard, playsWithoutCard: !hasCard && ALSAStream.isHeard("default"))
    }
}

extension MachineCheck {
    /// A sentence that says why this machine shows no card, and what to do.
    package static var absenceOfCard: String { Machine.absenceOfCard }

    /// All that can be looked at here, what matters most first. What this machine does not tell is left out.
    public static var all: [MachineCheck] { Machine.here.checks }
}

/// Advice about all that stands in the way of good sound on this machine.
///
/// Threads: control.
public enum MachineAdvice {
    /// A sentence or two for each thing; none where all is well.
    public static var sentences: [String] { sentences(.here) }

    private static func sentences(_ machine: Machine) -> [String] {
        machine.checks.filter { $0.verdict == .advice || $0.verdict == .problem }.map(\.description)
    }

    /// Returns the sentences for files that lie somewhere else, for tests.
    static func sentences(root: String, isRoot: Bool, hasCard: Bool, freeSharedMemory: Int?) -> [String] {
        var machine = Machine(root: root)
        machine.user = Machine.User(id: isRoot ? 0 : 1000, name: "user", groups: [])
        machine.hasCard = hasCard
        machine.freeSharedMemory = freeSharedMemory
        return sentences(machine)
    }
}
