internal import CPipeWire
internal import Glibc
internal import LinuxRealtime

/// The reason why PipeWire cannot be used. Each says what to do.
///
/// Threads: control.
public enum PipeWireError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The program was built where PipeWire's headers were missing.
    case notBuiltIn
    /// No daemon answers: the name of its socket, and the system's reason.
    case noDaemon(remote: String, reason: String)
    /// The daemon does not answer.
    case notAnswering
    /// There is no device of that name: what there is.
    case noTarget(String, known: [String])
    /// The daemon or the library refuses something, with its reason.
    case refused(what: String, reason: String)
    /// A number or a name that PipeWire does not take, and why.
    case unfit(String)
    /// The render loop of an output that was stopped has not ended, so PipeWire still waits for it.
    case renderLoopNotEnded
    /// Another output drives the renderer: which one, and what to do.
    case rendererTaken(String)
    /// A request needs a connection, and there is none.
    case notRunning

    /// A sentence or two.
    public var description: String {
        switch self {
        case .notBuiltIn:
            "This program was built without PipeWire; please install libpipewire-0.3-dev (its name in Debian) and build again."
        case .noDaemon(let remote, let reason):
            "No PipeWire daemon answers\(remote.isEmpty ? "" : " at \"\(remote)\"") (\(reason)). "
                + PipeWireError.advice
        case .notAnswering:
            "The PipeWire daemon does not answer. Start it again: `systemctl --user restart pipewire wireplumber`."
        case .noTarget(let name, let known):
            "PipeWire has no device called \"\(name)\". "
                + (known.isEmpty
                    ? "It has none at all." : "It has \(known.map { "\"\($0)\"" }.joined(separator: ", ")).")
        case .refused(let what, let reason):
            "PipeWire refuses \(what): \(reason). Read the daemon's messages: `journalctl --user -u pipewire`."
        case .unfit(let sentence): sentence
        case .renderLoopNotEnded:
            "The render loop of an output that was stopped has not ended yet, and PipeWire waits for it. Look in the render "
                + "loop for a `while` without an end, or for a call that waits."
        case .rendererTaken(let sentence): sentence
        case .notRunning: "The output is not connected to PipeWire: start it first."
        }
    }

    /// The daemon belongs to a user's session: root and other logins do not see it.
    private static var advice: String {
        guard unsafe getenv("XDG_RUNTIME_DIR") != nil || getenv("PIPEWIRE_RUNTIME_DIR") != nil else {
            return
                "XDG_RUNTIME_DIR is not set, so this program does not find the session's daemon: log in as its user, or set it to "
                + "/run/user/ and the user's number."
        }
        return
            "Start it with `systemctl --user start pipewire wireplumber`, as the user who is logged in, or play through another "
            + "output (RENDERSTACK_OUTPUT=alsa)."
    }

    /// Returns the error of a connection that was not made.
    static func connecting(to remote: String?, _ error: Int32) -> PipeWireError {
        guard cpw_is_available() else { return .notBuiltIn }
        guard error != -EMFILE, error != -ENFILE else {
            return .unfit(
                "The program has no file left for a connection to PipeWire (it takes about 20): allow more with `ulimit -n`, or use "
                    + "fewer outputs.")
        }
        return .noDaemon(remote: remote ?? "", reason: errorText(-error))
    }
}
