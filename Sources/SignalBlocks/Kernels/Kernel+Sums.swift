// Public because what other targets inline calls it.
public import CKernels

// The loops that copy, add and multiply samples: what the stack does to its buffers.

extension Kernel {
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func copy(_ source: UnsafePointer<Float>, to target: UnsafeMutablePointer<Float>, _ count: Int) {
        unsafe kernel_copy(target, source, count)
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func add(_ source: UnsafePointer<Float>, to sum: UnsafeMutablePointer<Float>, _ count: Int) {
        unsafe kernel_add(sum, source, count)
    }

    /// Computes `((sum + a) + b) + c`.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func add(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ c: UnsafePointer<Float>,
        to sum: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        unsafe kernel_add_three(sum, a, b, c, count)
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func add(
        _ source: UnsafePointer<Float>, gain: Float, to sum: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        unsafe kernel_add_scaled(sum, source, gain, count)
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func scale(_ samples: UnsafeMutablePointer<Float>, _ gain: Float, _ count: Int) {
        unsafe kernel_scale(samples, gain, count)
    }

    /// Multiplies by four factors, by the first of them first.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func scale(
        _ samples: UnsafeMutablePointer<Float>, inTurn factors: SIMD4<Float>, _ count: Int
    ) {
        unsafe kernel_scale_in_turn(samples, factors[0], factors[1], factors[2], factors[3], count)
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func fill(_ samples: UnsafeMutablePointer<Float>, _ value: Float, _ count: Int) {
        unsafe kernel_fill(samples, value, count)
    }

    /// Copies the left channel onto both.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func spread(
        _ left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, _ gains: (Float, Float), _ count: Int
    ) {
        unsafe kernel_spread(left, right, gains.0, gains.1, count)
    }

    /// Computes `sum = 0 + source`. Returns whether no sample is infinite, and none is no number.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func start(_ source: UnsafePointer<Float>, sum: UnsafeMutablePointer<Float>, _ count: Int) -> Bool {
        unsafe kernel_start_sum(sum, source, count)
    }
}
