internal import AudioFiles
internal import RenderCore

/// A player or recorder that wants to be read for, or written for.
package protocol DiskClient: AnyObject, Sendable {
    /// Moves as many frames as it can in one go.
    ///
    /// - Returns: The time at which the client wants to be served next.
    func serveDisk() -> DiskNeed
}

/// The time at which the disk thread is to look again; a more urgent one is greater.
package enum DiskNeed: Comparable, Sendable {
    /// Some time: nothing is going on.
    case none
    /// Soon: it is playing or recording.
    case soon
    /// At once: there are more frames to be moved.
    case more
}

/// The one thread that reads and writes for all players and recorders.
///
/// It polls, so that no render thread has to wake it: every 5 ms while a client plays or records, every 50 ms while
/// none does, and not at all while there are no clients. Control code may wake it. All get their turn, a chunk each.
package final class DiskThread: Sendable {
    package static let shared = DiskThread()

    private let clients = Lock(WeakList<any DiskClient>())
    private let thread = ServiceThread(name: "rs-disk") { DiskThread.shared.run() }

    private init() {}

    /// Serves a client from now on, for as long as the client exists.
    package func add(_ client: any DiskClient) {
        clients.withLock { $0.add(ObjectIdentifier(client)) { [weak client] in client } }
        thread.wake()
    }

    /// Has it look now. From the control side.
    package func wake() { thread.wake() }

    private func run() {
        while true {
            // A function of its own holds the clients, so that none is kept alive while the thread sleeps.
            let (need, count) = serve()
            switch need {
            case .more: continue
            case .soon: thread.sleep(milliseconds: 5)
            case .none: thread.sleep(milliseconds: count > 0 ? 50 : 60_000)
            }
        }
    }

    private func serve() -> (need: DiskNeed, count: Int) {
        let current = clients.withLock { $0.living }
        return (current.reduce(.none) { max($0, $1.serveDisk()) }, current.count)
    }
}
