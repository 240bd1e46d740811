/// The sum of the last numbers, weighed as by two ``BoxSmoother``s one after the other, whose lengths may change with each number.
///
/// It keeps the sums of the sums of all numbers so far. They run over, but the differences of them that count do not, and are exact.
@safe package struct TrapezoidSmoother: ~Copyable, Sendable {
    private let sums: AlignedMemory<Int64>
    private let mask: Int
    private let rest: Int64
    private var sum: Int64 = 0
    private var sumOfSums: Int64 = 0
    private var position = 0

    /// The way in which numbers are weighed.
    package struct Shape: Sendable, BitwiseCopyable {
        /// The numbers that are left out, from the last one on.
        package let delay: Int
        /// The numbers of the two boxes.
        package let first, second: Int
        /// The factor that makes the mean of a sum.
        package let scale: Double

        /// Creates the shape of two boxes that reach over as many numbers together, from the older end of a window.
        ///
        /// - Parameters:
        ///   - length: The numbers that count, 1 or more.
        ///   - window: The length of the window: as many or more.
        @_noLocks @_noAllocation
        package init(_ length: Int, of window: Int) {
            first = (length &+ 1) / 2
            second = length &- first &+ 1
            delay = window &- length
            scale = 1 / (Double(first) * Double(second))
        }
    }

    /// Allocates.
    ///
    /// - Parameters:
    ///   - window: The numbers that are kept, 1 or more.
    ///   - rest: The number that is there before the first one.
    /// - Precondition: A quarter of the square of `window` times any number that comes is an `Int64`.
    package init(window: Int, rest: Int64) {
        demand(window >= 1, "TrapezoidSmoother: a window of \(window); it must be 1 or more")
        var room = 4
        while room < window + 2 { room *= 2 }
        sums = AlignedMemory(count: room)
        mask = room - 1
        self.rest = rest
        reset()
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    package mutating func reset() {
        (sum, sumOfSums, position) = (0, 0, 0)
        for _ in 0...mask { push(rest) }
    }

    @_noLocks @_noAllocation @inline(__always)
    private mutating func push(_ value: Int64) {
        sum &+= value
        sumOfSums &+= sum
        position = (position &+ 1) & mask
        unsafe sums.base[position] = sumOfSums
    }

    /// Takes a number, and returns the sum of the last ones.
    @_noLocks @_noAllocation @inline(__always)
    package mutating func add(_ value: Int64, _ shape: Shape) -> Int64 {
        push(value)
        let last = position &- shape.delay
        let (near, far) = (last &- shape.first, last &- shape.second)
        let start = near &- shape.second
        return unsafe (sums.base[last & mask] &- sums.base[far & mask])
            &- (sums.base[near & mask] &- sums.base[start & mask])
    }
}
