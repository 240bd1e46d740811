internal import CKernels

extension Signal {
    /// Renders a sine between -1 and 1, cheap and clean.
    ///
    /// The phase is counted in 2^-64 of a cycle: the frequency is exact, blocks of any length give the same samples,
    /// and nothing drifts. The wave is an odd polynomial, `x (1 - x^2) q(x^2)` with `q` minimax of degree 4: total
    /// harmonic distortion -139 dB, with the noise of rounding -137 dB, largest error 4e-7, no DC.
    ///
    /// - Parameters:
    ///   - rate: Cycles per sample: frequency / sample rate. A negative rate runs backwards; one that is not finite
    ///     stands still.
    ///   - position: The place in the cycle at which to begin, 0 to 1: 0 is the rising zero.
    ///   - output: Receives the wave.
    /// - Returns: The place in its cycle at which the next block begins.
    @_noLocks @_noAllocation
    public static func oscillator(
        rate: Double, position: Double, into output: inout MutableSpan<Float>
    ) -> Double {
        let start = turn(position)
        let step = turn(rate)
        for i in 0..<output.count {
            let phase = start &+ step &* UInt64(truncatingIfNeeded: i)
            output[i] = sine(Int32(truncatingIfNeeded: phase >> 32))
        }
        return Double(start &+ step &* UInt64(truncatingIfNeeded: output.count)) * 0x1p-64
    }

    /// Renders a sine of the full precision of ``RenderMath/sin(phase:)-(UInt32)``; phase and step count 2^64 to the
    /// turn.
    @_noLocks @_noAllocation
    package static func sine(
        phase: UInt64, step: UInt64, level: Float = 1, into output: inout MutableSpan<Float>
    ) {
        let count = output.count
        if let samples = unsafe output.address() { unsafe kernel_sine(phase, step, level, samples, count) }
    }

    /// Renders such a sine into `count` samples from `start` on.
    ///
    /// - Precondition: There are that many samples.
    @_noLocks @_noAllocation
    package static func sine(
        phase: UInt64, step: UInt64, into output: inout MutableSpan<Float>, at start: Int, count: Int
    ) {
        precondition(count >= 0 && start >= 0 && start <= output.count &- count)
        if let samples = unsafe output.address() { unsafe kernel_sine(phase, step, 1, samples + start, count) }
    }

    /// Renders a rising saw between -1 and 1 that falls at the half turn, with its edges sharp.
    @_noLocks @_noAllocation
    package static func saw(phase: UInt64, step: UInt64, into output: inout MutableSpan<Float>) {
        let count = output.count
        if let samples = unsafe output.address() { unsafe kernel_saw(phase, step, samples, count) }
    }

    /// Renders a triangle between -1 and 1 that rises at 0, with its corners sharp.
    @_noLocks @_noAllocation
    package static func triangle(phase: UInt64, step: UInt64, into output: inout MutableSpan<Float>) {
        let count = output.count
        if let samples = unsafe output.address() { unsafe kernel_triangle(phase, step, samples, count) }
    }

    /// Renders a pulse, 2 above its low for a width of 2^32 to the turn, with its edges sharp.
    @_noLocks @_noAllocation
    package static func pulse(
        phase: UInt64, step: UInt64, width: UInt32, low: Float, into output: inout MutableSpan<Float>
    ) {
        let count = output.count
        if let samples = unsafe output.address() {
            unsafe kernel_pulse(phase, step, width, low, samples, count)
        }
    }

    /// Adds four rows of a table, each with its weight, to `count` samples from `start` on. The first row begins at `row`, and
    /// each of the others `apart` numbers later.
    ///
    /// - Precondition: The table has them, and there are that many samples.
    @_noLocks @_noAllocation
    package static func addEdge(
        _ table: borrowing RenderMemory<Float>, row: Int, apart: Int, weights: SIMD4<Float>,
        to output: inout MutableSpan<Float>, at start: Int, count: Int
    ) {
        precondition(count >= 0 && start >= 0 && start <= output.count &- count)
        precondition(row >= 0 && apart >= 0 && row <= table.count &- 3 &* apart &- count)
        if let samples = unsafe output.address() {
            unsafe kernel_edge(
                table.memory.base + row, apart, weights[0], weights[1], weights[2], weights[3], samples + start, count)
        }
    }

    /// Returns a number of cycles in units of 2^-64, whole cycles dropped.
    @_noLocks @_noAllocation
    static func turn(_ cycles: Double) -> UInt64 {
        // Above 2^52 there are only whole cycles; the comparison is false for what is not a number.
        guard abs(cycles) < 0x1p52 else { return 0 }
        let whole = Double(Int64(cycles))
        let magnitude = UInt64(abs(cycles - whole) * 0x1p64)
        return cycles < whole ? 0 &- magnitude : magnitude
    }

    /// Returns `sin(pi * x)` where `x` is a signed 32-bit fraction: -1 ..< 1 is one cycle.
    @_noLocks @_noAllocation
    @inline(__always) static func sine(_ fraction: Int32) -> Float {
        let x = Float(fraction) * 0x1p-31
        let y = x * x
        let high = (y * 0.00597329158335924 - 0.0744593665003777) * y + 0.523780465126038
        return x * (1 - y) * ((high * y - 2.02608370780945) * y + 3.1415913105011)
    }
}
