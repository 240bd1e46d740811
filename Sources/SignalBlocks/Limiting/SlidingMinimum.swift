/// The lowest of the last numbers, with three comparisons a number (van Herk 1992).
///
/// Before the first number all are as high as the `rest`.
public struct SlidingMinimum: ~Copyable, Sendable {
    /// Of the present block the numbers so far; behind them of the block before the lowest from there to its end.
    private var values: SampleMemory
    private let rest: Float
    private var position = 0
    private var lowest: Float

    /// Allocates.
    ///
    /// - Parameters:
    ///   - count: How many numbers are looked at, 1 or more.
    ///   - rest: The number that is there before the first one.
    public init(count: Int, rest: Float) {
        demand(count >= 1, "SlidingMinimum: a count of \(count); it must be 1 or more")
        values = SampleMemory(count: count)
        self.rest = rest
        lowest = rest
        for i in 0..<count { values[i] = rest }
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    public mutating func reset() {
        for i in 0..<values.count { values[i] = rest }
        (position, lowest) = (0, rest)
    }

    /// Takes a number, and returns the lowest of the last ones.
    @_noLocks @_noAllocation
    public mutating func add(_ value: Float) -> Float {
        lowest = position == 0 || value < lowest ? value : lowest
        values[position] = value
        position &+= 1
        if position < values.count { return values[position] < lowest ? values[position] : lowest }
        let result = lowest
        var i = position &- 2
        while i >= 0 {
            if values[i &+ 1] < values[i] { values[i] = values[i &+ 1] }
            i &-= 1
        }
        position = 0
        return result
    }
}
