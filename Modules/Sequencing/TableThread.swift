internal import RenderCore

/// The one thread that works out the tables of all sequencers, every 20 ms.
final class TableThread: Sendable {
    static let shared = TableThread()

    private let clients = Lock(WeakList<Sequencer>())
    private let thread = ServiceThread(name: "rs-tables") { TableThread.shared.run() }

    private init() {}

    /// Serves a sequencer from now on, for as long as it exists.
    func add(_ sequencer: Sequencer) {
        clients.withLock { $0.add(ObjectIdentifier(sequencer)) { [weak sequencer] in sequencer } }
        thread.wake()
    }

    private func run() {
        while true {
            // A function of its own holds the sequencers, so that none is kept alive while the thread sleeps.
            let count = serve()
            thread.sleep(milliseconds: count > 0 ? 20 : 60_000)
        }
    }

    private func serve() -> Int {
        let current = clients.withLock { $0.living }
        for sequencer in current { sequencer.provideAll() }
        return current.count
    }
}
