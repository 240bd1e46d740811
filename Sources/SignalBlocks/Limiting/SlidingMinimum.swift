/// The lowest of the last numbers, with three comparisons a number (van Herk 1992).
///
/// Before the first number all are as high as the `rest`.
///
/// Threads: any.
@safe public struct SlidingMinimum: ~Copyable, Sendable {
    /// The numbers of the present block so far. Behind them stand, for the block before, the lowest from each place to its end.
    @usableFromInline let values: AlignedMemory<Float>
    @usableFromInline let count: Int
    private let rest: Float
    /// Less than the count.
    @usableFromInline var position = 0
    @usableFromInline var lowest: Float

    /// Allocates.
    ///
    /// - Parameters:
    ///   - count: The number of numbers that are looked at, 1 or more.
    ///   - rest: The number that is there before the first one.
    ///
    /// Threads: control.
    public init(count: Int, rest: Float) {
        demand(count >= 1, "SlidingMinimum: a count of \(count); it must be 1 or more")
        values = AlignedMemory(count: count)
        self.count = count
        self.rest = rest
        lowest = rest
        reset()
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    public mutating func reset() {
        for i in 0..<count { unsafe values.base[i] = rest }
        (position, lowest) = (0, rest)
    }

    /// Takes a number, and returns the lowest of the last ones.
    @_noLocks @_noAllocation
    @inlinable public mutating func add(_ value: Float) -> Float {
        lowest = position == 0 || value < lowest ? value : lowest
        unsafe values.base[position] = value
        position &+= 1
        if position < count {
            let before = unsafe values.base[position]
            return before < lowest ? before : lowest
        }
        endBlock()
        return lowest
    }

    /// Notes of each number in the block the lowest from there on.
    @_noLocks @_noAllocation
    @usableFromInline mutating func endBlock() {
        var i = count &- 2
        while i >= 0 {
            let (this, behind) = unsafe (values.base[i], values.base[i &+ 1])
            unsafe values.base[i] = behind < this ? behind : this
            i &-= 1
        }
        position = 0
    }
}
