import Glibc
import RenderCore
import Testing

/// Sine and cosine of phases in turns, and what an oscillator made of them sounds like.
@Suite struct TurnsTests {
    enum Bound {
        /// In ulp.
        static let sineOfTurns = 2.2
        static let absolute = 1.3e-7
        /// Of the fundamental.
        static let harmonicsInDecibels = -140.0
        static let noiseInDecibels = -135.0
    }

    /// The exact sine of a phase: whole turns off first, which is exact.
    private func sine(_ turns: Double) -> Double {
        let rest = turns - turns.rounded(.toNearestOrEven)
        // sin(π - a) = sin(a) keeps what is near half a turn exact.
        let folded = abs(rest) > 0.25 ? (rest > 0 ? 0.5 : -0.5) - rest : rest
        return Glibc.sin(2 * Double.pi * folded)
    }

    @Test("sin(turns:) over all Floats")
    func sineOfTurns() {
        let four: (SIMD4<Float>) -> SIMD4<Float> = { x in
            RenderMath.sin(turns: SIMD8(lowHalf: x, highHalf: .zero)).lowHalf
        }
        var worst = 0.0
        var largest = 0.0
        var failures = 0
        let sweep = FloatSweep(
            scalar: { x in
                let y = RenderMath.sin(turns: x)
                let exact = sine(Double(x))
                // At multiples of half a turn the sign of zero is left open.
                if exact != 0, x.isFinite {
                    worst = max(worst, ulps(y, exact))
                    largest = max(largest, abs(Double(y) - exact))
                }
                if exact == 0 && y != 0 || x.isFinite == y.isNaN { failures += 1 }
                return y
            }, four: four, eight: { RenderMath.sin(turns: $0) }, exact: { _ in 0 })
        #expect(worst <= Bound.sineOfTurns)
        #expect(largest <= Bound.absolute)
        #expect(worst > 0.5)
        #expect(failures == 0)
        #expect(sweep.disagreements.isEmpty)
        if FloatSweep.isFull { print("sin(turns:) \(worst) ulp, \(largest)") }
        #expect(RenderMath.sin(turns: -0.0).sign == .minus)
    }

    @Test("cos(turns:) over all Floats")
    func cosineOfTurns() {
        var worst = 0.0
        var failures = 0
        let sweep = FloatSweep(
            scalar: { x in
                let y = RenderMath.cos(turns: x)
                if x.isFinite {
                    let rest = Double(x) - Double(x).rounded(.toNearestOrEven)
                    worst = max(worst, abs(Double(y) - sine(0.25 - abs(rest))))
                }
                if x.isFinite == y.isNaN { failures += 1 }
                return y
            },
            four: { RenderMath.cos(turns: SIMD8(lowHalf: $0, highHalf: .zero)).lowHalf },
            eight: { RenderMath.cos(turns: $0) }, exact: { _ in 0 })
        #expect(worst <= Bound.absolute)
        #expect(worst > 1e-9)
        #expect(failures == 0)
        #expect(sweep.disagreements.isEmpty)
        if FloatSweep.isFull { print("cos(turns:) \(worst)") }
        #expect([0, 0.25, 0.5, 0.75, 1].map { RenderMath.cos(turns: $0) } == [1, 0, -1, 0, 1])
    }

    @Test("Integer phases over the whole circle")
    func integerPhase() {
        var worst = 0.0
        var disagreements = 0
        var phases = SIMD8<UInt32>(0, 1, 0x3FFF_FFFF, 0x4000_0000, 0x7FFF_FFFF, 0x8000_0000, 0xC000_0000, 0xFFFF_FFFF)
        for _ in 0..<(FloatSweep.isFull ? 1 << 26 : 30_000) {
            let sines = RenderMath.sin(phase: phases)
            let cosines = RenderMath.cos(phase: phases)
            for lane in 0..<8 {
                let y = RenderMath.sin(phase: phases[lane])
                worst = max(worst, abs(Double(y) - sine(Double(phases[lane]) * 0x1p-32)))
                let cosine = RenderMath.cos(phase: phases[lane])
                if y != sines[lane] || cosine != cosines[lane] { disagreements += 1 }
                if cosine != RenderMath.sin(phase: phases[lane] &+ 0x4000_0000) { disagreements += 1 }
            }
            phases &+= 143_165_577
        }
        #expect(disagreements == 0)
        #expect(worst <= Bound.absolute)
        #expect(worst > 1e-9)
        if FloatSweep.isFull { print("sin(phase:) \(worst)") }
        let quarters: [UInt32] = [0, 0x4000_0000, 0x8000_0000, 0xC000_0000]
        #expect(quarters.map { RenderMath.sin(phase: $0) } == [0, 1, 0, -1])
    }

    @Test("A rendered sine has no audible harmonics", arguments: [1, 37, 129])
    func harmonics(cycles: Int) {
        let count = 4096
        // An odd start, so that the samples are not symmetric.
        let integer = (0..<count).map {
            Double(RenderMath.sin(phase: UInt32(truncatingIfNeeded: $0 * cycles) &* 0x10_0000 &+ 12_345))
        }
        let turns = (0..<count).map {
            Double(RenderMath.sin(turns: Float($0 * cycles % count) / Float(count) + 0.000_012_3))
        }
        for signal in [integer, turns] {
            func level(_ bin: Int) -> Double {
                var re = 0.0
                var im = 0.0
                for (n, x) in signal.enumerated() {
                    let angle = 2 * Double.pi * Double(n * bin % count) / Double(count)
                    re += x * Glibc.cos(angle)
                    im += x * Glibc.sin(angle)
                }
                return 2 * Glibc.sqrt(re * re + im * im) / Double(count)
            }
            let fundamental = level(cycles)
            #expect(abs(fundamental - 1) < 1e-6)
            for harmonic in [0] + Array(2...12) {
                #expect(20 * Glibc.log10(level(harmonic * cycles) / fundamental) < Bound.harmonicsInDecibels)
            }
            let power = signal.reduce(0) { $0 + $1 * $1 } * 2 / Double(count)
            let noise = abs(power - fundamental * fundamental)
            #expect(10 * Glibc.log10(noise + 1e-30) < Bound.noiseInDecibels)
        }
    }
}
