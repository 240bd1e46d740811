internal import SignalBlocks
internal import Synchronization

/// The states of the voices that were asked for, which any thread reads: a place for each that waits or sounds.
///
/// A voice's number says its place, and how often that was taken before, so that an old number is never taken for a new one.
@safe struct VoiceStates: ~Copyable, @unchecked Sendable {
    // Unchecked because behind the pointers is nothing but atomics.
    private let words: UnsafeMutablePointer<Atomic<Int>>
    private let count: Int
    /// The place at which the next search begins, and the number of references to all this.
    private let next: UnsafeMutablePointer<Atomic<Int>>

    /// Places that a closure holds, which makes memory of the render thread.
    final class Box: Sendable {
        let states: VoiceStates
        init(_ count: Int) { states = VoiceStates(count) }
    }

    /// A voice's state, in the low bits of its word.
    enum State {
        static var over: Int { @_noLocks @_noAllocation get { 0 } }
        static var waiting: Int { @_noLocks @_noAllocation get { 1 } }
        static var sounding: Int { @_noLocks @_noAllocation get { 2 } }
    }

    /// - Parameter count: The number of voices that may wait and sound at once, rounded up to a power of 2.
    init(_ count: Int) {
        self.count = 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
        unsafe words = .allocate(capacity: self.count + 2)
        unsafe next = words + self.count
        for place in 0..<self.count { unsafe (words + place).initialize(to: Atomic(place << 2)) }
        unsafe next.initialize(to: Atomic(0))
        unsafe (next + 1).initialize(to: Atomic(1))
    }

    /// Creates another reference to the same places.
    init(sharing other: borrowing VoiceStates) {
        unsafe (words, count, next) = (other.words, other.count, other.next)
        unsafe next[1].wrappingAdd(1, ordering: .relaxed)
    }

    deinit {
        guard unsafe next[1].wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        unsafe words.deinitialize(count: count + 2)
        unsafe words.deallocate()
    }

    /// Takes a place for a voice that will wait. Any thread; no lock.
    ///
    /// - Returns: The number of the voice, above 0; 0 if all places are taken.
    @_noLocks @_noAllocation
    func take() -> Int {
        var tries = 0
        while tries < 2 &* count {
            let place = unsafe next[0].wrappingAdd(1, ordering: .relaxed).oldValue & (count &- 1)
            let old = unsafe words[place].load(ordering: .relaxed)
            if old & 3 == State.over {
                let number = (old &>> 2) &+ count
                let (isTaken, _) = unsafe words[place].compareExchange(
                    expected: old, desired: number &<< 2 | State.waiting, ordering: .acquiringAndReleasing)
                if isTaken { return number }
            }
            tries &+= 1
        }
        return 0
    }

    /// Sets the state of a voice, unless its place was taken by another one since.
    @_noLocks @_noAllocation
    func set(_ state: Int, of number: Int) {
        let place = number & (count &- 1)
        let old = unsafe words[place].load(ordering: .relaxed)
        if old &>> 2 != number || old & 3 == State.over { return }
        _ = unsafe words[place].compareExchange(
            expected: old, desired: number &<< 2 | state, ordering: .acquiringAndReleasing)
    }

    /// Returns the state of a voice: one whose place was taken by another one is over.
    @_noLocks @_noAllocation
    func state(of number: Int) -> Int {
        let word = unsafe words[number & (count &- 1)].load(ordering: .acquiring)
        return word &>> 2 == number ? word & 3 : State.over
    }
}
