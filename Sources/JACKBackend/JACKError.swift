internal import CJACK
internal import Glibc

/// The reason why JACK cannot be used. Each says what to do.
///
/// Threads: control.
public enum JACKError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No server runs. The advice is about shared memory, if there is too little; else it is empty.
    case noServer(name: String, advice: String)
    /// The server has refused the client, with JACK's status bits.
    case refused(status: UInt32)
    /// The server gives no more ports.
    case portRefused(String)
    /// The server does not call this client.
    case notActivated
    /// A server does not release an earlier client.
    case notAnswering
    /// Another output of this program uses another server: libjack can have one in a process.
    case otherServer(name: String)
    /// The render loop of an output that was stopped has not ended, so JACK still waits for it.
    case closureNotEnded
    /// A name that JACK does not take, and why.
    case unfitName(String, why: String)
    /// A tempo or a metre that no program could follow.
    case unfitTempo(beatsPerMinute: Double, beatsPerBar: Double)
    /// A frame that JACK's transport does not have.
    case unfitFrame(Int64)
    /// Another output drives the renderer: which one, and what to do.
    case rendererTaken(String)
    /// A request needs a server, and there is none.
    case notRunning

    /// A sentence or two.
    public var description: String {
        switch self {
        case .noServer(let name, let advice):
            "No JACK server\(name.isEmpty ? "" : " named \"\(name)\"") is running. Start one, for instance with "
                + "`jackd\(name.isEmpty ? "" : " -n \(name)") -d alsa -r 48000 -p 256`, or run this program with "
                + "`pw-jack` where PipeWire runs.\(advice.isEmpty ? "" : " \(advice)")"
        case .refused(let status):
            "The JACK server has refused the program: \(JACKError.reasons(status)). Read the messages of the server."
        case .portRefused(let name):
            "The JACK server gives no port \"\(name)\": it has too few (`jackd -p` sets how many), or the name is taken."
        case .notActivated: "The JACK server does not activate the program. Read the messages of the server."
        case .notAnswering:
            "The JACK server does not answer, and does not even release this program: start the server again."
        case .otherServer(let name):
            "Another output of this program uses the JACK server \"\(name)\": all outputs of a program must use "
                + "the same server."
        case .closureNotEnded:
            "The render loop of an output that was stopped has not ended yet, and JACK lets a program start again only "
                + "after that. Look in the render loop for a `while` without an end, or for a call that waits."
        case .unfitName(let name, let why): "JACK cannot take the name \"\(name)\": \(why)."
        case .unfitTempo(let tempo, let metre):
            "A tempo of \(tempo) beats per minute with \(metre) beats in a bar cannot be led: they must be more than 0 up "
                + "to \(JACKError.mostBeatsPerMinute), and 1 to \(JACKError.mostBeatsPerBar). A tempo of 0 ends leading."
        case .unfitFrame(let frame):
            "The transport has no frame \(frame): its frames are 0 to \(UInt32.max)."
        case .rendererTaken(let sentence): sentence
        case .notRunning: "The output is not connected to a JACK server: start it first."
        }
    }

    static let mostBeatsPerMinute = 100_000.0
    static let mostBeatsPerBar = 1_000.0

    /// Refuses a name of a client that JACK would refuse without a reason, or would cut.
    ///
    /// - Parameter room: Bytes that JACK has for a name, with the 0 at its end.
    static func checkName(_ name: String, room: Int) throws(JACKError) {
        let bytes = name.utf8.count
        if bytes == 0 { throw .unfitName(name, why: "it is empty") }
        if name.utf8.contains(0) { throw .unfitName(name, why: "there is a byte 0 in it") }
        if bytes >= room { throw .unfitName(name, why: "it has \(bytes) bytes, and may have \(room - 1)") }
    }

    /// Returns the meanings of the bits of JACK's status.
    static func reasons(_ status: UInt32) -> String {
        let names: [(JackStatus, String)] = [
            (JackInvalidOption, "an option that it does not know"), (JackNameNotUnique, "the name is taken"),
            (JackServerFailed, "it cannot be reached"),
            (JackServerError, "it does not answer as it should, or this user may lock no memory"),
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
    /// The memory that a server takes with its usual 4096 ports (measured: 105 MB), and with `-p 128`.
    static let usual = 105_000_000

    /// Returns advice if `bytes` of memory are too few, else an empty text: a server with too little ends with SIGBUS.
    static func advice(bytes: Int) -> String {
        bytes >= usual
            ? ""
            : "Mind that /dev/shm has \(bytes / 1_000_000) MB free and a server takes \(usual / 1_000_000): it would die "
                + "of that. Give it more, or start the server with `-p 128`."
    }

    /// The number of bytes that are free; `nil` if the system does not say.
    static var free: Int? {
        var status = statvfs()
        guard unsafe statvfs("/dev/shm", &status) == 0 else { return nil }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }

    static var advice: String { free.map { advice(bytes: $0) } ?? "" }
}
