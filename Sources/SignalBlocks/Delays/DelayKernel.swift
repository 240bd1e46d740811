/// The way in which a delay line reads between two samples: weights for 257 fractions, in memory.
@usableFromInline package struct DelayKernel: ~Copyable, Sendable {
    private static var fractions: Int { @_noLocks @_noAllocation get { 256 } }
    private var table: RenderMemory<Float>

    /// A delay as whole frames, samples on either side, and their weights.
    @usableFromInline package struct Aim: Sendable, BitwiseCopyable {
        @usableFromInline package var whole: Int
        @usableFromInline var half: Int
        @usableFromInline package var weights: SIMD16<Float>
    }

    /// Returns the number of samples on either side that are used at a delay: as many as there are, up to eight.
    @_noLocks @_noAllocation
    @inlinable package static func half(_ whole: Int) -> Int {
        whole >= 8 ? 8 : (whole >= 4 ? 4 : (whole >= 2 ? 2 : 1))
    }

    /// Rows of 2, then 4, 8 and 16 weights: those of `half` begin at row `2 half - 2` of width one.
    package init() {
        table = RenderMemory(repeating: 0, count: (DelayKernel.fractions + 1) * 30)
        var table = table.span
        for half in [1, 2, 4, 8] {
            for row in 0...DelayKernel.fractions {
                let fraction = Double(row) / Double(DelayKernel.fractions)
                let weights = (0..<2 * half).map { tap in
                    DelayKernel.weight(tap, of: half, fraction)
                }
                // The weights are scaled so that no frequency comes out louder than it went in: with full feedback it
                // would grow.
                let sum = weights.reduce(0, +) * (half == 8 ? 1 + 0.00066 * 4 * fraction * (1 - fraction) : 1)
                for tap in 0..<2 * half {
                    table[(DelayKernel.fractions + 1) * (2 * half - 2) + row * 2 * half + tap] = Float(
                        weights[tap] / sum)
                }
            }
        }
    }

    @_noLocks @_noAllocation
    package func aim(_ delay: Double) -> Aim {
        let whole = Int(delay)
        let half = DelayKernel.half(whole)
        return Aim(whole: whole, half: half, weights: weights(half, Float(delay - Double(whole))))
    }

    /// Returns the weights at a fraction, on a straight line between two rows: 1e-5 off at most.
    @_noLocks @_noAllocation
    func weights(_ half: Int, _ fraction: Float) -> SIMD16<Float> {
        let place = fraction * Float(DelayKernel.fractions)
        let row = min(Int(place), DelayKernel.fractions &- 1)
        let between = place - Float(row)
        let first = (DelayKernel.fractions &+ 1) &* (2 &* half &- 2) &+ row &* 2 &* half
        if half == 8 {
            let low = SIMD16(lowHalf: table.vector8(at: first), highHalf: table.vector8(at: first &+ 8))
            let high = SIMD16(lowHalf: table.vector8(at: first &+ 16), highHalf: table.vector8(at: first &+ 24))
            return low * (1 - between) + high * between
        }
        var weights = SIMD16<Float>(repeating: 0)
        for tap in 0..<2 &* half {
            let (low, high) = (table.value(at: first &+ tap), table.value(at: first &+ tap &+ 2 &* half))
            weights[tap] = low * (1 - between) + high * between
        }
        return weights
    }

    private static func weight(_ tap: Int, of half: Int, _ fraction: Double) -> Double {
        let place = Double(half - 1) + fraction
        guard half == 8 else {
            return (0..<2 * half).reduce(1) {
                $1 == tap ? $0 : $0 * (place - Double($1)) / Double(tap - $1)
            }
        }
        let x = Double(tap) - place
        if x == 0 || fraction == 0 || fraction == 1 { return x == 0 ? 1 : 0 }
        let edge = 1 - x * x / 64
        let sinc = RenderMath.sin(.pi * x) / (.pi * x)
        return edge > 0 ? sinc * RenderMath.bessel(7 * edge.squareRoot()) : 0
    }
}
