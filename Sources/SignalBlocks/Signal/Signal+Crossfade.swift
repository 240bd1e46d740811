extension Signal {
    /// Fades from one channel to another along a straight line: for signals that are alike, whose sum keeps its
    /// level.
    ///
    /// Frame `i` holds `first * (1 - t) + second * t` where `t = position + step * i`, held between 0 and 1. A fade
    /// over `n` frames is `position: 0, step: 1 / n`; both ends are exact.
    ///
    /// - Returns: The position after the last frame: that of the next block.
    @_noLocks @_noAllocation
    @discardableResult
    public static func crossfade(
        _ first: borrowing Samples, to second: borrowing Samples, position: Double = 0, step: Double,
        into output: inout MutableSpan<Float>
    ) -> Double {
        let count = min(first.count, min(second.count, output.count))
        let (origin, slope) = (Float(position), Float(step))
        for i in 0..<count {
            let t = unit(origin + slope * float(i))
            output[i] = first[i] * (1 - t) + second[i] * t
        }
        return position + step * Double(count)
    }

    /// Fades a channel, in place, to another along a straight line.
    ///
    /// - Returns: The position after the last frame: that of the next block.
    @_noLocks @_noAllocation
    @discardableResult
    public static func crossfade(
        _ buffer: inout MutableSpan<Float>, to second: borrowing Samples, position: Double = 0, step: Double
    ) -> Double {
        let count = min(buffer.count, second.count)
        let (origin, slope) = (Float(position), Float(step))
        for i in 0..<count {
            let t = unit(origin + slope * float(i))
            buffer[i] = buffer[i] * (1 - t) + second[i] * t
        }
        return position + step * Double(count)
    }

    /// Fades from one channel to another with equal power: for signals that have nothing in common.
    ///
    /// Works like ``crossfade(_:to:position:step:into:)``, with `cos(t * pi / 2)` and `sin(t * pi / 2)` for gains.
    ///
    /// - Returns: The position after the last frame: that of the next block.
    @_noLocks @_noAllocation
    @discardableResult
    public static func equalPowerCrossfade(
        _ first: borrowing Samples, to second: borrowing Samples, position: Double = 0, step: Double,
        into output: inout MutableSpan<Float>
    ) -> Double {
        let count = min(first.count, min(second.count, output.count))
        let (origin, slope) = (Float(position), Float(step))
        for i in 0..<count {
            let t = origin + slope * float(i)
            output[i] = first[i] * quarterSine(1 - t) + second[i] * quarterSine(t)
        }
        return position + step * Double(count)
    }

    /// Fades a channel, in place, to another with equal power.
    ///
    /// - Returns: The position after the last frame: that of the next block.
    @_noLocks @_noAllocation
    @discardableResult
    public static func equalPowerCrossfade(
        _ buffer: inout MutableSpan<Float>, to second: borrowing Samples, position: Double = 0, step: Double
    ) -> Double {
        let count = min(buffer.count, second.count)
        let (origin, slope) = (Float(position), Float(step))
        for i in 0..<count {
            let t = origin + slope * float(i)
            buffer[i] = buffer[i] * quarterSine(1 - t) + second[i] * quarterSine(t)
        }
        return position + step * Double(count)
    }
}
