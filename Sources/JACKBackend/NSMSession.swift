internal import Glibc
internal import RenderCore
internal import Synchronization

/// A program's part in a session of NSM (Non, New or RaySession's session manager). The manager tells the program where
/// to keep its files, and when to save them.
///
///     if let session = NSMSession(name: "Synth", open: { place in
///         load(place.path)                                  // or begin anew
///         output.start() …                                  // under place.clientName, so that connections are found
///         return nil                                        // or a sentence: what went wrong
///     }, save: { place in store(place.path) }) { … }
///
/// The manager ends a program with SIGTERM: `RenderOutput.run(for:)` returns then. The session is `nil` unless the
/// manager has started the program, which `NSM_URL` in the environment says.
///
/// Threads: control.
public final class NSMSession: Sendable {
    /// The place where a program keeps its part of a session.
    ///
    /// Threads: control.
    public struct Place: Sendable, Hashable {
        /// The start of the paths of its files, or a folder of its own.
        public let path: String
        /// The name of the session.
        public let sessionName: String
        /// The name for the program in JACK: unlike any other of the session.
        public let clientName: String
    }

    /// Handles a request of the manager; returns `nil`, or a sentence that says what went wrong.
    public typealias Handler = @Sendable (Place) -> String?

    private let link: Link
    private let thread: Task<Void, Never>

    /// The values that the session's thread and control code share.
    private final class Link: Sendable {
        let socket: DatagramSocket
        let place = Lock<Place?>(nil)
        let isLoaded = Atomic<Bool>(false)
        let manager = Lock<String?>(nil)
        init(_ socket: consuming DatagramSocket) { self.socket = socket }
    }

    /// Joins the session that has started the program. The result is `nil` if there is none.
    ///
    /// - Parameters:
    ///   - name: The name of the program.
    ///   - url: The manager's address; by default `NSM_URL`.
    ///   - open: The closure that opens a session, on a thread of the session's; it is called again if the manager
    ///     changes it.
    ///   - save: The closure that saves the program's part.
    public convenience init?(name: String, url: String? = nil, open: @escaping Handler, save: @escaping Handler) {
        let environment = unsafe getenv("NSM_URL").map { unsafe String(cString: $0) }
        guard let (host, port) = NSMSession.parse(url ?? environment ?? "") else { return nil }
        self.init(name: name, hosts: [host], port: port, open: open, save: save)
    }

    /// Joins the session of a manager that is at one of several hosts.
    init?(name: String, hosts: [String], port: String, open: @escaping Handler, save: @escaping Handler) {
        guard let socket = DatagramSocket(hosts: hosts, port: port) else { return nil }
        link = Link(socket)
        let executable = CommandLine.arguments.first ?? name
        link.socket.send(
            OSCMessage(
                "/nsm/server/announce", .string(name), .string(":dirty:switch:"), .string(executable), .integer(1),
                .integer(2), .integer(getpid())
            ).bytes)
        let link = link
        thread = Task.detached {
            while !Task.isCancelled {
                // A datagram socket cannot be waited for without a thread: short looks, far from the audio.
                guard let bytes = link.socket.receive() else {
                    try? await Task.sleep(for: .milliseconds(20))
                    continue
                }
                // Behind a datagram that is no message the next one may wait.
                guard let message = OSCMessage(bytes: bytes) else { continue }
                NSMSession.answer(message, link, open, save)
            }
        }
    }

    deinit { thread.cancel() }

    /// The place where the program keeps its part; `nil` before the session has been opened.
    public var place: Place? { link.place.withLock { $0 } }

    /// The name of the manager; `nil` before it has answered.
    public var managerName: String? { link.manager.withLock { $0 } }

    /// Indicates whether all programs of the session have been opened.
    public var isLoaded: Bool { link.isLoaded.load(ordering: .acquiring) }

    /// Tells the manager whether there is something to be saved.
    public func setDirty(_ isDirty: Bool) {
        link.socket.send(OSCMessage(isDirty ? "/nsm/client/is_dirty" : "/nsm/client/is_clean").bytes)
    }

    private static func answer(_ message: OSCMessage, _ link: Link, _ open: Handler, _ save: Handler) {
        func reply(_ problem: String?, _ code: Int32) {
            link.socket.send(
                problem.map { OSCMessage("/error", .string(message.address), .integer(code), .string($0)).bytes }
                    ?? OSCMessage("/reply", .string(message.address), .string("OK")).bytes)
        }
        switch message.address {
        case "/reply" where message.strings.first == "/nsm/server/announce":
            link.manager.withLock { $0 = message.strings.count > 2 ? message.strings[2] : "" }
        case "/nsm/client/open" where message.strings.count >= 3:
            let place = Place(
                path: message.strings[0], sessionName: message.strings[1], clientName: message.strings[2])
            let problem = open(place)
            // A place that was refused is not saved to: the one before stays.
            if problem == nil { link.place.withLock { $0 = place } }
            reply(problem, -1)
        case "/nsm/client/save":
            if let place = link.place.withLock({ $0 }) {
                reply(save(place), -3)
            } else {
                reply("No session has been opened.", -6)
            }
        case "/nsm/client/session_is_loaded": link.isLoaded.store(true, ordering: .releasing)
        default: break
        }
    }

    /// Returns the host and port of `osc.udp://host:port/`.
    static func parse(_ url: String) -> (host: String, port: String)? {
        guard url.hasPrefix("osc.udp://") else { return nil }
        let rest = url.dropFirst("osc.udp://".count).prefix { $0 != "/" }
        guard let colon = rest.lastIndex(of: ":") else { return nil }
        let host = rest[..<colon].trimmingPrefix("[").prefix { $0 != "]" }
        let port = rest[rest.index(after: colon)...]
        guard !host.isEmpty, UInt16(port) != nil else { return nil }
        return (String(host), String(port))
    }
}
