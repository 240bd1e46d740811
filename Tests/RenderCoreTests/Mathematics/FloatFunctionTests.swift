import Glibc
import RenderCore
import Testing

/// The Float functions over all bit patterns against the C library in double precision.
@Suite struct FloatFunctionTests {
    /// Stated errors in ulp, as in the documentation.
    enum Bound {
        static let sine = 0.501
        static let tangent = 0.502
        static let exponential = 0.502
        static let hyperbolicTangent = 0.505
        static let logarithm = 0.501
        static let decibels = 0.502
    }

    private func check(_ sweep: FloatSweep, _ bound: Double, _ location: SourceLocation = #_sourceLocation) {
        #expect(sweep.worst <= bound, "\(sweep.worst) ulp at \(sweep.place)", sourceLocation: location)
        #expect(sweep.worst > 0.49, "the sweep saw hardly anything", sourceLocation: location)
        #expect(
            sweep.disagreements.isEmpty, "packed forms differ at \(sweep.disagreements.prefix(5))",
            sourceLocation: location)
        if FloatSweep.isFull { print("\(location.line): \(sweep.worst) ulp at \(sweep.place)") }
    }

    @Test("sin is right for every Float, and packed the same up to the stated range")
    func sine() {
        check(
            FloatSweep(
                packedRange: RenderMath.largestPackedAngle,
                scalar: { RenderMath.sin($0) }, four: { RenderMath.sin($0) }, eight: { RenderMath.sin($0) },
                exact: { Glibc.sin($0) }),
            Bound.sine)
    }

    @Test("cos is right for every Float, and packed the same up to the stated range")
    func cosine() {
        check(
            FloatSweep(
                packedRange: RenderMath.largestPackedAngle,
                scalar: { RenderMath.cos($0) }, four: { RenderMath.cos($0) }, eight: { RenderMath.cos($0) },
                exact: { Glibc.cos($0) }),
            Bound.sine)
    }

    @Test("tan is right for every Float, and packed the same up to the stated range")
    func tangent() {
        check(
            FloatSweep(
                packedRange: RenderMath.largestPackedAngle,
                scalar: { RenderMath.tan($0) }, four: { RenderMath.tan($0) }, eight: { RenderMath.tan($0) },
                exact: { Glibc.tan($0) }),
            Bound.tangent)
    }

    @Test("exp is right for every Float")
    func exponential() {
        check(
            FloatSweep(
                scalar: { RenderMath.exp($0) }, four: { RenderMath.exp($0) }, eight: { RenderMath.exp($0) },
                exact: { Glibc.exp($0) }),
            Bound.exponential)
    }

    @Test("exp2 is right for every Float")
    func exponentialOfTwo() {
        check(
            FloatSweep(
                scalar: { RenderMath.exp2($0) }, four: { RenderMath.exp2($0) }, eight: { RenderMath.exp2($0) },
                exact: { Glibc.exp2($0) }),
            Bound.exponential)
    }

    @Test("tanh is right for every Float")
    func hyperbolicTangent() {
        check(
            FloatSweep(
                scalar: { RenderMath.tanh($0) }, four: { RenderMath.tanh($0) }, eight: { RenderMath.tanh($0) },
                exact: { Glibc.tanh($0) }),
            Bound.hyperbolicTangent)
    }

    @Test("log is right for every Float")
    func naturalLogarithm() {
        check(
            FloatSweep(
                scalar: { RenderMath.log($0) }, four: { RenderMath.log($0) }, eight: { RenderMath.log($0) },
                exact: { Glibc.log($0) }),
            Bound.logarithm)
    }

    @Test("log2 is right for every Float")
    func binaryLogarithm() {
        check(
            FloatSweep(
                scalar: { RenderMath.log2($0) }, four: { RenderMath.log2($0) }, eight: { RenderMath.log2($0) },
                exact: { Glibc.log2($0) }),
            Bound.logarithm)
    }

    @Test("log10 is right for every Float")
    func decimalLogarithm() {
        check(
            FloatSweep(
                scalar: { RenderMath.log10($0) }, four: { RenderMath.log10($0) }, eight: { RenderMath.log10($0) },
                exact: { Glibc.log10($0) }),
            Bound.logarithm)
    }

    @Test("Decibels and amplitude are right for every Float")
    func decibels() {
        check(
            FloatSweep(
                scalar: { RenderMath.amplitude(decibels: $0) }, four: { RenderMath.amplitude(decibels: $0) },
                eight: { RenderMath.amplitude(decibels: $0) }, exact: { Glibc.pow(10, $0 / 20) }),
            Bound.decibels)
        check(
            FloatSweep(
                scalar: { RenderMath.decibels(amplitude: $0) }, four: { RenderMath.decibels(amplitude: $0) },
                eight: { RenderMath.decibels(amplitude: $0) }, exact: { 20 * Glibc.log10($0) }),
            Bound.logarithm)
    }

    @Test("Special values are those of the C library")
    func specialValues() {
        let values: [Float] = [
            0, -0.0, 1, -1, 2, 0.5, .nan, -.nan, .infinity, -.infinity, .leastNonzeroMagnitude,
            -.leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
            -103.5, -103.98, 88.73, 128, -149, -150, -151,
        ]
        for x in values {
            #expect(isSame(RenderMath.sin(x), Glibc.sinf(x)), "sin \(x)")
            #expect(isSame(RenderMath.cos(x), Glibc.cosf(x)), "cos \(x)")
            #expect(isSame(RenderMath.exp(x), Glibc.expf(x)), "exp \(x)")
            #expect(isSame(RenderMath.exp2(x), Glibc.exp2f(x)), "exp2 \(x)")
            #expect(isSame(RenderMath.log(x), Glibc.logf(x)), "log \(x)")
            #expect(isSame(RenderMath.log2(x), Glibc.log2f(x)), "log2 \(x)")
            #expect(isSame(RenderMath.log10(x), Float(Glibc.log10(Double(x)))), "log10 \(x)")
            #expect(isSame(RenderMath.tan(x), Float(Glibc.tan(Double(x)))), "tan \(x)")
            #expect(isSame(RenderMath.tanh(x), Float(Glibc.tanh(Double(x)))), "tanh \(x)")
        }
        #expect(RenderMath.exp(-103.5 as Float) == .leastNonzeroMagnitude)
        for n in -10...10 { #expect(RenderMath.exp2(Float(n)) == Float(Glibc.exp2(Double(n)))) }
        for n in 0...10 { #expect(RenderMath.log10(Float(Glibc.pow(10, Double(n)))) == Float(n)) }
    }

    @Test("Packed angles beyond the range count as 0, infinite ones give not-a-number")
    func largePackedAngles() {
        let angles = SIMD4<Float>(0x1.000002p21, -1e30, .infinity, .nan)
        for y in [RenderMath.sin(angles), RenderMath.tan(angles)] {
            #expect(y[0] == 0 && y[1] == 0 && y[2].isNaN && y[3].isNaN)
        }
        let cosines = RenderMath.cos(angles)
        #expect(cosines[0] == 1 && cosines[1] == 1 && cosines[2].isNaN && cosines[3].isNaN)
    }

    @Test("sincos gives what sin and cos give")
    func together() {
        for x in stride(from: -40 as Float, through: 40, by: 0.037) {
            let (s, c) = RenderMath.sincos(x)
            #expect(s == RenderMath.sin(x) && c == RenderMath.cos(x))
            let packed = RenderMath.sincos(SIMD8(repeating: x))
            #expect(packed.sin == SIMD8(repeating: s) && packed.cos == SIMD8(repeating: c))
            let double = RenderMath.sincos(Double(x))
            #expect(double.sin == RenderMath.sin(Double(x)) && double.cos == RenderMath.cos(Double(x)))
        }
    }

    @Test("A lane does not depend on its neighbours")
    func lanes() {
        let quiet = SIMD8<Float>(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
        for lane in 0..<8 {
            for intruder in [Float.nan, .infinity, -1e38, 0] {
                var disturbed = quiet
                disturbed[lane] = intruder
                for function in [
                    { RenderMath.sin($0) }, { RenderMath.cos($0) }, { RenderMath.tan($0) }, { RenderMath.tanh($0) },
                    { RenderMath.exp($0) }, { RenderMath.log($0) }, { RenderMath.pow($0, $0) },
                    { RenderMath.sin(turns: $0) }, { RenderMath.cos(turns: $0) },
                ] as [(SIMD8<Float>) -> SIMD8<Float>] {
                    let expected = function(quiet)
                    let actual = function(disturbed)
                    for other in 0..<8 where other != lane { #expect(actual[other] == expected[other]) }
                }
            }
        }
    }

    @Test(
        "exp, log, tanh and amplitude never fall where their argument rises", arguments: [1e-3, 0.3466, 0.7072, 1, 8])
    func monotony(start: Float) {
        var x = start
        for _ in 0..<2000 {
            let next = x.nextUp
            #expect(RenderMath.exp(x) <= RenderMath.exp(next))
            #expect(RenderMath.exp(-next) <= RenderMath.exp(-x))
            #expect(RenderMath.log(x) <= RenderMath.log(next))
            #expect(RenderMath.tanh(x) <= RenderMath.tanh(next))
            #expect(RenderMath.amplitude(decibels: x) <= RenderMath.amplitude(decibels: next))
            x = next
        }
    }
}
