internal import Synchronization

/// Runs of bytes from any number of threads to one, in the order in which their places were claimed: no lock, no allocation. What holds
/// it frees it.
///
/// A sender claims cells in a row, writes into them, gives back those that it did not need if it can, and marks the first. The reader
/// takes what is marked, and passes the cells on.
@safe @usableFromInline struct ByteRing: @unchecked Sendable {
    // Unchecked because cells belong to the sender that has claimed them, then to the one reader.
    /// The bytes of a cell.
    static let cell = 64

    private let bytes: UnsafeMutablePointer<UInt8>
    /// A word for each cell; 0: nothing begins there.
    private let marks: UnsafeMutablePointer<Atomic<UInt64>>
    private let state: UnsafeMutablePointer<State>
    private let mask: UInt

    @safe private struct State: ~Copyable {
        /// The first cell that no sender has claimed, and the first that the reader has not passed, counted without end.
        let next = Atomic<UInt>(0)
        let taken = Atomic<UInt>(0)
        let lost = Atomic<Int>(0)
    }

    /// Cells of one sender.
    @safe @usableFromInline struct Claim: BitwiseCopyable {
        fileprivate let first: UInt
        fileprivate let count: UInt
        let place: UnsafeMutablePointer<UInt8>
    }

    /// - Parameter cells: a power of two.
    init(cells: Int) {
        unsafe bytes = .allocate(capacity: cells * Self.cell)
        unsafe bytes.initialize(repeating: 0, count: cells * Self.cell)
        unsafe marks = .allocate(capacity: cells)
        for cell in 0..<cells { unsafe (marks + cell).initialize(to: Atomic(0)) }
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: State())
        mask = UInt(cells - 1)
    }

    /// The messages that found no room.
    var lostCount: Int { unsafe state.pointee.lost.load(ordering: .relaxed) }

    @_noLocks @_noAllocation
    func countLoss() { unsafe state.pointee.lost.wrappingAdd(1, ordering: .relaxed) }

    func deallocate() {
        unsafe bytes.deallocate()
        unsafe marks.deinitialize(count: Int(mask) + 1)
        unsafe marks.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Claims room for that many bytes. `nil`: the ring is full; that is counted.
    @_noLocks @_noAllocation
    func claim(_ count: Int) -> Claim? {
        let cells = UInt(bitPattern: Swift.max(1, (count &+ Self.cell &- 1) / Self.cell))
        var turn = unsafe state.pointee.next.load(ordering: .acquiring)
        while true {
            // Cells at the end that are too few for the message stay empty, and are marked so.
            let place = turn & mask
            let rest = place &+ cells > mask &+ 1 ? mask &+ 1 &- place : 0
            let taken = unsafe state.pointee.taken.load(ordering: .acquiring)
            if Int(bitPattern: turn &+ rest &+ cells &- taken) > Int(bitPattern: mask) &+ 1 {
                countLoss()
                return nil
            }
            let (exchanged, original) = unsafe state.pointee.next.weakCompareExchange(
                expected: turn, desired: turn &+ rest &+ cells, ordering: .acquiringAndReleasing)
            if exchanged {
                if rest > 0 { unsafe marks[Int(place)].store(UInt64(rest) << 32, ordering: .releasing) }
                let first = turn &+ rest
                return unsafe Claim(first: first, count: cells, place: bytes + Int(first & mask) * Self.cell)
            }
            turn = original
        }
    }

    /// Hands a message to the reader.
    @_noLocks @_noAllocation
    func finish(_ claim: Claim, bytes count: Int, isCut: Bool) {
        // A message that was exchanged for that of another port may say more than there is room for.
        let count = Swift.min(count, Int(bitPattern: claim.count) &* Self.cell)
        let used = UInt(bitPattern: Swift.max(1, (count &+ Self.cell &- 1) / Self.cell))
        var cells = claim.count
        if used < cells {
            // Nothing was claimed behind these cells: those that are not needed are free again.
            let (exchanged, _) = unsafe state.pointee.next.compareExchange(
                expected: claim.first &+ claim.count, desired: claim.first &+ used, ordering: .acquiringAndReleasing)
            if exchanged { cells = used }
        }
        let mark = UInt64(cells) << 32 | (isCut ? 1 << 31 : 0) | UInt64(count &+ 1)
        unsafe marks[Int(claim.first & mask)].store(mark, ordering: .releasing)
    }

    /// The oldest message, taken out. For the one reader, who keeps the turn that it has come to.
    func take(_ turn: inout UInt) -> BytePort.Message? {
        while true {
            let place = Int(turn & mask)
            let mark = unsafe marks[place].load(ordering: .acquiring)
            guard mark != 0 else { return nil }
            let count = Int(mark & 0x7FFF_FFFF) - 1
            let message = unsafe BytePort.Message(
                bytes: Array(UnsafeBufferPointer(start: bytes + place * Self.cell, count: max(0, count))),
                isCut: mark & 1 << 31 != 0)
            unsafe marks[place].store(0, ordering: .relaxed)
            turn &+= UInt(mark >> 32)
            unsafe state.pointee.taken.store(turn, ordering: .releasing)
            if count >= 0 { return message }
        }
    }
}
