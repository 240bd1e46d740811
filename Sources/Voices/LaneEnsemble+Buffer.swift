package import RenderCore

extension LaneEnsemble {
    /// Renders frames of the sum of all voices into a buffer.
    ///
    /// - Parameters:
    ///   - buffer: The buffer, whose samples there are replaced.
    ///   - first: The first frame of the slice.
    ///   - end: The frame after the last.
    ///   - glides: The shared values of the parameters in this slice.
    @_noLocks @_noAllocation
    package mutating func render(
        _ buffer: inout AudioBuffer, from first: Int, to end: Int, _ glides: borrowing InlineArray<16, Glide>
    ) {
        let channels = min(channelCount, buffer.channelCount)
        var frame = first
        while frame < end {
            let isSilent = liveCount == 0
            let count = advance(end &- frame, at: frame, glides)
            for channel in 0..<channels {
                var samples = buffer[channel]
                if isSilent {
                    for i in frame..<frame &+ count { samples[i] = 0 }
                } else {
                    for i in 0..<count { samples[frame &+ i] = sample(i, channel) }
                }
            }
            frame &+= count
        }
    }
}
