internal import RenderStack

/// The place of numbers on a line of pixels, and the numbers that are written beside it.
public struct Axis: Sendable {
    /// The pixels of the two ends; the first may be the higher one.
    let from: Int
    let to: Int
    let range: ClosedRange<Double>
    let isLogarithmic: Bool

    /// A line of pixels from one end of a range to the other.
    public init(_ range: ClosedRange<Double>, from: Int, to: Int, isLogarithmic: Bool = false) {
        self.range = range
        self.from = from
        self.to = to
        self.isLogarithmic = isLogarithmic
    }

    /// The pixel of a number.
    public func pixel(_ value: Double) -> Int {
        let share =
            isLogarithmic
            ? RenderMath.log2(value / range.lowerBound) / RenderMath.log2(range.upperBound / range.lowerBound)
            : (value - range.lowerBound) / (range.upperBound - range.lowerBound)
        return from + Int((share * Double(to - from)).rounded())
    }

    /// The number of a pixel.
    public func value(_ pixel: Double) -> Double {
        let share = (pixel - Double(from)) / Double(to - from)
        return isLogarithmic
            ? range.lowerBound * RenderMath.exp2(share * RenderMath.log2(range.upperBound / range.lowerBound))
            : range.lowerBound + share * (range.upperBound - range.lowerBound)
    }

    /// Round numbers of the range: some `count` of them, or 1, 2 and 5 of each ten.
    public func marks(_ count: Int) -> [Double] {
        if isLogarithmic {
            return [1.0, 10, 100, 1_000, 10_000].flatMap { [$0, 2 * $0, 5 * $0] }.filter(range.contains)
        }
        let rough = (range.upperBound - range.lowerBound) / Double(count)
        let steps = [1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1_000, 10_000, 1e5].flatMap { [$0, 2 * $0, 5 * $0] }
        let step = steps.first { $0 >= rough * 0.999 } ?? rough
        let first = (range.lowerBound / step).rounded(.up)
        let last: Double = range.upperBound + step * 1e-6
        return (0...2 * count).map { (i: Int) -> Double in (first + Double(i)) * step }.filter { $0 <= last }
    }

    /// A number without needless digits: 0.25, 5, 2 k.
    public static func label(_ value: Double, thousands: Bool = false) -> String {
        if thousands && abs(value) >= 1_000 { return label(value / 1_000) + "k" }
        let thousandths = Int((value * 1_000).rounded())
        let (whole, rest) = (abs(thousandths) / 1_000, abs(thousandths) % 1_000)
        var text = "\(thousandths < 0 ? "-" : "")\(whole)"
        if rest > 0 {
            var digits = "\(rest + 1_000)".dropFirst()
            while digits.last == "0" { digits.removeLast() }
            text += "." + digits
        }
        return text
    }
}
