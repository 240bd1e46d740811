public import RenderCore

extension AudioBlock {
    /// Returns the block at another sample rate.
    ///
    ///     let sound = try await recording.converted(from: 44_100, to: 48_000)
    ///
    /// It begins where this one does, and has `frameCount` × `to` / `from` frames, rounded up. A thread of the
    /// concurrency runtime does the work.
    ///
    /// - Parameters:
    ///   - from: Frames per second of this block, 1…1,000,000; a rate outside becomes the nearest one, with a notice on
    ///     standard error, here and below.
    ///   - to: Frames per second of the new one, 1…1,000,000.
    ///   - quality: The amount of work for each frame.
    /// - Throws: `CancellationError` if the task is cancelled.
    ///
    /// Threads: control.
    @concurrent
    public func converted(
        from: Double, to: Double, quality: SampleRateConverter.Quality = .standard
    ) async throws(CancellationError) -> AudioBlock {
        var converter = SampleRateConverter(from: from, to: to, channels: channelCount, quality: quality)
        let frames = SampleRateConverter.frameCount(of: frameCount, from: from, to: to)
        var result = AudioBlock(channels: channelCount, frames: frames)
        var (consumed, produced) = (0, 0)
        while consumed < frameCount {
            if Task.isCancelled { throw CancellationError() }
            // A second of audio or so at a time, so that a cancelled task ends soon.
            let (taken, made) = converter.convert(
                self, from: consumed, frames: min(65_536, frameCount - consumed), into: &result, at: produced)
            consumed += taken
            produced += made
        }
        _ = converter.finish(into: &result, at: produced)
        return result
    }
}
