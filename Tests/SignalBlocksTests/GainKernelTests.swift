import CKernels
import Testing

@testable import SignalBlocks

extension KernelTests {
    @Test("Magnitudes and mean squares of a key have the bits of plain Swift, and what is no number is silence")
    func levels() {
        var (left, right) = (Self.noise(513, seed: 50), Self.noise(513, seed: 51))
        (left[3], left[17], right[20], right[40], left[41]) = (.nan, .infinity, -.infinity, 3e38, 0x1p-140)
        func magnitude(_ x: Float) -> Float { x.isNaN ? 0 : min(abs(x), 1e10) }
        let share = 0.002
        for count in Self.lengths {
            let before = Self.noise(count, seed: 52).map(abs)
            var (a, b) = (0.25, 0.5)
            let squares = (0..<count).map { i -> (Float, Float) in
                let (x, y) = (Double(magnitude(left[i])), Double(magnitude(right[i])))
                a = (1 - share) * a + share * (x * x)
                b = (1 - share) * b + share * (y * y)
                return (Float(a), Float(b))
            }
            eachForm {
                var levels = [Float](repeating: 9, count: count)
                kernel_magnitudes(left, nil, false, &levels, count)
                #expect(levels == left[..<count].map(magnitude))
                levels = before
                kernel_magnitudes(left, nil, true, &levels, count)
                #expect(levels == zip(before, left).map { max($0, magnitude($1)) })
                kernel_magnitudes(left, right, false, &levels, count)
                #expect(levels == zip(left, right).prefix(count).map { max(magnitude($0), magnitude($1)) })
                var means = [0.25, 0.5]
                kernel_mean_squares(left, right, share, &means, false, &levels, count)
                #expect(levels == squares.map { max($0.0, $0.1) } && means == [a, b])
                (means, levels) = ([0.25, 0.5], before)
                kernel_mean_squares(left, nil, share, &means, true, &levels, count)
                #expect(levels == zip(before, squares).map { max($0, $1.0) } && means == [a, 0.5])
            }
        }
    }

    @Test("Gains behind a curve lie on the formula, and have the same bits on every processor, however they are cut")
    func gains() {
        let count = 513
        let levels = Self.noise(count + 15, seed: 53).map { abs($0) * 3 }
        for (attack, release) in [(0.2, 0.01), (0.01, 0.2), (1.0, 1.0)] {
            var settings = kernel_gain_settings(
                decibels: 6.0205999133, threshold: -12, slope: 0.75, knee: 6, half_knee: 3, curvature: 1 / 12,
                range: 1_000, sign: 1, octaves: -0.16609640474, dry: 0.25, wet: 0.75, attack: attack, release: release)
            var first: [Float] = []
            eachForm {
                for cut in [count, 100, 16, 7] {
                    var (state, found) = (0.0, [Float]())
                    for start in stride(from: 0, to: count, by: cut) {
                        let length = min(cut, count - start)
                        let whole = (length + 15) / 16 * 16
                        var gains = [Float](repeating: 0, count: whole)
                        let part = (0..<whole).map { start + $0 < levels.count ? levels[start + $0] : 0 }
                        kernel_gains(&settings, &state, part, &gains, length)
                        found += gains[..<length]
                    }
                    if first.isEmpty { first = found }
                    #expect(found == first)
                }
            }
            var state = 0.0
            for (level, gain) in zip(levels, first) {
                let over = 20 * RenderMath.log2(Double(level)) / RenderMath.log2(10.0) + 12
                let bent = max(0, min(6, over + 3))
                let goal = 0.75 * (bent * bent / 12 + max(0, over - 3))
                state += (goal > state ? attack : release) * (goal - state)
                let wanted = 0.25 + 0.75 * RenderMath.exp2(-state * 0.16609640474436813)
                #expect(abs(Double(gain) - wanted) < 1e-5 * wanted)
            }
        }
    }
}
