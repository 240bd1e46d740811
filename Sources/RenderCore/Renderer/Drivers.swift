internal import Synchronization

/// The output that drives a renderer.
final class Drivers: Sendable {
    /// Its number; 0 for none.
    let current = Atomic<UInt>(0)
    private let named = Lock((next: UInt(1), name: ""))

    /// Makes an output the one that drives. `nil`: another one does.
    func begin(_ name: String) -> UInt? {
        named.withLock { named in
            guard current.compareExchange(expected: 0, desired: named.next, ordering: .relaxed).exchanged else {
                return nil
            }
            named.next += 1
            named.name = name
            return named.next - 1
        }
    }

    func end(_ driver: UInt) { _ = current.compareExchange(expected: driver, desired: 0, ordering: .relaxed) }

    /// The name of the output.
    var name: String { named.withLock { $0.name } }
}
