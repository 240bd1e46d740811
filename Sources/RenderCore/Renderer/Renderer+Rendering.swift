internal import CRender

// Driving a renderer.

extension Renderer {
    /// Renders a cycle of any length into memory. From any one thread at a time.
    ///
    /// The block's channels are those of the first output, then those of the others. Channels that the block lacks are not
    /// rendered, and what it has beyond is left alone.
    ///
    /// - Parameters:
    ///   - block: where to; what was in it is overwritten.
    ///   - first: the first frame of the block to write.
    ///   - frames: how many; to the end of the block if nothing is said.
    ///   - hostTime: when the first frame is due; now if nothing is said.
    ///   - isOffline: whether nobody waits for it.
    /// - Precondition: the frames lie inside the block.
    public func render(
        into block: inout AudioBlock, from first: Int = 0, frames: Int? = nil, hostTime: Int64? = nil,
        isOffline: Bool = false
    ) {
        let frames = frames ?? block.frameCount - first
        precondition(
            first >= 0 && frames >= 0 && first + frames <= block.frameCount,
            "Renderer.render: frames \(first)..<\(first + frames) of a block of \(block.frameCount)")
        unsafe withUnsafeTemporaryAllocation(
            of: UnsafeMutablePointer<Float>.self, capacity: block.channelCount
        ) { channels in
            for channel in channels.indices {
                unsafe channels.initializeElement(at: channel, to: block.pointers[channel] + first)
            }
            unsafe render(
                frames: frames, into: UnsafeBufferPointer(channels), hostTime: hostTime ?? HostClock.now,
                isOffline: isOffline)
        }
    }

    /// The same for a driver that has its channels somewhere in memory.
    ///
    /// - Parameters:
    ///   - supply: what else the driver brings into the cycle.
    ///   - startsOver: whether the sample clock begins at 0 with this cycle, and every module anew.
    @unsafe package func render(
        frames: Int, into channels: UnsafeBufferPointer<UnsafeMutablePointer<Float>>, hostTime: Int64,
        isOffline: Bool = false, supply: UnsafeMutablePointer<CycleSupply>? = nil, startsOver: Bool = false
    ) {
        crender_cycle_begins(isOffline ? 0 : UInt64(Double(frames) * 1e9 / state.sampleRate))
        unsafe state.render(
            frames: frames, into: channels, hostTime: hostTime, isOffline: isOffline, supply: supply,
            startsOver: startsOver)
        crender_cycle_ends()
    }
}
