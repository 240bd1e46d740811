/// The sum of the last numbers, each of which counts the same. The numbers are integers, so that no error adds up, however
/// long it runs.
public struct BoxSmoother: ~Copyable, Sendable {
    private var values: RenderMemory<Int64>
    private let rest: Int64
    private var sum: Int64
    private var position = 0

    /// Allocates.
    ///
    /// - Parameters:
    ///   - count: How many numbers are added up, 1 or more.
    ///   - rest: The number that is there before the first one.
    /// - Precondition: `count` times any number that comes is an `Int64`.
    public init(count: Int, rest: Int64) {
        demand(count >= 1, "BoxSmoother: a count of \(count); it must be 1 or more")
        values = RenderMemory(repeating: rest, count: count)
        self.rest = rest
        sum = rest * Int64(count)
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    public mutating func reset() {
        for i in 0..<values.count { values[i] = rest }
        sum = rest &* Int64(values.count)
        position = 0
    }

    /// Takes a number, and returns the sum of the last ones.
    @_noLocks @_noAllocation
    public mutating func add(_ value: Int64) -> Int64 {
        sum &+= value &- values[position]
        values[position] = value
        position = position &+ 1 == values.count ? 0 : position &+ 1
        return sum
    }
}
