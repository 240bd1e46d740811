extension TimeStretch {
    /// Gives frames out into a buffer of the stack.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @discardableResult
    public mutating func pull(
        _ frames: Int, _ settings: Settings, into buffer: inout AudioBuffer, from first: Int = 0
    ) -> Int {
        guard first >= 0 && first <= buffer.frameCount else { return 0 }
        let room = buffer.frameCount &- first
        buffer.makeOwn()
        return unsafe pull(
            frames < room ? frames : room, settings, from: first, into: buffer.entry.pointee.channels,
            buffer.channelCount, buffer.offset &+ first)
    }
}
