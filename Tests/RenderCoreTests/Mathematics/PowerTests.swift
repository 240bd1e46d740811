import Glibc
import RenderCore
import Testing

/// Powers against the C library: everywhere by chance, and all pairs of special values.
@Suite struct PowerTests {
    enum Bound {
        /// In ulp of `Float`.
        static let power = 0.502
    }

    static let specials: [Double] = [
        0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 4, 2.5, -2.5, 1e-20, -1e-20, 1e20, -1e20, 1.0000001, 0.9999999,
        16_777_215, -16_777_215, 16_777_217, 33_554_433, 67_108_865, .infinity, -.infinity, .nan,
        Double(Float.leastNonzeroMagnitude), Double(-Float.leastNonzeroMagnitude),
        Double(Float.greatestFiniteMagnitude), Double(-Float.greatestFiniteMagnitude),
    ]

    @Test("Float: chance pairs, packed and scalar")
    func chance() {
        var noise = Noise(state: 1)
        var worst = 0.0
        var disagreements = 0
        for round in 0..<(FloatSweep.isFull ? 40_000_000 : 40_000) {
            var base = SIMD8<Float>()
            var exponent = SIMD8<Float>()
            for lane in 0..<8 {
                let bits = noise.next()
                base[lane] = Float(bitPattern: UInt32(truncatingIfNeeded: bits))
                switch round % 3 {
                case 0:
                    exponent[lane] = Float(bitPattern: UInt32(truncatingIfNeeded: bits >> 32))
                case 1:
                    // An exponent that brings the power somewhere into the range of Float.
                    let target = Double(Int64(truncatingIfNeeded: bits >> 32) % 30_000) / 100 - 150
                    exponent[lane] = Float(target / Glibc.log2(Double(base[lane].magnitude)))
                default:
                    exponent[lane] = Float(Int(bits >> 60) - 8)
                }
            }
            let packed = RenderMath.pow(base, exponent)
            let low = RenderMath.pow(base.lowHalf, exponent.lowHalf)
            for lane in 0..<8 {
                let y = RenderMath.pow(base[lane], exponent[lane])
                worst = max(worst, ulps(y, Glibc.pow(Double(base[lane]), Double(exponent[lane]))))
                if !isSame(packed[lane], y) || (lane < 4 && !isSame(low[lane], y)) { disagreements += 1 }
            }
        }
        #expect(disagreements == 0)
        #expect(worst <= Bound.power)
        #expect(worst > 0.49)
        if FloatSweep.isFull { print("pow: \(worst) ulp") }
    }

    @Test("Float: all pairs of special values")
    func specialFloats() {
        for a in Self.specials {
            for b in Self.specials {
                let x = Float(a)
                let y = Float(b)
                let exact = Glibc.pow(Double(x), Double(y))
                #expect(ulps(RenderMath.pow(x, y), exact) <= Bound.power, "\(x) to the \(y)")
                let packed = RenderMath.pow(SIMD8(repeating: x), SIMD8(repeating: y))
                #expect(isSame(packed[5], RenderMath.pow(x, y)), "packed \(x) to the \(y)")
            }
        }
    }

    @Test("Double: all pairs of special values")
    func specialDoubles() {
        let specials =
            Self.specials + [
                0x1p53, 0x1p53 - 1, 0x1p52 + 1, -(0x1p53 - 1), 0x1p52 - 0.5, 0x1p51 + 0.5, .leastNonzeroMagnitude,
                .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1e-300, 1.5e300,
            ]
        for x in specials {
            for y in specials {
                let expected = Glibc.pow(x, y)
                let actual = RenderMath.pow(x, y)
                let isNear = abs(actual - expected) <= DoubleFunctionTests.Bound.power * expected.ulp
                #expect(isSame(actual, expected) || isNear && actual.sign == expected.sign, "\(x) to the \(y)")
            }
        }
    }
}
