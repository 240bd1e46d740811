internal import Synchronization
public import Testing

/// A need that a test has of the machine, and not of the project. If the machine refuses it, the test is left out: it
/// counts as that, and never as passed. `scripts/checks/probe` tries each need, and says what it means and why it is
/// refused.
public enum MachineNeed: String, Sendable {
    /// A thread may have real-time priority.
    case realTime = "real-time"
    /// All memory may be locked.
    case lockedMemory = "locked-memory"
    /// A small disk can be mounted.
    case smallDisk = "small-disk"
    /// Root may become an ordinary user.
    case anotherUser = "another-user"
    /// A JACK server runs.
    case jackServer = "jack-server"

    /// Indicates whether the machine has it; tried once in a process.
    public var isMet: Bool {
        Self.tried.withLock { tried in
            if let isMet = tried[self] { return isMet }
            let isMet = tries()
            tried[self] = isMet
            return isMet
        }
    }

    private static let tried = Mutex<[MachineNeed: Bool]>([:])

    private func tries() -> Bool {
        let folder = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return (try? Program("/\(folder)/scripts/checks/probe", [rawValue], seconds: nil).wait())?.status == 0
    }
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test out where the machine lacks something. `scripts/test` finds the words in what the tests say.
    public static func needs(_ need: MachineNeed) -> Self {
        .enabled(if: need.isMet, "left out here: \(need.rawValue)")
    }

    /// Leaves a test out under a sanitizer, which takes the place of what it looks at. Without one it runs.
    public static func notSanitized(_ isPossible: @autoclosure @escaping @Sendable () -> Bool) -> Self {
        .enabled(if: isPossible(), "under a sanitizer")
    }
}
