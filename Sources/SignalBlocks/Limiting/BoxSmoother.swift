/// The sum of the last numbers, which all count the same. The numbers are integers, so that no error adds up, however
/// long it runs.
///
/// Threads: any.
@safe public struct BoxSmoother: ~Copyable, Sendable {
    @usableFromInline let values: AlignedMemory<Int64>
    @usableFromInline let count: Int
    private let rest: Int64
    @usableFromInline var sum: Int64 = 0
    /// Less than the count.
    @usableFromInline var position = 0

    /// Allocates.
    ///
    /// - Parameters:
    ///   - count: The number of numbers that are added up, 1 or more.
    ///   - rest: The number that is there before the first one.
    /// - Precondition: `count` times any number that comes is an `Int64`.
    ///
    /// Threads: control.
    public init(count: Int, rest: Int64) {
        demand(count >= 1, "BoxSmoother: a count of \(count); it must be 1 or more")
        values = AlignedMemory(count: count)
        self.count = count
        self.rest = rest
        reset()
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    public mutating func reset() {
        for i in 0..<count { unsafe values.base[i] = rest }
        sum = rest &* Int64(truncatingIfNeeded: count)
        position = 0
    }

    /// Takes a number, and returns the sum of the last ones.
    @_noLocks @_noAllocation
    @inlinable public mutating func add(_ value: Int64) -> Int64 {
        sum &+= unsafe value &- values.base[position]
        unsafe values.base[position] = value
        position = position &+ 1 == count ? 0 : position &+ 1
        return sum
    }
}
