internal import SignalBlocks

extension SpatialSignal {
    /// Hears the sound at one place and writes it to the first two channels of a buffer, at levels.
    @_noLocks @_noAllocation
    package mutating func play(
        _ delay: DelayCourse, _ left: Course, _ right: Course, _ part: Part, in buffer: inout AudioBuffer
    ) {
        precondition(part.first >= 0 && part.count >= 0 && part.first <= buffer.frameCount &- part.count)
        buffer.makeOwn()
        unsafe play(delay, to: buffer.memory(0), left, buffer.memory(1), right, part)
    }
}
