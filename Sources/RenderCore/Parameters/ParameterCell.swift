public import Synchronization

/// The part of a parameter that the render thread reads in each slice: 24 bytes. See
/// ``ParameterCells``.
@safe @usableFromInline struct ParameterCell: ~Copyable, Sendable {
    /// The value that the render thread sees; it is behind ``ParameterDetails/requested`` while a transaction is under
    /// way.
    @usableFromInline let published: Atomic<UInt64>

    // The state of rest, which is nearly always the case. The render thread writes it when a glide is over: the version
    // and the rate of that moment, and the value that the word and the rate stand for.
    @usableFromInline let restKey = Atomic<UInt64>(0)
    @usableFromInline let restValue = Atomic<UInt32>(0)

    /// The greatest value by the sample rate; infinite where there is no such limit.
    @usableFromInline let rateFactor: Float

    init(_ bits: UInt32, rateFactor: Float) {
        published = Atomic(UInt64(bits))
        self.rateFactor = rateFactor
    }

    /// Returns the value in a published word, as far as the sample rate allows it.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) func value(_ word: UInt64, rate: Double) -> Float {
        let value = Float(bitPattern: UInt32(truncatingIfNeeded: word))
        // The test comes first: the rest then need not wait for the product. Bit patterns take one comparison in memory.
        if _fastPath(rateFactor.bitPattern == Float.infinity.bitPattern) { return value }
        let limit = Float(rate) * rateFactor
        return value < limit ? value : limit
    }

    /// Returns the version of a published word and a rate's bits as one number. It tells rates apart that differ by 0.03 Hz,
    /// and those nearer to each other unless the version has moved by just as much. As a sum it takes two steps, where parts
    /// side by side take five: modules ask for it for each of their parameters.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) static func key(_ word: UInt64, rateBits: UInt64) -> UInt64 {
        (word &>> 32) &+ rateBits
    }

    /// Keeps the value from now on, until another one is published or the rate changes.
    @_noLocks @_noAllocation
    func rest(at value: Float, _ word: UInt64, rate: Double) {
        restValue.store(value.bitPattern, ordering: .relaxed)
        restKey.store(ParameterCell.key(word, rateBits: rate.bitPattern), ordering: .relaxed)
    }

    /// Shows a value to the render thread, unless a newer one is shown already. Any thread.
    @_noLocks @_noAllocation
    func publish(_ new: UInt64) {
        var old = published.load(ordering: .relaxed)
        // Versions wrap; the newer of two is the one less than half the range ahead.
        while Int32(truncatingIfNeeded: (new &>> 32) &- (old &>> 32)) > 0 {
            let (exchanged, original) = published.weakCompareExchange(
                expected: old, desired: new, ordering: .acquiringAndReleasing)
            if exchanged { return }
            old = original
        }
    }
}

/// The memory of all cells, side by side in the order in which they were made. Modules that run one after the other
/// find theirs in lines of the cache that follow one another.
enum ParameterCells {
    /// Cells in a piece of memory, which behind them has as many addresses of their details. Pieces are never given
    /// back: the next parameters take cells that are free.
    private static var count: Int { @_noLocks @_noAllocation get { 256 } }
    /// A piece begins at a multiple of its size, so that the address of a cell says where in which piece it is.
    private static var size: Int { @_noLocks @_noAllocation get { 8_192 } }

    /// The cells that no parameter has; new ones are taken from the end.
    private static let room = unsafe Lock<[UnsafeMutablePointer<ParameterCell>]>([])

    static func make(
        _ bits: UInt32, rateFactor: Float, _ details: UnsafeMutablePointer<ParameterDetails>
    ) -> UnsafeMutablePointer<ParameterCell> {
        let cell = unsafe room.withLock { room in
            if unsafe room.isEmpty {
                let piece = unsafe UnsafeMutableRawPointer.allocate(byteCount: Self.size, alignment: Self.size)
                    .bindMemory(to: ParameterCell.self, capacity: Self.count)
                unsafe room = (0..<Self.count).reversed().map { unsafe piece + $0 }
            }
            return unsafe room.removeLast()
        }
        unsafe cell.initialize(to: ParameterCell(bits, rateFactor: rateFactor))
        unsafe Self.place(cell).initialize(to: details)
        return unsafe cell
    }

    static func free(_ cell: UnsafeMutablePointer<ParameterCell>) {
        unsafe cell.deinitialize(count: 1)
        unsafe room.withLock { unsafe $0.append(cell) }
    }

    /// Returns the details that belong to a cell.
    @_noLocks @_noAllocation
    static func details(_ cell: UnsafeMutablePointer<ParameterCell>) -> UnsafeMutablePointer<ParameterDetails> {
        unsafe place(cell).pointee
    }

    @_noLocks @_noAllocation
    private static func place(
        _ cell: UnsafeMutablePointer<ParameterCell>
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<ParameterDetails>> {
        let offset = Int(bitPattern: cell) & (size &- 1)
        let stride = MemoryLayout<ParameterCell>.stride
        let addresses = unsafe UnsafeMutableRawPointer(cell) - offset + count &* stride
        return unsafe addresses.assumingMemoryBound(to: UnsafeMutablePointer<ParameterDetails>.self) + offset / stride
    }
}
