internal import RenderCore

/// Something that wants to be read for, or written for.
package protocol DiskClient: AnyObject, Sendable {
    /// Moves what can be moved in one go.
    ///
    /// - Returns: what it wants next.
    func serveDisk() -> DiskNeed
}

/// When the disk thread is to look again.
package enum DiskNeed: Sendable {
    /// At once: there is more to be moved.
    case more
    /// Soon: it is playing or recording.
    case soon
    /// Some time: nothing is going on.
    case none
}

/// The one thread that reads and writes for all players and recorders.
///
/// It polls, so that no render thread has to wake it: every 5 ms while somebody plays or records, every 50 ms while
/// nobody does, and not at all while there is nobody. Control code may wake it. All get their turn, a chunk each.
package final class DiskThread: Sendable {
    package static let shared = DiskThread()

    private struct Weak {
        weak var client: (any DiskClient)?
    }
    private let clients = Lock<[Weak]>([])
    private let thread = ServiceThread(name: "rs-disk") { DiskThread.shared.run() }

    private init() {}

    /// Serves somebody from now on, for as long as it exists.
    package func add(_ client: any DiskClient) {
        clients.withLock { $0.append(Weak(client: client)) }
        thread.wake()
    }

    /// Has it look now. From the control side.
    package func wake() { thread.wake() }

    private func run() {
        while true {
            // Of their own, so that nobody is kept alive while the thread sleeps.
            let (need, count) = serve()
            switch need {
            case .more: continue
            case .soon: thread.sleep(milliseconds: 5)
            case .none: thread.sleep(milliseconds: count > 0 ? 50 : 60_000)
            }
        }
    }

    private func serve() -> (need: DiskNeed, count: Int) {
        let current = clients.withLock { clients in
            clients.removeAll { $0.client == nil }
            return clients.compactMap(\.client)
        }
        var need = DiskNeed.none
        for client in current {
            switch (client.serveDisk(), need) {
            case (.more, _): need = .more
            case (.soon, .none): need = .soon
            default: break
            }
        }
        return (need, current.count)
    }
}
