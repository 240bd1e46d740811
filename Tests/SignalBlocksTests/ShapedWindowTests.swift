import Foundation
import SignalBlocks
import Testing

@Suite struct ShapedWindowTests {
    private static let table = TangentTable()

    private enum Curve: CaseIterable {
        case hard, soft, tangent, fold

        func plain(_ x: Double) -> Double {
            switch self {
            case .hard: return min(max(x, -1), 1)
            case .soft: return abs(x) < 1.5 ? x - 4 / 27 * x * x * x : x < 0 ? -1 : 1
            case .tangent: return tanh(x)
            case .fold:
                let place = (x + 1).truncatingRemainder(dividingBy: 4)
                let turn = place < 0 ? place + 4 : place
                return turn < 2 ? turn - 1 : 3 - turn
            }
        }

        func shaped(_ a: Double, _ b: Double, _ c: Double) -> Double {
            let window = ShapedWindow(a, b, c)
            switch self {
            case .hard: return window.hardClipped
            case .soft: return window.softClipped
            case .tangent: return window.tangent(ShapedWindowTests.table)
            case .fold: return window.folded
            }
        }
    }

    /// The mean of a curve over all weighted means of three values, by the midpoint rule on a triangle.
    private func mean(_ curve: Curve, _ a: Double, _ b: Double, _ c: Double, _ steps: Int) -> Double {
        var (sum, count) = (0.0, 0.0)
        for i in 0..<steps {
            for j in 0..<steps - i {
                let (u, v) = ((Double(i) + 1.0 / 3) / Double(steps), (Double(j) + 1.0 / 3) / Double(steps))
                sum += curve.plain(a + u * (b - a) + v * (c - a))
                count += 1
                if i + j < steps - 1 {
                    let third = 1 / (3 * Double(steps))
                    sum += curve.plain(a + (u + third) * (b - a) + (v + third) * (c - a))
                    count += 1
                }
            }
        }
        return sum / count
    }

    @Test("Each is the curve's mean over the triangle of three samples, in any order") func means() {
        var seed: UInt64 = 7
        /// A number from -1 to 1.
        func random() -> Double {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(seed >> 11) * 0x1p-52 - 1
        }
        for curve in Curve.allCases {
            for turn in 0..<40 {
                let spans: [Double] = [0.01, 0.5, 3, 6]
                let span = spans[turn % 4]
                let middle = 3 * random()
                let values: [Double] = (0..<3).map { _ in middle + span * random() }
                let found = curve.shaped(values[0], values[1], values[2])
                let expected = mean(curve, values[0], values[1], values[2], 200)
                #expect(abs(found - expected) < 2e-4, "\(curve) of \(values)")
                #expect(abs(curve.shaped(values[2], values[0], values[1]) - found) < 1e-12)
            }
        }
    }

    @Test("Samples that are nearly alike cost no digits") func nearlyAlike() {
        for curve in Curve.allCases {
            for middle in [-2.0, -1.5, -1, -0.3, 0, 0.7, 1, 1.2, 1.5, 2, 9, 11.99, 12, 1_000.5] {
                for width in [0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 9e-5, 1.1e-4, 3e-4] {
                    for (second, third) in [
                        (width, 0.0), (width, width), (0, width), (0.5 * width, width), (-width, width),
                    ] {
                        let found = curve.shaped(middle, middle + second, middle + third)
                        let expected = curve.plain(middle)
                        #expect(abs(found - expected) <= 1.01 * width + 3e-7, "\(curve) at \(middle), \(width)")
                    }
                }
            }
        }
    }

    @Test("Two that are alike and one far away cost no digits") func pairs() {
        for curve in Curve.allCases {
            for far in [-800.0, -4, 4, 17, 1e5] {
                let near = 0.4
                let expected = curve.shaped(near, near, far)
                for width in [1e-14, 1e-10, 1e-7, 1e-6, 1e-5, 2e-5] {
                    #expect(abs(curve.shaped(near, near + width, far) - expected) < 2 * width + 1e-9, "\(curve)")
                    #expect(abs(curve.shaped(far, near, near - width) - expected) < 2 * width + 1e-9, "\(curve)")
                }
            }
        }
    }

    @Test("However large the samples are, the mean is within the curve") func bounded() {
        for curve in Curve.allCases {
            for a in [-1e6, -77, 0, 3, 1e6] {
                for b in [-1e6, -999_999, 0.5, 1e6] {
                    for c in [-1e6, 0, 999_999.9, 1e6] {
                        let found = curve.shaped(a, b, c)
                        #expect(abs(found) <= 1)
                        if curve != .fold && min(a, b, c) > 12 { #expect(found == 1) }
                    }
                }
            }
        }
    }
}
