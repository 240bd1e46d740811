package import RenderCore

extension VoiceLanes {
    /// Renders the sum of all voices into the first two channels of a buffer.
    @_noLocks @_noAllocation
    package mutating func render(_ buffer: inout AudioBuffer) {
        guard buffer.channelCount >= 2, unsafe buffer.entry.pointee.kind != StackEntry.readOnly else { return }
        unsafe render(buffer.memory(0), buffer.memory(1), count: buffer.frameCount)
    }
}
