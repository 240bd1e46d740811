/// The hyperbolic tangent and its first two antiderivatives, as polynomials on 192 pieces: within 2e-7 of the curve, and
/// exact antiderivatives of one another.
///
/// Threads: control.
public struct TangentTable: ~Copyable, Sendable {
    /// The place from which on the curve counts as 1, which it is within 1e-10 there.
    @usableFromInline static var end: Double { @_noLocks @_noAllocation get { 12 } }
    private static var pieces: Int { 192 }
    private static var perUnit: Double { @_noLocks @_noAllocation get { 16 } }
    private var numbers: RenderMemory<Double>

    /// Computes the table. On the control side: it allocates.
    public init() {
        numbers = RenderMemory(repeating: 0, count: 6 * (TangentTable.pieces + 1))
        let width = 1 / TangentTable.perUnit
        func tangent(_ x: Double) -> Double { 1 - 2 / (RenderMath.exp(2 * x) + 1) }
        var (first, second) = (0.0, 0.0)
        for piece in 0..<TangentTable.pieces {
            let x = Double(piece) * width
            let (y, next) = (tangent(x), piece == TangentTable.pieces - 1 ? 1 : tangent(x + width))
            let (slope, last) = (1 - y * y, 1 - next * next)
            // A cubic with the curve's values and slopes at both ends, and what it adds up to.
            let rise = (next - y) / width
            let cubic = [y, slope, (3 * rise - 2 * slope - last) / width, (slope + last - 2 * rise) / (width * width)]
            let all = [second, first, cubic[0] / 2, cubic[1] / 6, cubic[2] / 12, cubic[3] / 20]
            for (i, number) in all.enumerated() { numbers[6 * piece + i] = number }
            second += width * (first + width * (all[2] + width * (all[3] + width * (all[4] + width * all[5]))))
            first += width * (cubic[0] + width * (cubic[1] / 2 + width * (cubic[2] / 3 + width * cubic[3] / 4)))
        }
        numbers[6 * TangentTable.pieces] = second
        numbers[6 * TangentTable.pieces + 1] = first
    }

    @_noLocks @_noAllocation @inline(__always)
    private func number(_ index: Int) -> Double { unsafe numbers.memory.base[index] }

    /// Returns the first number of the piece at a place that is not negative, and how far the place is in it; beyond the end
    /// that of the end.
    @_noLocks @_noAllocation @inline(__always)
    private func piece(_ size: Double) -> (Int, Double) {
        guard size < TangentTable.end else { return (6 &* TangentTable.last, size - TangentTable.end) }
        let piece = Int(size * TangentTable.perUnit)
        return (6 &* piece, size - Double(piece) * (1 / TangentTable.perUnit))
    }
    private static var last: Int { @_noLocks @_noAllocation get { 192 } }

    /// Returns the curve.
    @_noLocks @_noAllocation
    func value(_ x: Double) -> Double {
        let size = x.magnitude
        guard size < TangentTable.end else { return x < 0 ? -1 : 1 }
        let (p, u) = piece(size)
        let y = 2 * number(p &+ 2) + u * (6 * number(p &+ 3) + u * (12 * number(p &+ 4) + u * 20 * number(p &+ 5)))
        return x < 0 ? -y : y
    }

    @_noLocks @_noAllocation
    func first(_ x: Double) -> Double {
        let size = x.magnitude
        let (p, u) = piece(size)
        guard size < TangentTable.end else { return number(p &+ 1) + u }
        return number(p &+ 1)
            + u * (2 * number(p &+ 2) + u * (3 * number(p &+ 3) + u * (4 * number(p &+ 4) + u * 5 * number(p &+ 5))))
    }

    @_noLocks @_noAllocation
    func second(_ x: Double) -> Double {
        let size = x.magnitude
        let (p, u) = piece(size)
        var y = number(p)
        if size < TangentTable.end {
            let high = number(p &+ 3) + u * (number(p &+ 4) + u * number(p &+ 5))
            y += u * (number(p &+ 1) + u * (number(p &+ 2) + u * high))
        } else {
            y += u * (number(p &+ 1) + 0.5 * u)
        }
        return x < 0 ? -y : y
    }

    @_noLocks @_noAllocation
    func slope(_ a: Double, _ b: Double) -> Double {
        b - a < ShapedWindow.leastPair(b) ? first(0.5 * (a + b)) : (second(b) - second(a)) / (b - a)
    }
}

extension ShapedWindow {
    /// The hyperbolic tangent.
    @_noLocks @_noAllocation
    public func tangent(_ table: borrowing TangentTable) -> Double {
        if a >= TangentTable.end { return 1 }
        if c <= -TangentTable.end { return -1 }
        if c - a < ShapedWindow.least(b) { return table.value(mean) }
        if isWide { return difference(table.second(a), table.second(b), table.second(c)) }
        return ShapedWindow.held(2 * (table.slope(b, c) - table.slope(a, b)) / (c - a))
    }
}
