internal import Synchronization

/// One flag for each of many things, which says that it was changed: a module that reads thousands looks at these first.
///
/// A flag is raised after the new value is shown. So a module that lowers it and then reads the value misses nothing: a value whose
/// flag is not up yet comes with the next slice at the latest.
@safe package final class ChangeFlags: @unchecked Sendable {
    // Unchecked because behind the pointer is nothing but atomics. The first word says whether any flag may be up.
    fileprivate let words: UnsafeMutablePointer<Atomic<UInt64>>
    fileprivate let wordCount: Int

    /// Creates flags that are down: 1…65,536.
    package init(count: Int) {
        demand(count >= 1 && count <= 65_536, "ChangeFlags takes 1 to 65536 flags, not \(count)")
        wordCount = (count + 63) / 64
        unsafe words = .allocate(capacity: wordCount + 1)
        for word in 0...wordCount { unsafe (words + word).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe words.deinitialize(count: wordCount + 1)
        unsafe words.deallocate()
    }

    /// The place of these flags, for the one thread that reads them while their owner keeps them.
    package var place: FlagsPlace { unsafe FlagsPlace(words: words, wordCount: wordCount) }
}

/// The place of some ``ChangeFlags``, without the right to keep them.
@safe package struct FlagsPlace: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because behind the pointer is nothing but atomics.
    fileprivate let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// The number of words that hold the flags, 64 in each.
    package let wordCount: Int

    /// Returns whether a flag may have been raised since this was asked.
    @_noLocks @_noAllocation
    package func takeAny() -> Bool {
        // Sequentially consistent: after the cycle counter's store, see `Reclaimer`.
        if unsafe words[0].load(ordering: .sequentiallyConsistent) == 0 { return false }
        return unsafe words[0].exchange(0, ordering: .sequentiallyConsistent) != 0
    }

    /// Lowers 64 flags. Returns those that were up.
    @_noLocks @_noAllocation
    package func take(_ word: Int) -> UInt64 {
        guard word >= 0 && word < wordCount else { return 0 }
        if unsafe words[word &+ 1].load(ordering: .relaxed) == 0 { return 0 }
        return unsafe words[word &+ 1].exchange(0, ordering: .acquiring)
    }
}

/// A signal that raises one flag of some ``ChangeFlags``; it may join others later, also while a transaction is open that will raise it.
@safe package final class ChangeSignal: @unchecked Sendable {
    // Unchecked because the place is atomic, and the flags stay until no cycle can look at them any more.
    /// The address of the flags, and the number of the flag in the low 16 bits; 0 for none.
    private let place = Atomic<UInt>(0)
    private let flags = Lock<ChangeFlags?>(nil)

    /// Creates a signal that raises nothing yet.
    package init() {}

    /// Raises a flag of these from now on.
    package func join(_ new: ChangeFlags, at index: Int) {
        let address = unsafe UInt(bitPattern: new.words)
        demand(address >> 48 == 0 && index >= 0 && index < 64 * new.wordCount, "a flag of number \(index)")
        exchange(new, address << 16 | UInt(index))
    }

    /// Raises nothing from now on.
    package func leave() { exchange(nil, 0) }

    private func exchange(_ new: ChangeFlags?, _ address: UInt) {
        let old = flags.withLock { flags in
            let old = flags
            flags = new
            place.store(address, ordering: .sequentiallyConsistent)
            return old
        }
        // A render thread may be about to raise the old one.
        Reclaimer.shared.retire { withExtendedLifetime(old) {} }
    }

    /// Raises the flag; in an open transaction, when that is applied.
    package func raise() { raise {} }

    /// Makes a change and raises the flag, before anything that was replaced is freed; in an open transaction, when that is applied.
    /// So the reader may keep the place of what was shown for as long as the flag is not raised.
    package func raise(after change: () -> Void) {
        if let open = Transaction.current {
            change()
            // And once more when it has been applied: another thread may have applied it than the one that reads the flags, and have
            // shown the value after the flag.
            return open.stage(SignalChange(self))
        }
        let hold = CycleCounter()
        Reclaimer.shared.add(hold)
        _ = hold.begin()
        change()
        flags.withLock { _ in raiseNow() }
        hold.end()
        Reclaimer.shared.remove(hold)
    }

    /// On a render thread, inside of a counted cycle, or with the lock held.
    @_noLocks @_noAllocation
    fileprivate func raiseNow() {
        let place = place.load(ordering: .sequentiallyConsistent)
        guard let words = unsafe UnsafeMutablePointer<Atomic<UInt64>>(bitPattern: place >> 16) else { return }
        let index = Int(place & 0xffff)
        unsafe words[1 &+ index &>> 6].bitwiseOr(1 &<< UInt64(index & 63), ordering: .sequentiallyConsistent)
        unsafe words[0].bitwiseOr(1, ordering: .sequentiallyConsistent)
    }

    fileprivate var cell: UInt { unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }
}

/// A flag that is raised with the changes of a transaction.
private final class SignalChange: Change, @unchecked Sendable {
    // Unchecked because a change has one owner at a time: see ``Change``.
    private let signal: ChangeSignal

    init(_ signal: ChangeSignal) {
        self.signal = signal
        super.init(completion: { OpenTransaction.suspended { signal.raise() } })
    }

    override var cell: UInt { signal.cell }
    override func show() { signal.raiseNow() }
}
