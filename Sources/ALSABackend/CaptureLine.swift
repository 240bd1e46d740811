internal import Glibc
internal import RenderCore

/// The recording side: an open device, and the way from its clock and rate to the renderer's.
@safe final class CaptureLine: @unchecked Sendable {
    // Unchecked because one thread at a time uses it: the one that opens it, then the render thread, then the one that
    // closes it.
    let stream: ALSAStream
    /// Smooths the times of its cycles.
    var times: CycleTimes
    /// The renderer's frames in a period of the device, at most.
    let mostFrames: Int
    /// Device frames per second.
    var rate: Double { stream.configuration.sampleRate }
    /// The number of times that the line between two clocks ran dry or over.
    var breakCount: Int { follower?.breakCount ?? 0 }

    /// The frames of a playing device's cycle that it was made for, where it follows one.
    let followedPeriod: Int?

    private let ratio: Double
    private var converter: Resampler?
    private var follower: DriftFollower?
    /// The frames that the device gives, before they are converted.
    private var captured: AudioBlock

    /// - Parameters:
    ///   - stream: The device.
    ///   - rendererRate: The rate of the renderer.
    ///   - channels: Those of the inputs, 1…64.
    ///   - playback: If another clock has to be followed, the frames that are rendered for one of its periods.
    init(_ stream: ALSAStream, rendererRate: Double, channels: Int, followsPeriodOf playback: Int?) {
        self.stream = stream
        times = CycleTimes(rate: stream.configuration.sampleRate, period: stream.period)
        followedPeriod = playback
        ratio = stream.configuration.sampleRate / rendererRate
        mostFrames = ratio == 1 ? stream.period : Int((Double(stream.period) / ratio).rounded(.up)) + 1
        captured = AudioBlock(channels: channels, frames: stream.period)
        if let playback {
            follower = DriftFollower(
                channels: channels, captureRate: stream.configuration.sampleRate, playbackRate: rendererRate,
                capturePeriod: stream.period, period: playback)
        } else if ratio != 1 {
            var resampler = Resampler(channels: channels, steps: ratio...ratio, room: 2 * stream.period + 1024)
            // Both ends round to whole frames: with two frames more it never runs short.
            resampler.pushSilence(resampler.lookAhead + Int(2 * ratio) + 2)
            converter = consume resampler
        }
    }

    /// Returns how many nanoseconds ago the next frame to be pulled was captured.
    ///
    /// - Parameter there: The frames that the device holds.
    func age(_ there: Int) -> Int64 {
        let inside = converter?.lead ?? follower?.lead ?? 0
        return Int64(((Double(there + stream.extraDelay) + inside) * 1e9 / rate).rounded())
    }

    // MARK: By the device's own clock

    /// Fetches a period. 0, or an error below 0. Without a conversion it is in `input` then.
    func fetch(into input: inout AudioBlock) -> Int32 {
        if converter == nil, follower == nil { return unsafe read(input.pointers, stream.period) }
        let error = unsafe read(captured.pointers, stream.period)
        if error < 0 { return error }
        converter?.push(captured, frames: stream.period)
        follower?.push(captured, frames: stream.period)
        return 0
    }

    /// Gives out that many frames; missing ones are silent.
    func pull(_ frames: Int, into input: inout AudioBlock) {
        guard converter != nil else { return }
        let done = converter?.pull(frames, at: Resampler.Step(ratio), into: &input) ?? 0
        if done < frames { input.silence(from: done, frames: frames - done) }
    }

    /// Gives out the frames that have come, if no other device sets the pace. Returns how many frames.
    func drain(into input: inout AudioBlock) -> Int {
        if converter != nil {
            return converter?.pull(input.frameCount, at: Resampler.Step(ratio), into: &input) ?? 0
        }
        return follower?.drain(into: &input) ?? stream.period
    }

    // MARK: By another clock

    /// Indicates whether the line follows another clock.
    var isFollowing: Bool { follower != nil }

    /// Takes all in that the device has. Frames, or an error below 0.
    func fetchAll() -> Int {
        var total = 0
        while true {
            let there = stream.available()
            if there < 0 { return there }
            let frames = min(there, captured.frameCount)
            // No more than its memory holds: a device that always has some must not keep us here.
            if frames == 0 || total >= 2 * stream.bufferSize { return total }
            let error = unsafe read(captured.pointers, frames)
            if error < 0 { return Int(error) }
            follower?.push(captured, frames: frames)
            total += frames
        }
    }

    /// Gives frames out by the other clock.
    func follow(_ frames: Int, lateness: Double, into input: inout AudioBlock) {
        follower?.pull(frames, into: &input, lateness: lateness)
    }

    /// Begins anew, with the knowledge of the clocks.
    func beginAnew() { follower?.beginAnew() }

    @unsafe private func read(_ channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ frames: Int) -> Int32 {
        unsafe stream.read(channels, captured.channelCount, frames: frames)
    }
}
