public import Synchronization

/// Plain values from render threads to control code: "the main-thread message queue".
///
///     let levels = MessagePort<Float>(capacity: 64)
///     …
///     levels.send(peak)                                   // in `process`: no lock, no allocation, no wake-up
///     …
///     for await level in levels.events { … }              // anywhere
///     let subscription = levels.onMain { level in … }     // on the main actor
///
/// Any number of threads may send; the values of one thread arrive in its order. When the port is full, `send` says so
/// and ``lostCount`` counts it. Without a listener the values stay in the port; ``drain(_:)`` takes them without a
/// listener and without a thread of the package. A ``BytePort`` takes messages of any length.
///
/// Threads: control.
@safe public struct MessagePort<Value: BitwiseCopyable & Sendable>: EventSource, ~Copyable, @unchecked Sendable {
    // Unchecked because of the ring, whose memory is its own, and of the address of an atomic number.
    @usableFromInline let ring: TurnRing<Value>
    /// The number of dry runs that are under way, on any thread.
    @usableFromInline let dryRuns: UnsafePointer<Atomic<Int>>
    private let reader: PortReader<Value>

    /// Creates a port.
    ///
    /// - Parameter capacity: The number of values that may wait, 1…65,536; rounded up to a power of two.
    /// - Precondition: The capacity is in range.
    public init(capacity: Int = 256) {
        demand((1...65_536).contains(capacity), "MessagePort: a capacity of \(capacity); it must be 1…65,536")
        var count = 2
        while count < capacity { count *= 2 }
        let ring = TurnRing<Value>(capacity: count)
        self.ring = ring
        unsafe dryRuns = DryRuns.count
        reader = PortReader(limit: count) { ring.take(&$0) }
    }

    deinit {
        reader.close()
        ring.deallocate()
    }

    /// Sends a value. In a dry run of a render loop nothing is sent.
    ///
    /// - Returns: `false` if the port was full and the value was not taken.
    ///
    /// Threads: any.
    @discardableResult
    @inlinable public func send(_ value: Value) -> Bool {
        if unsafe dryRuns.pointee.load(ordering: .relaxed) != 0, DryRuns.includeThisThread() { return true }
        return ring.send(value)
    }

    /// The number of values that found the port full.
    public var lostCount: Int { unsafe ring.state.pointee.lost.load(ordering: .relaxed) }

    /// The number of values that may wait.
    public var capacity: Int { Int(ring.mask) + 1 }

    /// Values from now on, in order.
    public var events: AsyncStream<Value> { reader.subscribe() }

    /// Takes all values that are there, in order, on this thread. It does not see values that a listener has taken.
    ///
    /// - Returns: The number of values.
    @discardableResult
    public func drain(_ body: (Value) -> Void) -> Int {
        let values = reader.take()
        for value in values { body(value) }
        return values.count
    }
}
