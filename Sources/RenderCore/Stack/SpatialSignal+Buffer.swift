internal import SignalBlocks

extension SpatialSignal {
    /// Hears the sound at one place and writes it to the first two channels of a buffer.
    @_noLocks @_noAllocation
    package mutating func play(_ course: inout FlightCourse, _ part: Part, in buffer: inout AudioBuffer) {
        precondition(part.first >= 0 && part.count >= 0 && part.first <= buffer.frameCount &- part.count)
        buffer.makeOwn()
        unsafe play(&course, to: buffer.memory(0), buffer.memory(1), part)
    }
}

extension SpatialCrossing {
    /// Creates the way from the buffer below the top to the top's first two channels, which are written.
    @_noLocks @_noAllocation
    package init(_ context: inout RenderContext) {
        let source = unsafe context.samples(0, at: 1).base
        let frames = context.frameCount
        let top = context.top
        top.makeOwn()
        unsafe self.init(from: source, to: top.memory(0), top.memory(1), frames: frames)
    }
}
