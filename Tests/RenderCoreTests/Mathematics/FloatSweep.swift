import Glibc
import TestSupport

/// Returns the distance of a `Float` from the exact value, in spacings of `Float`s at that value; infinite if it is not
/// even the same kind of number.
func ulps(_ actual: Float, _ exact: Double) -> Double {
    if exact.isNaN || actual.isNaN { return exact.isNaN && actual.isNaN ? 0 : .infinity }
    if (actual.sign == .minus) != (exact.sign == .minus) { return .infinity }
    if actual.isInfinite || exact.isInfinite { return actual == Float(exact) ? 0 : .infinity }
    if exact == 0 { return actual == 0 ? 0 : .infinity }
    return abs(Double(actual) - exact) / scalbn(1.0 as Double, max(Int(exact.exponent), -126) - 23)
}

/// Walks through the bit patterns of `Float`: a sample of them, or each one where RENDERSTACK_SOAK is set.
struct FloatSweep {
    static let isFull = unsafe getenv("RENDERSTACK_SOAK") != nil
    /// Prime, so that all low bits of the mantissa come up.
    static let stride: UInt32 = extent(20_011, inDebug: 200_003)

    /// The largest error of the scalar form, in ulp, with the place where it was found.
    var worst = 0.0
    var place: Float = 0
    /// Arguments for which a packed form gave other bits than the scalar form.
    var disagreements: [Float] = []

    /// - Parameter packedRange: The largest argument for which the packed forms are compared.
    init(
        packedRange: Float = .infinity,
        scalar: (Float) -> Float, four: (SIMD4<Float>) -> SIMD4<Float>, eight: (SIMD8<Float>) -> SIMD8<Float>,
        exact: (Double) -> Double
    ) {
        let step = Self.isFull ? 1 : Self.stride
        var next: UInt32 = 0
        var isDone = false
        while !isDone {
            // Neighbouring lanes get arguments of all kinds, with not-a-number among them.
            var arguments = SIMD8<Float>(repeating: .nan)
            for lane in 0..<8 where !isDone {
                arguments[lane] = Float(bitPattern: next.byteSwapped)
                let (sum, overflow) = next.addingReportingOverflow(step)
                next = sum
                isDone = overflow
            }
            let packed = eight(arguments)
            let low = four(arguments.lowHalf)
            let high = four(arguments.highHalf)
            for lane in 0..<8 {
                let x = arguments[lane]
                let y = scalar(x)
                let error = ulps(y, exact(Double(x)))
                if error > worst {
                    worst = error
                    place = x
                }
                if x.magnitude > packedRange { continue }
                let other = lane < 4 ? low[lane] : high[lane - 4]
                if !isSame(packed[lane], y) || !isSame(other, y) { disagreements.append(x) }
            }
        }
    }
}

/// Returns whether both have the same bits, or are both not a number.
func isSame(_ a: Float, _ b: Float) -> Bool { a.bitPattern == b.bitPattern || (a.isNaN && b.isNaN) }

/// Returns whether both have the same bits, or are both not a number.
func isSame(_ a: Double, _ b: Double) -> Bool { a.bitPattern == b.bitPattern || (a.isNaN && b.isNaN) }

/// Repeatable random bits (SplitMix64).
struct Noise: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
