internal import Glibc
internal import Synchronization

/// Something that the render thread leaves things for, without waking anybody.
package protocol Collectable: AnyObject, Sendable {
    /// Takes what is there. Returns whether there was something, or will be soon.
    func collect() -> Bool
}

/// The one thread that looks after what render threads leave behind: events, finished jobs, values to be freed.
///
/// It polls, every 5 ms while there is something to do and every 100 ms when there was nothing for a second, so that a
/// render thread never has to make a system call to wake it. It needs no run loop and no main thread, and starts when
/// there is somebody to look after.
package final class Collector: Sendable {
    package static let shared = Collector()

    private struct Weak {
        weak var object: (any Collectable)?
    }
    private let clients = Lock<[ObjectIdentifier: Weak]>([:])
    private let thread = ServiceThread(name: "rs-collector") { Collector.shared.run() }

    /// How often it has begun or ended a round: odd while one is under way.
    private let rounds = Atomic<UInt>(0)

    private init() {}

    /// Looks after somebody, for as long as it exists.
    package func add(_ client: any Collectable) {
        clients.withLock { $0[ObjectIdentifier(client)] = Weak(object: client) }
        thread.wake()
    }

    /// Says that there is something to do. From the control side.
    package func wake() { thread.wake() }

    /// Waits until a round that is under way has ended, 200 ms at most: whoever is looked after exists until then, though
    /// its owner may have given it up.
    func finishRound() {
        let round = rounds.load(ordering: .acquiring)
        guard round & 1 == 1, !thread.isCurrent else { return }
        for _ in 0..<400 where rounds.load(ordering: .acquiring) == round { usleep(500) }
    }

    private func run() {
        var quiet = 0
        while true {
            // Of its own, so that nobody is kept alive while the thread sleeps.
            rounds.wrappingAdd(1, ordering: .acquiring)
            quiet = collect() ? 0 : quiet + 1
            rounds.wrappingAdd(1, ordering: .releasing)
            if quiet < 200 { thread.nap(milliseconds: 5) } else { thread.sleep(milliseconds: 100) }
        }
    }

    /// Whether there was something.
    private func collect() -> Bool {
        let current = clients.withLock { clients in
            let current = clients.values.compactMap(\.object)
            if current.count < clients.count { clients = clients.filter { $0.value.object != nil } }
            return current
        }
        var wasBusy = false
        for client in current where client.collect() { wasBusy = true }
        if Reclaimer.shared.collect() { wasBusy = true }
        return wasBusy
    }
}
