internal import Synchronization

/// A value on its way into a ``RenderState``, and the one that it has replaced on the way out.
///
/// A module that is prepared while an older loop still renders it makes memory of another size. That loop must not see
/// it: so the value waits in a list of the state, and the first use of the state by the new loop puts it in place.
@safe @usableFromInline struct StagedValue {
    /// The address of the next one in the list.
    var next: UInt = 0
    /// The token of the module's preparation that it belongs to.
    let token: UInt
    var value: UnsafeMutableRawPointer
    private let factory: Unmanaged<StateFactory>

    /// Returns a value on the heap, to be freed by the factory of its state.
    static func make(
        _ value: UnsafeMutableRawPointer, for token: UInt, _ factory: Unmanaged<StateFactory>
    ) -> UnsafeMutablePointer<StagedValue> {
        let staged = UnsafeMutablePointer<StagedValue>.allocate(capacity: 1)
        unsafe staged.initialize(to: StagedValue(token: token, value: value, factory: factory.retain()))
        return unsafe staged
    }

    /// Frees a list and its values.
    static func freeAll(from address: UInt) {
        var address = address
        while let staged = unsafe at(address) {
            unsafe address = staged.pointee.next
            let factory = unsafe staged.pointee.factory
            unsafe factory.takeUnretainedValue().free(staged.pointee.value)
            unsafe factory.release()
            unsafe staged.deallocate()
        }
    }

    @_noLocks @_noAllocation
    static func at(_ address: UInt) -> UnsafeMutablePointer<StagedValue>? {
        unsafe UnsafeMutablePointer(bitPattern: address)
    }

    /// Adds a value to a list. On any thread.
    @_noLocks @_noAllocation
    static func push(_ staged: UnsafeMutablePointer<StagedValue>, to list: borrowing Atomic<UInt>) {
        var head = list.load(ordering: .relaxed)
        while true {
            unsafe staged.pointee.next = head
            let (exchanged, original) = list.weakCompareExchange(
                expected: head, desired: UInt(bitPattern: staged), ordering: .acquiringAndReleasing)
            if exchanged { return }
            head = original
        }
    }
}

/// The values of one state that wait for their loops. The order in the list means nothing.
@safe @usableFromInline struct StagedValues: ~Copyable, Sendable {
    private let list = Atomic<UInt>(0)
    private let added = Atomic<Int>(0)
    /// The number of times that the control side has taken the list in hand, and given it back: odd while it is not
    /// whole.
    private let sortings = Atomic<UInt>(0)

    init() {}

    deinit { StagedValue.freeAll(from: list.load(ordering: .acquiring)) }

    /// Adds the newest value. On the control side, one thread at a time: the one that prepares the module.
    func add(_ staged: UnsafeMutablePointer<StagedValue>) {
        unsafe StagedValue.push(staged, to: list)
        // A renderer that stands still, and is configured again and again, takes none out.
        if added.wrappingAdd(1, ordering: .relaxed).newValue & 7 == 0 { unsafe prune(staged.pointee.token) }
    }

    /// Frees values for loops before the one that is in place. The thread that prepares a module for a loop does so when
    /// the loop of the preparation before is in place, or has been.
    private func prune(_ newest: UInt) {
        sortings.wrappingAdd(1, ordering: .sequentiallyConsistent)
        var next = list.exchange(0, ordering: .sequentiallyConsistent)
        var old: UInt = 0
        while let staged = unsafe StagedValue.at(next) {
            let address = next
            unsafe next = staged.pointee.next
            let token = unsafe staged.pointee.token
            if token == newest || token.nextEpoch == newest {
                unsafe StagedValue.push(staged, to: list)
            } else {
                unsafe staged.pointee.next = old
                old = address
            }
        }
        sortings.wrappingAdd(1, ordering: .sequentiallyConsistent)
        if old != 0 { Reclaimer.shared.retire { [old] in StagedValue.freeAll(from: old) } }
    }

    /// Frees all: they are for loops of another renderer, which were never rendered. On the control side.
    func forget() {
        let stale = list.exchange(0, ordering: .acquiring)
        if stale != 0 { Reclaimer.shared.retire { StagedValue.freeAll(from: stale) } }
    }

    /// Takes out the value that a loop with this token is to use. On the render thread that owns the state.
    ///
    /// - Parameters:
    ///   - found: The address of that value; 0 if there is none.
    ///   - stale: A list of those that are for no loop any more. Values for later loops stay.
    /// - Returns: `false` if that cannot be said at this moment.
    @_noLocks @_noAllocation
    func take(for token: UInt, _ found: inout UInt, stale: inout UInt) -> Bool {
        let sorting = sortings.load(ordering: .sequentiallyConsistent)
        if sorting & 1 == 1 { return false }
        // All of it, so that no other thread has any of them.
        let isEmpty = list.load(ordering: .sequentiallyConsistent) == 0
        var next = isEmpty ? 0 : list.exchange(0, ordering: .sequentiallyConsistent)
        while let staged = unsafe StagedValue.at(next) {
            let address = next
            unsafe next = staged.pointee.next
            let best = unsafe StagedValue.at(found)?.pointee.token ?? 0
            if unsafe staged.pointee.token.isLater(than: token) {
                unsafe StagedValue.push(staged, to: list)
            } else if unsafe found == 0 || staged.pointee.token.suits(token, betterThan: best) {
                if let worse = unsafe StagedValue.at(found) {
                    unsafe worse.pointee.next = stale
                    stale = found
                }
                found = address
            } else {
                unsafe staged.pointee.next = stale
                stale = address
            }
        }
        // A value that was not found in a list that was not whole means nothing.
        return found != 0 || sortings.load(ordering: .sequentiallyConsistent) == sorting
    }
}

extension UInt {
    /// Returns whether a value with this token is the one for an owner, where the other was the best so far: one that
    /// was made for that owner before one that was not, the later preparation before the earlier.
    @_noLocks @_noAllocation
    fileprivate func suits(_ owner: UInt, betterThan other: UInt) -> Bool {
        if withoutEpoch != owner.withoutEpoch { return false }
        return other.withoutEpoch != owner.withoutEpoch || isLater(than: other)
    }
}
