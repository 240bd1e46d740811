extension Fraction: Comparable, AdditiveArithmetic {
    /// Returns the sum.
    ///
    /// Threads: control.
    public static func + (a: Fraction, b: Fraction) -> Fraction {
        if b.denominator == 1 {
            // A whole number more leaves the terms as low as they are.
            let (product, tooLarge) = b.numerator.multipliedReportingOverflow(by: a.denominator)
            let (sum, overflows) = product.addingReportingOverflow(a.numerator)
            if !tooLarge, !overflows, sum != .min { return Fraction(reduced: sum, a.denominator) }
        } else if a.denominator == b.denominator {
            let (sum, overflows) = a.numerator.addingReportingOverflow(b.numerator)
            if !overflows, sum != .min { return Fraction(narrow: sum, a.denominator) }
        } else if a.denominator == 1 {
            return b + a
        } else if a.isShort, b.isShort {
            return Fraction(
                narrow: a.numerator &* b.denominator &+ b.numerator &* a.denominator, a.denominator &* b.denominator)
        }
        let sum = a.product(b.denominator) + b.product(a.denominator)
        let denominators = UInt128(a.denominator) * UInt128(b.denominator)
        return Fraction(lowest: sum.magnitude, denominators, isNegative: sum < 0)
    }

    /// Returns the difference.
    ///
    /// Threads: control.
    public static func - (a: Fraction, b: Fraction) -> Fraction { a + -b }

    /// Returns the negative.
    ///
    /// Threads: control.
    public static prefix func - (a: Fraction) -> Fraction { Fraction(reduced: -a.numerator, a.denominator) }

    /// Returns the product.
    ///
    /// Threads: control.
    public static func * (a: Fraction, b: Fraction) -> Fraction {
        if a.isShort, b.isShort {
            return Fraction(narrow: a.numerator &* b.numerator, a.denominator &* b.denominator)
        }
        return Fraction(
            lowest: UInt128(a.numerator.magnitude) * UInt128(b.numerator.magnitude),
            UInt128(a.denominator) * UInt128(b.denominator), isNegative: (a.numerator < 0) != (b.numerator < 0))
    }

    /// Returns the quotient. By 0 it is the largest fraction, with the sign of what is divided; 0 by 0 is 0.
    ///
    /// Threads: control.
    public static func / (a: Fraction, b: Fraction) -> Fraction {
        guard b.numerator != 0 else { return a.numerator == 0 ? 0 : Fraction(a.numerator < 0 ? -.max : .max) }
        return a
            * (b.numerator > 0
                ? Fraction(reduced: b.denominator, b.numerator) : Fraction(reduced: -b.denominator, -b.numerator))
    }

    /// Multiplies it by another.
    ///
    /// Threads: control.
    public static func *= (a: inout Fraction, b: Fraction) { a = a * b }

    /// Divides it by another.
    ///
    /// Threads: control.
    public static func /= (a: inout Fraction, b: Fraction) { a = a / b }

    /// Indicates whether the first is smaller.
    ///
    /// Threads: control.
    public static func < (a: Fraction, b: Fraction) -> Bool {
        if a.denominator == b.denominator { return a.numerator < b.numerator }
        if a.isShort, b.isShort { return a.numerator &* b.denominator < b.numerator &* a.denominator }
        return a.product(b.denominator) < b.product(a.denominator)
    }

    /// Indicates whether products of its parts with those of another such fraction, and the sum of two, have room in 64 bits.
    private var isShort: Bool { numerator.magnitude < 1 << 31 && denominator < 1 << 31 }

    private func product(_ factor: Int) -> Int128 { Int128(numerator) * Int128(factor) }

    /// Creates the fraction of parts that are not in lowest terms yet; the denominator is at least 1.
    private init(narrow numerator: Int, _ denominator: Int) {
        if denominator == 1 {
            self.init(numerator)
            return
        }
        var (a, b) = (numerator.magnitude, denominator.magnitude)
        while b != 0 { (a, b) = (b, a % b) }
        self.init(reduced: max(numerator, -.max) / Int(a), denominator / Int(a))
    }

    /// Creates the fraction of parts that are not in lowest terms yet, or the nearest to it.
    init(lowest numerator: UInt128, _ denominator: UInt128, isNegative: Bool) {
        var (a, b) = (numerator, denominator)
        while b != 0 { (a, b) = (b, a % b) }
        let divisor = max(a, 1)
        if let over = Int(exactly: numerator / divisor), let under = Int(exactly: denominator / divisor), under > 0 {
            self.init(reduced: isNegative ? -over : over, under)
        } else {
            self.init(nearestTo: numerator, denominator, isNegative: isNegative, limit: .max)
        }
    }

    /// Creates the fraction that is nearest to one with large parts, below 2¹²⁷.
    ///
    /// The convergents of its continued fraction come nearer and nearer. The first whose parts are too large is replaced by
    /// the last fraction on the way to it, or by the convergent before it, whichever is nearer.
    init(nearestTo numerator: UInt128, _ denominator: UInt128, isNegative: Bool, limit: Int) {
        let (most, bottom) = (UInt128(Int.max), UInt128(limit))
        guard denominator != 0, numerator / denominator < most else {
            self = numerator == 0 ? 0 : Fraction(isNegative ? -.max : .max)
            return
        }
        var (p, q, lastP, lastQ) = (UInt128(1), UInt128(0), UInt128(0), UInt128(1))
        var (a, b) = (numerator, denominator)
        while b != 0 {
            let term = a / b
            let room = min(p == 0 ? .max : (most - lastP) / p, q == 0 ? .max : (bottom - lastQ) / q)
            if term > room {
                // The products may overflow, but not their difference, which is what is left of the way.
                func distance(_ p: UInt128, _ q: UInt128) -> UInt128 {
                    Int128(truncatingIfNeeded: numerator &* q &- p &* denominator).magnitude
                }
                let (nextP, nextQ) = (room * p + lastP, room * q + lastQ)
                if distance(nextP, nextQ) &* q < distance(p, q) &* nextQ { (p, q) = (nextP, nextQ) }
                break
            }
            (p, q, lastP, lastQ) = (term * p + lastP, term * q + lastQ, p, q)
            (a, b) = (b, a - term * b)
        }
        self.init(reduced: isNegative ? -Int(p) : Int(p), Int(q))
    }
}
