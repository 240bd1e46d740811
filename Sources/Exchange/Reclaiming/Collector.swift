internal import CRender

/// Something that the render thread leaves things for, without waking a thread.
package protocol Collectable: AnyObject, Sendable {
    /// Takes the work that waits. Returns whether there was something, or will be soon. It runs no code of a user.
    func collect() -> Bool
}

/// The one thread that looks after the work that render threads leave behind: events, and finished jobs.
///
/// It polls, every 5 ms while there is something to do and every 100 ms when there was nothing for a second, so that a
/// render thread never has to make a system call to wake it. It needs no run loop and no main thread, and starts with its
/// first client. It runs no code of a user: see ``Reclaimer``.
package final class Collector: Sendable {
    package static let shared = Collector()

    private let clients = Lock(WeakList<any Collectable>())
    private let thread = ServiceThread(name: "rs-collector") { Collector.shared.run() }

    private init() {}

    /// Looks after a client, for as long as it exists.
    package func add(_ client: any Collectable) {
        clients.withLock { $0.add(ObjectIdentifier(client)) { [weak client] in client } }
        thread.wake()
    }

    /// Says that there is something to do. From the control side.
    package func wake() { thread.wake() }

    /// Has code of a user run on a thread that may wait for it, in order with other such errands.
    package func runErrand(_ errand: @escaping @Sendable () -> Void) { Reclaimer.shared.runErrand(errand) }

    private func run() {
        var quiet = 0
        var rounds = 0
        while true {
            // Memory that the program takes while it plays is locked once a second.
            rounds += 1
            if rounds % (quiet < 200 ? 200 : 10) == 0 { crender_lock_new_memory() }
            // A round of its own, so that no client is kept alive while the thread sleeps.
            quiet = collect() ? 0 : quiet + 1
            if quiet < 200 { thread.nap(milliseconds: 5) } else { thread.sleep(milliseconds: 100) }
        }
    }

    /// Returns whether there was something.
    private func collect() -> Bool {
        var wasBusy = false
        for client in clients.withLock({ $0.living }) where client.collect() { wasBusy = true }
        return wasBusy
    }
}
