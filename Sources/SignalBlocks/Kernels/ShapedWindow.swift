/// Three neighbouring samples, and what a curve makes of them without most of what it would fold back: its mean along
/// the lines between them, the second antiderivative's second difference (Bilbao, Esqueda, Parker and Välimäki 2017).
///
/// A curve's plain value at a sample folds back all frequencies above half of the rate. The mean over a triangle as wide
/// as two samples takes most of them away. It is as late as one sample, and softens the highs of a curve that leaves the
/// sound as it is: by (1 + 2 cos ω) / 3.
///
/// The difference does not depend on the order of the samples, so they are sorted; then nothing small is divided by
/// something small. For curves of straight lines (``hardClipped`` and ``folded``) the quotients are written out, and no
/// digits cancel at all.
///
/// Threads: any.
public struct ShapedWindow: Sendable, BitwiseCopyable {
    let a: Double
    let b: Double
    let c: Double

    /// Creates a window of three samples.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public init(_ first: Double, _ second: Double, _ third: Double) {
        let low = first < second ? first : second
        let high = first < second ? second : first
        let upper = third < high ? third : high
        self.init(sorted: low < third ? low : third, low < upper ? upper : low, high < third ? third : high)
    }

    @_noLocks @_noAllocation
    @usableFromInline init(sorted a: Double, _ b: Double, _ c: Double) {
        self.a = a
        self.b = b
        self.c = c
    }

    /// The largest magnitude that a sample may have: 120 dB over full scale.
    public static var limit: Double { @_noLocks @_noAllocation get { 1e6 } }

    @inline(__always)
    var mean: Double { @_noLocks @_noAllocation get { (a + b + c) * (1 / 3.0) } }

    /// The mean of a bend: 0 below 0, straight up above. Without branches: there is one side of the bend with a single
    /// sample, or with none.
    @_noLocks @_noAllocation @inline(__always)
    private static func bend(_ a: Double, _ b: Double, _ c: Double) -> Double {
        let isUp = b > 0
        let (below, above) = (a < 0 ? a : 0, c > 0 ? c : 0)
        let (single, near) = (isUp ? below : above, isUp ? b - a : c - b)
        // If nothing is to be divided, the divisor may be any number but 0.
        let share = single * single * single / (3 * near * (c - a) + 1e-300)
        return (isUp ? (a + b + c) * (1 / 3.0) : 0) + (isUp ? -share : share)
    }

    /// Straight from -1 to 1, flat beyond.
    ///
    /// The curve's value at the middle sample, and what its slopes to both sides add: the cubes of the distances, less
    /// those of the parts that lie beyond the limits. Both sides have one quotient.
    public var hardClipped: Double {
        @_noLocks @_noAllocation get {
            let (start, middle, end) = (ShapedWindow.held(a), ShapedWindow.held(b), ShapedWindow.held(c))
            let (p, q, r, s) = (c - middle, c - end, middle - a, start - a)
            if q == 0 && s == 0 { return mean }
            // Where two samples are alike there is nothing to be divided; then the divisor may be any number but 0.
            let (near, far) = ((b - a) + 1e-100, (c - b) + 1e-100)
            let (above, below) = (p * p * p - q * q * q, r * r * r - s * s * s)
            return ShapedWindow.held(middle + (above * near - below * far) / (3 * (near + far) * (near * far)))
        }
    }

    /// Straight from -1 to 1, back down beyond, and up again: a triangle with a turn of 4.
    public var folded: Double {
        @_noLocks @_noAllocation get {
            if c - a < 1 {
                // At most one bend lies in between.
                let turn = ShapedWindow.floor((b + 1) * 0.5)
                let slope: Double = Int(turn) & 1 == 0 ? 1 : -1
                let (low, high) = (2 * turn - 1, 2 * turn + 1)
                let bends =
                    ShapedWindow.bend(low - c, low - b, low - a) - ShapedWindow.bend(a - high, b - high, c - high)
                return ShapedWindow.held(slope * (mean - 2 * turn + 2 * bends))
            }
            if isWide { return difference(Fold.second(a), Fold.second(b), Fold.second(c)) }
            return ShapedWindow.held(2 * (Fold.slope(b, c) - Fold.slope(a, b)) / (c - a))
        }
    }

    /// x - 4/27 x³ from -1.5 to 1.5, flat beyond: it begins with a slope of 1, and ends at 1 with a slope of 0.
    public var softClipped: Double {
        @_noLocks @_noAllocation get {
            if c <= 1.5 && a >= -1.5 {
                let pairs = a * b + b * c + c * a
                let sum = a + b + c
                // All products of three: h₃ = e₁³ - 2 e₁ e₂ + e₃.
                let products = sum * sum * sum - 2 * sum * pairs + a * b * c
                return sum * (1 / 3.0) - products * (4 / 270.0)
            }
            if a >= 1.5 { return 1 }
            if c <= -1.5 { return -1 }
            if c - a < ShapedWindow.least(b) { return SoftClip.value(mean) }
            if isWide { return difference(SoftClip.second(a), SoftClip.second(b), SoftClip.second(c)) }
            return ShapedWindow.held(2 * (SoftClip.slope(b, c) - SoftClip.slope(a, b)) / (c - a))
        }
    }

    /// Indicates whether the three samples are far enough from one another for one quotient.
    @inline(__always)
    var isWide: Bool {
        @_noLocks @_noAllocation get {
            let least = ShapedWindow.leastPair(a.magnitude > c.magnitude ? a : c)
            return b - a > least && c - b > least
        }
    }

    /// Returns the second difference of the second antiderivative, twice, with one division.
    @_noLocks @_noAllocation @inline(__always)
    func difference(_ first: Double, _ second: Double, _ third: Double) -> Double {
        let (low, high) = (b - a, c - b)
        return ShapedWindow.held(2 * ((third - second) * low - (second - first) * high) / (low * high * (c - a)))
    }

    /// The width below which a smooth curve's value in the middle is nearer than the quotient: both err by 1e-8.
    @_noLocks @_noAllocation @inline(__always)
    static func least(_ x: Double) -> Double { 1e-4 * (1 + x * x) }

    /// The width below which a first difference is the first antiderivative in the middle.
    @_noLocks @_noAllocation @inline(__always)
    static func leastPair(_ x: Double) -> Double { 1e-5 * (1 + x.magnitude) }

    /// No mean is beyond the curve's ends.
    @_noLocks @_noAllocation @inline(__always)
    static func held(_ x: Double) -> Double { x < 1 ? (x > -1 ? x : -1) : 1 }

    @_noLocks @_noAllocation @inline(__always)
    static func floor(_ x: Double) -> Double {
        let whole = Double(Int(x))
        return whole > x ? whole - 1 : whole
    }
}

/// The triangle's antiderivatives, both without a mean, so that they stay small.
private enum Fold {
    @_noLocks @_noAllocation @inline(__always)
    static func place(_ x: Double) -> (Double, isUp: Bool) {
        let turn = ShapedWindow.floor((x + 1) * 0.5)
        return (x - 2 * turn, Int(turn) & 1 == 0)
    }

    @_noLocks @_noAllocation
    static func first(_ x: Double) -> Double {
        let (u, isUp) = place(x)
        let bow = 0.5 * (u * u - 1)
        return isUp ? bow : -bow
    }

    @_noLocks @_noAllocation
    static func second(_ x: Double) -> Double {
        let (u, isUp) = place(x)
        let bow = u * (u * u * (1 / 6.0) - 0.5)
        return isUp ? bow : -bow
    }

    @_noLocks @_noAllocation
    static func slope(_ a: Double, _ b: Double) -> Double {
        b - a < 1e-5 ? first(0.5 * (a + b)) : (second(b) - second(a)) / (b - a)
    }
}

/// The soft clip and its antiderivatives.
private enum SoftClip {
    @_noLocks @_noAllocation
    static func value(_ x: Double) -> Double {
        if x >= 1.5 { return 1 }
        return x <= -1.5 ? -1 : x - x * x * x * (4 / 27.0)
    }

    @_noLocks @_noAllocation
    static func first(_ x: Double) -> Double {
        let size = x.magnitude
        if size > 1.5 { return size - 0.5625 }
        let square = x * x
        return square * (0.5 - square * (1 / 27.0))
    }

    @_noLocks @_noAllocation
    static func second(_ x: Double) -> Double {
        let size = x.magnitude
        if size > 1.5 {
            let value = size * (0.5 * size - 0.5625) + 0.225
            return x < 0 ? -value : value
        }
        let square = x * x
        return x * square * (1 / 6.0 - square * (1 / 135.0))
    }

    @_noLocks @_noAllocation
    static func slope(_ a: Double, _ b: Double) -> Double {
        b - a < ShapedWindow.leastPair(b) ? first(0.5 * (a + b)) : (second(b) - second(a)) / (b - a)
    }
}
