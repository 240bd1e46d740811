/// A need of good sound, its state on this machine, and advice about it.
///
///     for check in MachineCheck.all { print(check) }
///
/// Threads: control.
public struct MachineCheck: Sendable, Hashable, CustomStringConvertible {
    /// The result of a check.
    ///
    /// Threads: any.
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// All is as it should be.
        case good
        /// Worth knowing.
        case note
        /// There is sound, but it may be interrupted, or another program is in the way.
        case advice
        /// There is no sound.
        case problem
    }

    /// The subject in a word or two: "real-time priority".
    public let subject: String
    /// The result of the check.
    public let verdict: Verdict
    /// A sentence with the finding.
    public let finding: String
    /// A sentence with advice; `nil` if there is nothing to do.
    public let remedy: String?

    package init(_ subject: String, _ verdict: Verdict, _ finding: String, _ remedy: String? = nil) {
        self.subject = subject
        self.verdict = verdict
        self.finding = finding
        self.remedy = remedy
    }

    /// Both sentences.
    public var description: String { finding + (remedy.map { " \($0)" } ?? "") }
}
