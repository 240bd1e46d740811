internal import Glibc
internal import RenderCore
internal import Synchronization

/// A program's part in a session of NSM (Non, New or RaySession's session manager): it is told where to keep its things,
/// and when to save them.
///
///     if let session = NSMSession(name: "Synth", open: { place in
///         load(place.path)                                  // or begin anew
///         output.start() …                                  // under place.clientName, so that connections are found
///         return nil                                        // or a sentence: what went wrong
///     }, save: { place in store(place.path) }) { … }
///
/// The manager ends a program with SIGTERM: `RenderOutput.run(for:)` returns then. It is there if the manager has
/// started the program, which `NSM_URL` in the environment tells.
public final class NSMSession: Sendable {
    /// Where a program keeps its part of a session.
    public struct Place: Sendable, Hashable {
        /// The start of the paths of its files, or a folder of its own.
        public let path: String
        /// What the session is called.
        public let sessionName: String
        /// What the program is to be called by JACK: unlike any other of the session.
        public let clientName: String
    }

    /// Does what is asked for; returns `nil`, or what went wrong.
    public typealias Handler = @Sendable (Place) -> String?

    private let link: Link
    private let thread: Task<Void, Never>

    /// What the session's thread and control code share.
    private final class Link: Sendable {
        let socket: DatagramSocket
        let place = Lock<Place?>(nil)
        let isLoaded = Atomic<Bool>(false)
        let manager = Lock<String?>(nil)
        init(_ socket: consuming DatagramSocket) { self.socket = socket }
    }

    /// Joins the session that has started the program. `nil`: there is none.
    ///
    /// - Parameters:
    ///   - name: what the program is called.
    ///   - url: the manager's address; `NSM_URL` if nothing is said.
    ///   - open: called when there is a session to open, on a thread of the session's; again if the manager changes it.
    ///   - save: called when it is to be saved.
    public init?(name: String, url: String? = nil, open: @escaping Handler, save: @escaping Handler) {
        let environment = unsafe getenv("NSM_URL").map { unsafe String(cString: $0) }
        guard let (host, port) = NSMSession.parse(url ?? environment ?? ""),
            let socket = DatagramSocket(host: host, port: port)
        else {
            return nil
        }
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
                guard let bytes = link.socket.receive(within: 0), let message = OSCMessage(bytes: bytes) else {
                    try? await Task.sleep(for: .milliseconds(20))
                    continue
                }
                NSMSession.answer(message, link, open, save)
            }
        }
    }

    deinit { thread.cancel() }

    /// Where the program keeps its part; `nil` before the session has been opened.
    public var place: Place? { link.place.withLock { $0 } }

    /// What the manager is called; `nil` before it has answered.
    public var managerName: String? { link.manager.withLock { $0 } }

    /// Whether all programs of the session have been opened.
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
            link.place.withLock { $0 = place }
            reply(open(place), -1)
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

    /// The host and port of `osc.udp://host:port/`.
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
