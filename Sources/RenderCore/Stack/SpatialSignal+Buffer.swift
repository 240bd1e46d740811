internal import SignalBlocks

extension SpatialSignal {
    /// Hears the sound at one place and writes it to the first two channels of a buffer.
    @_noLocks @_noAllocation
    package mutating func play(_ course: inout FlightCourse, _ part: Part, in buffer: inout AudioBuffer) {
        precondition(part.first >= 0 && part.count >= 0 && part.first <= buffer.frameCount &- part.count)
        buffer.makeOwn()
        unsafe play(&course, to: buffer.memory(0), buffer.memory(1), part)
    }

    /// Lets a source with one channel, the buffer below the top, into the line as it is, and plays it to the top's first two channels.
    @_noLocks @_noAllocation
    package mutating func relay(_ context: inout RenderContext, _ course: inout FlightCourse, _ part: Part) {
        precondition(part.first >= 0 && part.count >= 0 && part.first <= context.frameCount &- part.count)
        let source = unsafe context.samples(0, at: 1).base
        let top = context.top
        top.makeOwn()
        unsafe relay(source, &course, to: top.memory(0), top.memory(1), part)
    }
}
