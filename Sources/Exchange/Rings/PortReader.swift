/// The control side of a port: hands what waits there to listeners, or to a caller.
final class PortReader<Value: Sendable>: Collectable, Sendable {
    private let limit: Int
    private let takeOne: @Sendable (inout UInt) -> Value?
    private let hub = EventHub<Value>()
    private let position = Lock<UInt?>(0)
    /// The lock that is held from taking values to handing them on: no thread overtakes another, and none takes
    /// values when the stream ends.
    private let delivery = Lock(0, .delivery)

    /// - Parameters:
    ///   - limit: The number of values for which there is room.
    ///   - takeOne: Takes the oldest value out of the port's ring, and moves the turn on.
    init(limit: Int, _ takeOne: @escaping @Sendable (inout UInt) -> Value?) {
        (self.limit, self.takeOne) = (limit, takeOne)
    }

    func subscribe() -> AsyncStream<Value> {
        let stream = hub.subscribe()
        Collector.shared.add(self)
        return stream
    }

    func take() -> [Value] {
        position.withLock { position in
            var values: [Value] = []
            // It takes no more than there is room for: senders may be as fast as this.
            while values.count < limit, var turn = position {
                let value = takeOne(&turn)
                // A ring may have passed something by, and then have come to nothing.
                position = turn
                guard let value else { break }
                values.append(value)
            }
            return values
        }
    }

    package func collect() -> Bool {
        guard hub.hasListeners else { return false }
        return delivery.withLock { _ in
            let values = take()
            for value in values { hub.send(value) }
            return !values.isEmpty
        }
    }

    /// Hands the remaining values to the listeners, and ends their streams. The ring is about to go.
    func close() {
        _ = collect()
        position.withLock { $0 = nil }
        delivery.withLock { _ in hub.finish() }
    }
}
