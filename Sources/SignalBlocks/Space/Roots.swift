internal import CKernels

/// Square roots by the processor's own instruction, for annotated code: `squareRoot()` is a foreign function to the compiler's
/// check. That of a number below 0 is no number.
package enum Roots {
    /// Returns a square root.
    @_noLocks @_noAllocation
    package static func root(_ x: Double) -> Double { kernel_square_root(x) }

    /// Returns a square root.
    @_noLocks @_noAllocation
    package static func root(_ x: Float) -> Float { kernel_square_root_float(x) }

    /// Returns four square roots.
    @_noLocks @_noAllocation
    package static func roots(_ x: SIMD4<Double>) -> SIMD4<Double> {
        SIMD4(kernel_square_root(x.x), kernel_square_root(x.y), kernel_square_root(x.z), kernel_square_root(x.w))
    }
}
