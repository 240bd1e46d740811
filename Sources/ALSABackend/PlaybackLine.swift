internal import RenderCore

/// The playing side: an open device, and the way from the renderer's sample rate to the device's.
@safe final class PlaybackLine: @unchecked Sendable {
    // Unchecked because one thread at a time uses it: the one that opens it, then the render thread, then the one that
    // closes it.
    let stream: ALSAStream
    /// Smooths the times of its cycles.
    var times: CycleTimes
    /// The renderer's frames in one of the device's cycles, at most.
    let mostFrames: Int
    /// Device frames per second.
    var rate: Double { stream.configuration.sampleRate }
    /// The seconds of sound that the converter holds, from the next frame that the device gets to the next frame that
    /// is rendered.
    var lead: Double { (converter?.lead ?? 0) / rendererRate }
    /// About how many of the renderer's frames the converter holds.
    var lookAhead: Int { converter?.lookAhead ?? 0 }
    /// The number of frames that have to be rendered before a period can be handed over.
    var framesToRender: Int { converter?.framesNeeded(for: stream.period, at: step) ?? stream.period }

    private let rendererRate: Double
    private let step: Resampler.Step
    private var converter: Resampler?
    private var converted: AudioBlock
    private var frameCount: Int64 = 0

    /// - Parameters:
    ///   - stream: The device.
    ///   - rendererRate: The rate of the renderer; if the device runs at another one, frames are converted.
    ///   - channels: The renderer's, 1…64.
    init(_ stream: ALSAStream, rendererRate: Double, channels: Int) {
        self.stream = stream
        times = CycleTimes(rate: stream.configuration.sampleRate, period: stream.period)
        self.rendererRate = rendererRate
        let ratio = rendererRate / stream.configuration.sampleRate
        step = Resampler.Step(ratio)
        mostFrames = ratio == 1 ? stream.period : Int((Double(stream.period) * ratio).rounded(.up)) + 1
        converted = AudioBlock(channels: ratio == 1 ? 1 : channels, frames: ratio == 1 ? 1 : stream.period)
        guard ratio != 1 else { return }
        var resampler = Resampler(channels: channels, steps: ratio...ratio, room: mostFrames)
        // This makes all cycles need the same number of frames.
        resampler.reset(latency: resampler.latency(at: ratio), at: ratio)
        converter = consume resampler
    }

    /// Hands a period over. 0, or an error below 0.
    ///
    /// - Parameters:
    ///   - block: The rendered block, with as many frames as ``framesToRender`` returned.
    ///   - number: The renderer's number of the first frame, for the dither.
    func write(_ block: borrowing AudioBlock, frames: Int, number: Int64) -> Int32 {
        guard converter != nil else {
            return unsafe stream.write(
                UnsafePointer(block.pointers), block.channelCount, frames: frames, number: number)
        }
        converter?.push(block, frames: frames)
        let done = converter?.pull(stream.period, at: step, into: &converted) ?? 0
        if done < stream.period { converted.silence(from: done, frames: stream.period - done) }
        let first = frameCount
        frameCount += Int64(stream.period)
        return unsafe stream.write(
            UnsafePointer(converted.pointers), converted.channelCount, frames: stream.period, number: first)
    }
}
