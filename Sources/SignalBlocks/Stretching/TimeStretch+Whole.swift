extension TimeStretch {
    /// Makes a block of a whole other one, with silence behind its end.
    ///
    /// - Parameters:
    ///   - block: The sound, with as many channels.
    ///   - settings: The rate and the pitch.
    ///   - frames: The frames to make.
    ///   - progress: Called with the frames that are done, after each ``chunk``.
    package mutating func stretched(
        _ block: borrowing AudioBlock, _ settings: Settings, frames: Int, progress: (Int) -> Void = { _ in }
    ) -> AudioBlock {
        var result = AudioBlock(channels: channelCount, frames: frames)
        var (played, done) = (0, 0)
        while done < frames {
            var needed = framesNeeded(settings)
            while needed > 0 {
                let left = min(needed, block.frameCount - played)
                let pushed = left > 0 ? push(block, from: played, frames: left) : pushSilence(needed)
                if pushed == 0 { break }
                if left > 0 { played += pushed }
                needed -= pushed
            }
            let pulled = pull(min(TimeStretch.chunk, frames - done), settings, into: &result, from: done)
            if pulled == 0 && needed > 0 { break }
            done += pulled
            progress(done)
        }
        return result
    }
}
