internal import Synchronization

/// Messages of any length from render threads to control code: lines of a log, packets, tables.
///
///     let log = BytePort()
///     …
///     log.send { line in                                  // in `process`: no lock, no allocation, no wake-up
///         line.append("Voice ")
///         line.append(number)
///         line.append(" ends at ")
///         line.append(level, decimals: 1)
///         line.append(" dB")
///     }
///     …
///     for await message in log.events { print(message.text) }
///
/// The closure writes straight into the port's memory. Any number of threads may send; the messages of one thread arrive in its order.
/// While a closure runs, messages that other threads have begun after it wait for its end. When the port is full, `send` says so and
/// ``lostCount`` counts it. Without a listener the messages stay in the port; ``drain(_:)`` takes them without a listener and without
/// a thread of the package. For values of one size a ``MessagePort`` takes less room.
///
/// Threads: control.
@safe public struct BytePort: EventSource, ~Copyable, @unchecked Sendable {
    // Unchecked because of the ring, whose memory is its own, and of the address of an atomic number.
    private let ring: ByteRing
    /// The number of dry runs that are under way, on any thread.
    private let dryRuns: UnsafePointer<Atomic<Int>>
    private let reader: PortReader<Message>
    /// The bytes that may wait. Each message takes 64 or a multiple of them.
    public let capacity: Int

    /// The bytes of the longest message: a quarter of the capacity.
    ///
    /// Threads: any.
    public var longestMessage: Int { @_noLocks @_noAllocation get { capacity / 4 } }

    /// A message that has arrived.
    ///
    /// Threads: control.
    public struct Message: Sendable, Hashable, CustomStringConvertible {
        /// The bytes that were sent.
        public let bytes: [UInt8]
        /// Indicates whether something did not fit: the message ends before it.
        public let isCut: Bool
        /// The bytes as text; what is not UTF-8 becomes "\u{FFFD}". A message that was cut ends with "…".
        public var text: String { String(decoding: bytes, as: UTF8.self) + (isCut ? "…" : "") }
        /// The text.
        public var description: String { text }
    }

    /// Creates a port.
    ///
    /// - Parameter capacity: The bytes that may wait, 256…16,777,216; rounded up to a power of two.
    /// - Precondition: The capacity is in range.
    public init(capacity: Int = 65_536) {
        demand(
            (256...16_777_216).contains(capacity),
            "BytePort: a capacity of \(capacity) bytes; it must be 256…16,777,216")
        var bytes = 256
        while bytes < capacity { bytes *= 2 }
        let ring = ByteRing(cells: bytes / ByteRing.cell)
        (self.capacity, self.ring) = (bytes, ring)
        unsafe dryRuns = DryRuns.count
        reader = PortReader(limit: bytes / ByteRing.cell) { ring.take(&$0) }
    }

    deinit {
        reader.close()
        ring.deallocate()
    }

    /// Sends the message that a closure writes. In a dry run of a render loop nothing is sent, and the closure does not run.
    ///
    /// - Parameters:
    ///   - bytes: The room that the closure gets, up to ``longestMessage``. What it leaves free is free for others if none of them has
    ///     begun a message meanwhile.
    ///   - body: The closure.
    /// - Returns: `false` if the port was full: the closure has not run, and nothing is sent.
    ///
    /// Threads: any.
    @discardableResult
    @inlinable @_transparent
    public func send(upTo bytes: Int = 256, _ body: (inout Draft) -> Void) -> Bool {
        if isInDryRun { return true }
        guard let claim = begin(bytes) else { return false }
        var draft = Draft(claim, room: room(bytes))
        body(&draft)
        end(claim, draft)
        return true
    }

    /// Sends bytes as they are.
    ///
    /// - Returns: `false` if the port was full, or they are more than ``longestMessage``: nothing is sent, which is counted.
    ///
    /// Threads: any.
    @discardableResult
    @_noLocks @_noAllocation
    public func send(_ bytes: Span<UInt8>) -> Bool {
        if isInDryRun { return true }
        guard bytes.count <= longestMessage else {
            ring.countLoss()
            return false
        }
        guard let claim = begin(bytes.count) else { return false }
        var draft = Draft(claim, room: bytes.count)
        draft.append(bytes)
        end(claim, draft)
        return true
    }

    /// The number of messages that found the port full.
    public var lostCount: Int { ring.lostCount }

    /// Messages from now on, in order.
    public var events: AsyncStream<Message> { reader.subscribe() }

    /// Takes all messages that are there, in order, on this thread. It does not see messages that a listener has taken.
    ///
    /// - Returns: The number of messages.
    @discardableResult
    public func drain(_ body: (Message) -> Void) -> Int {
        let messages = reader.take()
        for message in messages { body(message) }
        return messages.count
    }

    @usableFromInline var isInDryRun: Bool {
        @_noLocks @_noAllocation get {
            unsafe dryRuns.pointee.load(ordering: .relaxed) != 0 && DryRuns.includeThisThread()
        }
    }

    /// Returns the bytes that a message gets whose sender asks for so many.
    @_noLocks @_noAllocation
    @usableFromInline func room(_ bytes: Int) -> Int { min(max(0, bytes), longestMessage) }

    @_noLocks @_noAllocation
    @usableFromInline func begin(_ bytes: Int) -> ByteRing.Claim? { ring.claim(room(bytes)) }

    @_noLocks @_noAllocation
    @usableFromInline func end(_ claim: ByteRing.Claim, _ draft: borrowing Draft) {
        ring.finish(claim, bytes: draft.count, isCut: draft.isCut)
    }
}
