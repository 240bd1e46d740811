import Glibc
import RenderCore
import TestSupport
import Testing

#if arch(x86_64)
    typealias Reference = Float80
    /// The possible error of the reference itself, in ulp of `Double`.
    private let referenceError = 0.001
#else
    typealias Reference = Double
    private let referenceError = 1.0
#endif

/// The Double functions against the C library: in extended precision where there is one.
@Suite struct DoubleFunctionTests {
    /// Stated errors in ulp, as in the documentation.
    enum Bound {
        static let sine = 0.85
        static let tangent = 1.5
        static let exponential = 1.0
        static let nearZero = 4.0
        static let binaryExponential = 1.1
        static let logarithm = 1.0
        static let binaryLogarithm = 0.51
        static let power = 1.1
    }

    /// Arguments over all bit patterns, and evenly over a range that is used.
    private static func arguments(_ range: ClosedRange<Double>) -> [Double] {
        var noise = Noise(state: 7)
        let count = FloatSweep.isFull ? 10_000_000 : extent(50_000, inDebug: 5_000)
        return (0..<count).map { index in
            index % 2 == 0 ? Double(bitPattern: noise.next()) : Double.random(in: range, using: &noise)
        }
    }

    private func check(
        _ range: ClosedRange<Double>, _ bound: Double, _ actual: (Double) -> Double,
        _ exact: (Reference) -> Reference, _ location: SourceLocation = #_sourceLocation
    ) {
        var worst = 0.0
        var place = 0.0
        for x in Self.arguments(range) {
            let expected = exact(Reference(x))
            let rounded = Double(expected)
            let y = actual(x)
            if isSame(y, rounded) { continue }
            let unit = Reference(max(rounded.binade.ulp, .leastNonzeroMagnitude))
            let error = rounded.isFinite ? Double(abs(Reference(y) - expected) / unit) : .infinity
            if !(error <= worst) {
                worst = error
                place = x
            }
        }
        #expect(worst <= bound + referenceError, "\(worst) ulp at \(place)", sourceLocation: location)
        if FloatSweep.isFull { print("Double \(location.line): \(worst) ulp at \(place)") }
    }

    @Test("sin over all doubles and a few turns")
    func sine() { check(-100...100, Bound.sine, { RenderMath.sin($0) }, { Glibc.sin($0) }) }

    @Test("cos over all doubles and a few turns")
    func cosine() { check(-100...100, Bound.sine, { RenderMath.cos($0) }, { Glibc.cos($0) }) }

    @Test("tan over all doubles and the quarter turn of filters")
    func tangent() {
        check(-1.58...1.58, Bound.tangent, { RenderMath.tan($0) }, { Glibc.tan($0) })
        check(-3e6...3e6, Bound.tangent, { RenderMath.tan($0) }, { Glibc.tan($0) })
    }

    @Test("exp over all doubles, down to denormals and up to infinity")
    func exponential() { check(-750...715, Bound.exponential, { RenderMath.exp($0) }, { Glibc.exp($0) }) }

    @Test("exp - 1 and log(1 + x) over all doubles, and near 0")
    func nearZero() {
        for range in [-750.0...715, -1...1, -1e-6...1e-6] {
            check(range, Bound.nearZero, { RenderMath.expMinusOne($0) }, { Glibc.expm1($0) })
        }
        for range in [-0.999...1e6, -0.5...0.5, -1e-9...1e-9] {
            check(range, Bound.nearZero, { RenderMath.log(onePlus: $0) }, { Glibc.log1p($0) })
        }
    }

    @Test("exp2 over all doubles, down to denormals and up to infinity")
    func binaryExponential() {
        check(-1080...1030, Bound.binaryExponential, { RenderMath.exp2($0) }, { Glibc.exp2($0) })
    }

    @Test("log over all doubles, denormals too, and around 1")
    func logarithm() { check(0.5...2, Bound.logarithm, { RenderMath.log($0) }, { Glibc.log($0) }) }

    @Test("log2 over all doubles, denormals too, and around 1")
    func binaryLogarithm() { check(0.5...2, Bound.binaryLogarithm, { RenderMath.log2($0) }, { Glibc.log2($0) }) }

    @Test("pow over chance pairs")
    func power() {
        for exponent in [0.5, -1.0 / 3, 2, 17, -40.25, 700.125, 1e-3] {
            check(0.0001...10, Bound.power, { RenderMath.pow($0, exponent) }, { Glibc.pow($0, Reference(exponent)) })
            check(
                -300...300, Bound.power, { RenderMath.pow(exponent.magnitude, $0) },
                { Glibc.pow(Reference(exponent.magnitude), $0) })
        }
    }

    @Test("Angles that lie nearest to a multiple of π/2")
    func hardAngles() {
        // The worst case of all doubles, and multiples of π rounded to double.
        var angles = [6_381_956_970_095_103 * 0x1p797]
        for n in 1...2000 { angles.append(Double(n) * .pi) }
        for n in 1...300 { angles.append(Double(n) * 1_048_573 * .pi) }
        for x in angles {
            let expected = Glibc.sin(Reference(x))
            let error = abs(Reference(RenderMath.sin(x)) - expected) / Reference(Double(expected).ulp)
            #expect(Double(error) <= Bound.sine + referenceError, "sin \(x)")
            let tangent = Glibc.tan(Reference(x))
            let other = abs(Reference(RenderMath.tan(x)) - tangent) / Reference(Double(tangent).ulp)
            #expect(Double(other) <= Bound.tangent + referenceError, "tan \(x)")
        }
    }

    /// Zeros, infinities and not-a-number exactly; other values may be rounded the other way.
    private func isSameOrNext(_ actual: Double, _ expected: Double) -> Bool {
        if expected == 0 || !expected.isFinite { return isSame(actual, expected) }
        return actual == expected || actual == expected.nextUp || actual == expected.nextDown
    }

    @Test("Special values are those of the C library")
    func specialValues() {
        for x in [0, -0.0, 1, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, -1, 1024, -1075, -1080, 710, 1e300] {
            #expect(isSameOrNext(RenderMath.sin(x), Glibc.sin(x)), "sin \(x)")
            #expect(isSameOrNext(RenderMath.cos(x), Glibc.cos(x)), "cos \(x)")
            #expect(isSameOrNext(RenderMath.tan(x), Glibc.tan(x)), "tan \(x)")
            #expect(isSameOrNext(RenderMath.exp(x), Glibc.exp(x)), "exp \(x)")
            #expect(isSameOrNext(RenderMath.exp2(x), Glibc.exp2(x)), "exp2 \(x)")
            #expect(isSameOrNext(RenderMath.log(x), Glibc.log(x)), "log \(x)")
            #expect(isSameOrNext(RenderMath.log2(x), Glibc.log2(x)), "log2 \(x)")
        }
        for n in -1074...1023 {
            let power = scalbn(1.0 as Double, n)
            #expect(RenderMath.exp2(Double(n)) == power && RenderMath.log2(power) == Double(n))
        }
    }
}
