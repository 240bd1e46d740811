extension Signal {
    /// Fades a channel along a straight line.
    ///
    /// Frame `i` is scaled by `start + step * i`, whatever the length of the block. Start and end are `Double`, so that
    /// a ramp which is cut into thousands of blocks ends where the uncut one does (within 1e-6).
    ///
    /// - Returns: The gain after the last frame: the `start` of the next block.
    @_noLocks @_noAllocation
    @discardableResult
    public static func applyRamp(from start: Double, step: Double, to buffer: inout MutableSpan<Float>) -> Double {
        let (origin, slope) = (Float(start), Float(step))
        for i in 0..<buffer.count { buffer[i] *= origin + slope * float(i) }
        return start + step * Double(buffer.count)
    }

    /// Writes a copy of a channel that fades along a straight line.
    ///
    /// - Returns: The gain after the last frame: the `start` of the next block.
    @_noLocks @_noAllocation
    @discardableResult
    public static func applyRamp(
        from start: Double, step: Double, to source: borrowing Samples, into output: inout MutableSpan<Float>
    ) -> Double {
        let count = min(source.count, output.count)
        let (origin, slope) = (Float(start), Float(step))
        for i in 0..<count { output[i] = source[i] * (origin + slope * float(i)) }
        return start + step * Double(count)
    }

    /// Fades a channel along a quarter of a sine: together with its mirror image, two unrelated signals keep
    /// their common power.
    ///
    /// Frame `i` is scaled by `sin(x * pi / 2)` where `x = start + step * i`, held between 0 and 1. The error is below
    /// 2e-7; the gains at 0 and 1 are exact.
    ///
    /// - Returns: `x` after the last frame, not held: the `start` of the next block.
    @_noLocks @_noAllocation
    @discardableResult
    public static func applyEqualPowerRamp(
        from start: Double, step: Double, to buffer: inout MutableSpan<Float>
    ) -> Double {
        let (origin, slope) = (Float(start), Float(step))
        for i in 0..<buffer.count { buffer[i] *= quarterSine(origin + slope * float(i)) }
        return start + step * Double(buffer.count)
    }

    /// Writes a copy of a channel that fades along a quarter of a sine.
    ///
    /// - Returns: `x` after the last frame, not held: the `start` of the next block.
    @_noLocks @_noAllocation
    @discardableResult
    public static func applyEqualPowerRamp(
        from start: Double, step: Double, to source: borrowing Samples, into output: inout MutableSpan<Float>
    ) -> Double {
        let count = min(source.count, output.count)
        let (origin, slope) = (Float(start), Float(step))
        for i in 0..<count { output[i] = source[i] * quarterSine(origin + slope * float(i)) }
        return start + step * Double(count)
    }

    /// Returns `sin(x * pi / 2)` for `x` held between 0 and 1; exact at both ends.
    @_noLocks @_noAllocation
    @inline(__always) static func quarterSine(_ x: Float) -> Float { RenderMath.sin(turns: 0.25 * unit(x)) }

    /// Returns a number held between 0 and 1, in a form that becomes two vector instructions.
    @_noLocks @_noAllocation
    @inline(__always) static func unit(_ x: Float) -> Float {
        let positive = x > 0 ? x : 0
        return positive < 1 ? positive : 1
    }

    /// Returns an index as a number, in the one form that becomes a vector instruction.
    @_noLocks @_noAllocation
    @inline(__always) static func float(_ index: Int) -> Float { Float(Int32(truncatingIfNeeded: index)) }
}
