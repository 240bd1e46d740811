/// A number of beats, exact: three thirds are one.
///
///     let third = Fraction(1, 3)
///     third + third + third == 1              // true
///     let swing: Fraction = 0.25              // 1/4
///     let verse = Fraction.bars(8)            // 32 beats
///
/// Its parts are integers of 64 bits in lowest terms, and what is between them is computed with 128. A result that has no such
/// parts becomes the nearest fraction that has, and one beyond the largest is the largest. To divide by 0 gives the largest
/// fraction, with the sign of what was divided; 0 by 0 is 0. So no number ends the program.
///
/// Threads: any.
public struct Fraction: Sendable, Hashable, BitwiseCopyable {
    /// The number above the line.
    public let numerator: Int
    /// The number below it, at least 1; the fraction is in lowest terms.
    public let denominator: Int

    /// Creates a fraction of parts that are in lowest terms.
    init(reduced numerator: Int, _ denominator: Int) {
        (self.numerator, self.denominator) = (numerator, denominator)
    }

    /// Creates a whole number. The smallest `Int` is held to the next one, so that each fraction has a negative.
    ///
    /// Threads: control.
    public init(_ value: Int) { self.init(reduced: max(value, -.max), 1) }

    /// Creates a fraction of its parts: `Fraction(2, 6)` is a third.
    ///
    /// Threads: control.
    public init(_ numerator: Int, _ denominator: Int) {
        self = Fraction(
            lowest: UInt128(numerator.magnitude), UInt128(denominator.magnitude),
            isNegative: (numerator < 0) != (denominator < 0))
    }

    /// Creates the fraction that is nearest to a number, among those whose denominator is not larger than a limit.
    ///
    /// A value that is not a number becomes 0, and infinity the largest fraction.
    ///
    /// Threads: control.
    public init(_ value: Double, largestDenominator: Int = 1 << 20) {
        guard !value.isNaN else {
            self = 0
            return
        }
        let size = value.magnitude
        guard size < 0x1p63 else {
            self = Fraction(value < 0 ? -.max : .max)
            return
        }
        // The value is an integer of 53 bits, times a power of two.
        guard size >= 0x1p-66 else {
            self = 0
            return
        }
        let power = Int(size.exponent) - 52
        let whole = UInt128(UInt64(size.significand * 0x1p52))
        let (over, under) = power >= 0 ? (whole << UInt128(power), 1) : (whole, UInt128(1) << UInt128(-power))
        self = Fraction(nearestTo: over, under, isNegative: value < 0, limit: max(1, largestDenominator))
    }

    /// The nearest number with a floating point.
    public var value: Double {
        @_noLocks @_noAllocation get { Double(numerator) / Double(denominator) }
    }

    /// The largest whole number that is not larger.
    ///
    /// Threads: control.
    public var floor: Int {
        if denominator == 1 { return numerator }
        let quotient = numerator / denominator
        return numerator < 0 ? quotient - 1 : quotient
    }

    /// The smallest whole number that is not smaller.
    var ceiling: Int { denominator == 1 ? numerator : floor + 1 }

    /// The nearest whole number. A half goes up.
    ///
    /// Threads: control.
    public var rounded: Int { (self + Fraction(reduced: 1, 2)).floor }

    /// The fraction without its sign.
    ///
    /// Threads: control.
    public var magnitude: Fraction { Fraction(reduced: abs(numerator), denominator) }

    /// Returns what is left of it after as many whole divisors as fit below it: at least 0 and less than the divisor, also for a
    /// negative number. Its remainder by 0 is 0.
    ///
    /// Threads: control.
    public func remainder(by divisor: Fraction) -> Fraction {
        let divisor = divisor.magnitude
        guard divisor != 0 else { return 0 }
        if self >= 0 && self < divisor { return self }
        let rest = self - Fraction((self / divisor).floor) * divisor
        return rest >= 0 && rest < divisor ? rest : 0
    }

    /// A number of beats: `.beats(3)`.
    ///
    /// Threads: control.
    public static func beats(_ count: Fraction) -> Fraction { count }

    /// A number of bars in beats: `.bars(2)` are 8 beats, `.bars(2, of: 3)` are 6.
    ///
    /// Threads: control.
    public static func bars(_ count: Fraction, of beats: Fraction = 4) -> Fraction { count * beats }
}

extension Fraction: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// Creates a whole number.
    ///
    /// Threads: control.
    public init(integerLiteral value: Int) { self.init(value) }

    /// Creates the fraction that is nearest to a number, with a denominator of at most 1,048,576: 0.1 is a tenth.
    ///
    /// Threads: control.
    public init(floatLiteral value: Double) { self.init(value) }
}

extension Fraction: LosslessStringConvertible {
    /// The fraction as text: `1/3`, or `2`.
    ///
    /// Threads: control.
    public var description: String { denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)" }

    /// Creates a fraction from its text: `1/3`, `2`, or `0.25`; `nil` for any other.
    ///
    /// Threads: control.
    public init?(_ description: String) {
        let parts = description.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            guard let over = Int(parts[0]), let under = Int(parts[1]), under > 0 else { return nil }
            self.init(over, under)
        } else if let whole = Int(description) {
            self.init(whole)
        } else {
            self.init(decimal: description)
        }
    }

    /// Reads a number with a point: up to nine digits before it, and nine behind it.
    private init?(decimal text: String) {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ (1...9).contains($0.utf8.count) && $0.utf8.allSatisfy { (48...57).contains($0) } }),
            let whole = Int(parts[0]), let behind = Int(parts[1])
        else { return nil }
        let unit = parts[1].utf8.reduce(1) { unit, _ in unit * 10 }
        self.init((whole * unit + behind) * (digits.count < text.count ? -1 : 1), unit)
    }
}
