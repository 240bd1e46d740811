internal import CJACK
internal import Glibc

/// Why JACK cannot be used. Each says what to do.
public enum JACKError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No server runs. The advice is one on shared memory, where there is too little; else empty.
    case noServer(name: String, advice: String)
    /// The server has refused the client, with JACK's status bits.
    case refused(status: UInt32)
    /// The server gives no more ports.
    case portRefused(String)
    /// The server does not call this client.
    case notActivated
    /// A server does not let go of what was there before.
    case notAnswering
    /// Another output of this program uses another server: libjack can have one in a process.
    case otherServer(name: String)
    /// Something was asked of a server while there is none.
    case notRunning

    /// A sentence or two.
    public var description: String {
        switch self {
        case .noServer(let name, let advice):
            "No JACK server\(name.isEmpty ? "" : " named \"\(name)\"") is running. Start one, for instance with "
                + "`jackd\(name.isEmpty ? "" : " -n \(name)") -d alsa -r 48000 -p 256`, or run this program with "
                + "`pw-jack` where PipeWire runs.\(advice.isEmpty ? "" : " \(advice)")"
        case .refused(let status):
            "The JACK server has refused the program: \(JACKError.reasons(status)). Look at what the server says."
        case .portRefused(let name):
            "The JACK server gives no port \"\(name)\": it has too few (`jackd -p` sets how many), or the name is taken."
        case .notActivated: "The JACK server does not activate the program. Look at what the server says."
        case .notAnswering: "The JACK server stands still, and does not even let go of the program: start it anew."
        case .otherServer(let name):
            "Another output of this program uses the JACK server \"\(name)\": all have to use the same one."
        case .notRunning: "The output is not connected to a JACK server: start it first."
        }
    }

    /// What the bits of JACK's status mean.
    static func reasons(_ status: UInt32) -> String {
        let names: [(JackStatus, String)] = [
            (JackInvalidOption, "an option that it does not know"), (JackNameNotUnique, "the name is taken"),
            (JackServerFailed, "it cannot be reached"), (JackServerError, "it does not answer as it should"),
            (JackNoSuchClient, "there is no such client"), (JackInitFailure, "the client cannot be set up"),
            (JackShmFailure, "its shared memory cannot be reached"), (JackVersionError, "it has another version"),
            (JackBackendError, "its driver has failed"), (JackClientZombie, "it has removed the client"),
        ]
        let reasons = names.filter { status & UInt32($0.0.rawValue) != 0 }.map(\.1)
        return reasons.isEmpty ? "status \(String(status, radix: 16))" : reasons.joined(separator: ", ")
    }
}

/// The memory that JACK shares between programs.
enum SharedMemory {
    /// What a server takes with its usual 4096 ports (measured: 105 MB), and with `-p 128`.
    static let usual = 105_000_000

    /// What is to be said of so much memory, or nothing: a server that finds too little ends with SIGBUS.
    static func advice(bytes: Int) -> String {
        bytes >= usual
            ? ""
            : "Mind that /dev/shm has \(bytes / 1_000_000) MB free and a server takes \(usual / 1_000_000): it would die "
                + "of that. Give it more, or start the server with `-p 128`."
    }

    /// How much of it is free; `nil` where it cannot be asked.
    static var free: Int? {
        var status = statvfs()
        guard unsafe statvfs("/dev/shm", &status) == 0 else { return nil }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }

    static var advice: String { free.map { advice(bytes: $0) } ?? "" }
}
