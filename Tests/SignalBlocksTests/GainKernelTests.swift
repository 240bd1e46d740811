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
            let settings = gain(attack: attack, release: release, sign: 1)
            let found = gains(of: levels, settings, count)
            var state = 0.0
            for (level, gain) in zip(levels, found) {
                let over = 20 * RenderMath.log2(Double(level)) / RenderMath.log2(10.0) + 12
                let bent = max(0, min(6, over + 3))
                let goal = 0.75 * (bent * bent / 12 + max(0, over - 3))
                state += (goal > state ? attack : release) * (goal - state)
                let wanted = 0.25 + 0.75 * RenderMath.exp2(-state * 0.16609640474436813)
                #expect(abs(Double(gain) - wanted) < 1e-5 * wanted)
            }
        }
    }

    // Blocks of 16 frames go one way without a comparison, and blocks in which the way turns must be gone again; cut into single
    // frames, all are compared.
    @Test("Gains that go one way for long, and turn, have the bits of gains that look in each frame where to go")
    func longWays() {
        let count = 4_099
        let noise = Self.noise(count + 15, seed: 54)
        for depth in [0.02, 0.5, 8] {
            // Swells and falls by so many octaves, with a tenth of noise.
            let levels = noise.enumerated().map { (i: Int, x: Float) -> Float in
                let height = Double(abs(i % 1_400 - 700)) / 700
                return (0.9 + 0.1 * abs(x)) * Float(RenderMath.exp2(depth * (height - 1)))
            }
            for (attack, release) in [(0.02, 0.001), (0.001, 0.02), (0.004, 0.004), (0.2, 0.002), (0.002, 0.2)] {
                for sign: Float in [1, -1] {
                    _ = gains(of: levels, gain(attack: attack, release: release, sign: sign), count)
                }
            }
        }
    }

    private func gain(attack: Double, release: Double, sign: Float) -> kernel_gain_settings {
        kernel_gain_settings(
            decibels: 6.0205999133, threshold: -12, slope: 0.75, knee: 6, half_knee: 3, curvature: 1 / 12, range: 1_000,
            sign: sign, octaves: -0.16609640474 * sign, dry: 0.25, wet: 0.75, attack: attack, release: release)
    }

    /// Returns gains; demands that they are the same in every form and in cycles of every length.
    private func gains(of levels: [Float], _ settings: kernel_gain_settings, _ count: Int) -> [Float] {
        var (settings, first) = (settings, [Float]())
        eachForm {
            for cut in [count, 100, 16, 7, 1] {
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
        return first
    }
}
