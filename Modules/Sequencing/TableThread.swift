internal import RenderCore

/// An object that a thread beside the audio looks after.
protocol TableClient: AnyObject, Sendable {
    /// Does what is to be done now.
    func serve()
}

extension Sequencer: TableClient {
    func serve() { provideAll() }
}

extension ClipRecorder: TableClient {
    func serve() { giveTrack() }
}

/// The one thread that works out the tables of all sequencers, and takes what recorders have recorded, every 20 ms.
final class TableThread: Sendable {
    static let shared = TableThread()

    private let clients = Lock(WeakList<any TableClient>())
    private let thread = ServiceThread(name: "rs-tables") { TableThread.shared.run() }

    private init() {}

    /// Serves an object from now on, for as long as it exists.
    func add(_ client: some TableClient) {
        clients.withLock { $0.add(ObjectIdentifier(client)) { [weak client] in client } }
        thread.wake()
    }

    private func run() {
        while true {
            // A function of its own holds the clients, so that none is kept alive while the thread sleeps.
            let count = serve()
            thread.sleep(milliseconds: count > 0 ? 20 : 60_000)
        }
    }

    private func serve() -> Int {
        let current = clients.withLock { $0.living }
        for client in current { client.serve() }
        return current.count
    }
}
