extension Signal {
    /// Adds a channel to another.
    @_noLocks @_noAllocation
    public static func accumulate(_ source: borrowing Samples, into output: inout MutableSpan<Float>) {
        let count = min(source.count, output.count)
        if let sum = unsafe output.address() { unsafe Kernel.add(source.base, to: sum, count) }
    }

    /// Adds a louder or softer channel to another.
    @_noLocks @_noAllocation
    public static func accumulate(
        _ source: borrowing Samples, gain: Float, into output: inout MutableSpan<Float>
    ) {
        let count = min(source.count, output.count)
        if let sum = unsafe output.address() { unsafe Kernel.add(source.base, gain: gain, to: sum, count) }
    }

    /// Adds a channel, scaled along a fader, to another; the fader is not moved on.
    @_noLocks @_noAllocation
    public static func accumulate(
        _ source: borrowing Samples, along fader: Fader, into output: inout MutableSpan<Float>
    ) {
        let count = min(source.count, output.count)
        let line = fader.line
        let moving = min(line.count, count)
        for i in 0..<moving { output[i] += source[i] * (line.origin + line.slope * float(line.position &+ i)) }
        for i in moving..<count { output[i] += source[i] * fader.target }
    }

    /// Mixes a channel into another, both scaled: `output` is one of the inputs.
    @_noLocks @_noAllocation
    public static func mix(
        _ source: borrowing Samples, gain: Float, into output: inout MutableSpan<Float>, gain outputGain: Float
    ) {
        let count = min(source.count, output.count)
        for i in 0..<count { output[i] = output[i] * outputGain + source[i] * gain }
    }

    /// Mixes two channels, both scaled, into a third.
    @_noLocks @_noAllocation
    public static func mix(
        _ first: borrowing Samples, gain firstGain: Float, _ second: borrowing Samples, gain secondGain: Float,
        into output: inout MutableSpan<Float>
    ) {
        let count = min(first.count, min(second.count, output.count))
        for i in 0..<count { output[i] = first[i] * firstGain + second[i] * secondGain }
    }
}
