internal import RenderCore
internal import Synchronization

/// The states of the voices that were asked for, which any thread reads: a place for each that waits or sounds.
///
/// A voice's number says its place, and how often that was taken before, so that an old number is never taken for a new one.
struct VoiceStates: ~Copyable, Sendable {
    private let words: OwnedArray<Atomic<Int>>
    /// The place at which the next search begins.
    private let next = Atomic<Int>(0)

    /// The states of a player, which it shares with its render thread.
    final class Shared: Sendable {
        let voices: VoiceStates
        init(_ count: Int) { voices = VoiceStates(count) }
    }

    /// A voice's state, in the low bits of its word.
    enum State {
        static var over: Int { @_noLocks @_noAllocation get { 0 } }
        static var waiting: Int { @_noLocks @_noAllocation get { 1 } }
        static var sounding: Int { @_noLocks @_noAllocation get { 2 } }
    }

    /// - Parameter count: The number of voices that may wait and sound at once, rounded up to a power of 2.
    init(_ count: Int) {
        words = OwnedArray(count: 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)) { Atomic($0 << 2) }
    }

    /// Takes a place for a voice that will wait. Any thread; no lock.
    ///
    /// - Returns: The number of the voice, above 0; 0 if all places are taken.
    @_noLocks @_noAllocation
    func take() -> Int {
        var tries = 0
        while tries < 2 &* words.count {
            let place = next.wrappingAdd(1, ordering: .relaxed).oldValue & (words.count &- 1)
            let old = words[place].load(ordering: .relaxed)
            if old & 3 == State.over {
                let number = (old &>> 2) &+ words.count
                let (isTaken, _) = words[place].compareExchange(
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
        let place = number & (words.count &- 1)
        let old = words[place].load(ordering: .relaxed)
        if old &>> 2 != number || old & 3 == State.over { return }
        _ = words[place].compareExchange(
            expected: old, desired: number &<< 2 | state, ordering: .acquiringAndReleasing)
    }

    /// Returns the state of a voice: one whose place was taken by another one is over.
    @_noLocks @_noAllocation
    func state(of number: Int) -> Int {
        let word = words[number & (words.count &- 1)].load(ordering: .acquiring)
        return word &>> 2 == number ? word & 3 : State.over
    }
}
