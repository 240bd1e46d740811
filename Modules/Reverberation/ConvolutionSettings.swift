internal import AudioFiles
internal import RenderCore

extension ConvolutionReverb {
    /// The ways in which a response is changed before it is used.
    ///
    /// Threads: control.
    public struct Settings: Sendable, Hashable {
        /// Cuts silence off: what lies 60 dB below the peak at the beginning, and what has less than a billionth of the
        /// energy (-90 dB) at the end.
        public var isTrimmed = true
        /// Makes the reverb as loud as the sound: pink noise comes out as loud as it went in, as the ear weighs it (the K
        /// weighting of ITU-R BS.1770).
        public var isNormalised = true
        /// Silence before the response, in seconds: 0…10.
        public var preDelay = 0.0
        /// The time in seconds in which an envelope over the response falls by 60 dB: 0.001…1,000; `nil` for none. A response
        /// of 2 s with an envelope of 2 s decays in 1 s.
        public var decay: Double?
        /// The factor by which the response becomes longer, and its resonances lower: 0.25…4.
        public var stretch = 1.0
        /// The longest response that is taken, in seconds, as it is used: up to 3,600. (Ten minutes of stereo at 48 kHz take
        /// 1 GB.)
        public var maximumTime = 60.0

        /// Creates settings, each with its default.
        public init(
            isTrimmed: Bool = true, isNormalised: Bool = true, preDelay: Double = 0, decay: Double? = nil,
            stretch: Double = 1, maximumTime: Double = 60
        ) {
            self.isTrimmed = isTrimmed
            self.isNormalised = isNormalised
            self.preDelay = preDelay
            self.decay = decay
            self.stretch = stretch
            self.maximumTime = maximumTime
        }
    }
}

extension ConvolutionReverb.Settings {
    /// Throws a sentence if the response or a setting cannot be used.
    func check(_ response: ImpulseResponse) throws(ImpulseResponseError) {
        guard ConvolutionMatrix(responseChannels: response.channelCount) != nil else {
            throw ImpulseResponseError(
                "it has \(response.channelCount) channels; a ConvolutionReverb takes 1, 2, or 4 for true stereo")
        }
        guard preDelay >= 0 && preDelay <= 10 else {
            throw ImpulseResponseError("a pre-delay of \(preDelay) s; it must be 0…10")
        }
        guard stretch >= 0.25 && stretch <= 4 else {
            throw ImpulseResponseError("a stretch of \(stretch); it must be 0.25…4")
        }
        if let decay, !(decay >= 0.001 && decay <= 1_000) {
            throw ImpulseResponseError("a decay of \(decay) s; it must be 0.001…1,000")
        }
        guard maximumTime > 0 && maximumTime <= 3_600 else {
            throw ImpulseResponseError("a maximum time of \(maximumTime) s; it must be more than 0 and up to 3,600")
        }
        let range = sounding(response)
        if range.isEmpty {
            throw ImpulseResponseError("it is silent; a response needs a sound")
        }
        let seconds = Double(range.count) / response.sampleRate * stretch + preDelay
        guard seconds <= maximumTime else {
            throw ImpulseResponseError(
                "it is \(Int(seconds.rounded(.up))) s long, and up to \(maximumTime) are taken; cut it, or set maximumTime"
            )
        }
    }

    /// The frames of a response that are used.
    func sounding(_ response: ImpulseResponse) -> Range<Int> {
        let peak = response.block.peak
        if peak == 0 { return 0..<0 }
        if !isTrimmed { return 0..<response.frameCount }
        var (first, energy) = (response.frameCount, 0.0)
        for channel in 0..<response.channelCount {
            var start = 0
            while start < first && abs(response.block[channel, start]) < peak * 0.001 { start += 1 }
            first = min(first, start)
            for frame in 0..<response.frameCount {
                let sample = Double(response.block[channel, frame])
                energy += sample * sample
            }
        }
        var (end, rest) = (response.frameCount, 0.0)
        while end > first + 1 {
            for channel in 0..<response.channelCount {
                let sample = Double(response.block[channel, end - 1])
                rest += sample * sample
            }
            if rest > energy * 1e-9 { break }
            end -= 1
        }
        return first..<end
    }

    /// Returns the response as it is convolved: at a rate, and cut so that its memory is not more than a machine has.
    func shaped(_ response: ImpulseResponse, to sampleRate: Double, channels: Int) -> AudioBlock {
        var range = sounding(response)
        let target = sampleRate * stretch
        // 8 bytes a frame and channel, of the response and of the sound: 4 GB for all.
        let limit = Double((1 << 29) / (response.channelCount + channels))
        let longest = max(1, limit * response.sampleRate / target)
        if Double(range.count) > longest { range = range.lowerBound..<(range.lowerBound + Int(longest)) }
        let part = AudioBlock(copying: response.block, channels: 0..<response.channelCount, frames: range)
        var whole = converted(part, from: response.sampleRate, to: target)
        if let decay { Self.fade(&whole, frames: decay * sampleRate) }
        if isNormalised { Self.scale(&whole, by: Self.normalGain(whole, sampleRate: sampleRate)) }
        let delay = min(Int((preDelay * sampleRate).rounded()), 1 << 27)
        if delay == 0 { return whole }
        var late = AudioBlock(channels: whole.channelCount, frames: whole.frameCount + delay)
        late.copy(from: whole, to: delay)
        return late
    }

    /// Converts the rate, so that the response keeps its gain.
    private func converted(_ block: borrowing AudioBlock, from: Double, to: Double) -> AudioBlock {
        if from == to { return AudioBlock(copying: block) }
        // No filter is as long as rates that lie so far apart would need: a mean of frames comes first.
        let group = from > 64 * to ? Int(from / (64 * to)) : 1
        if group > 1 {
            var means = AudioBlock(
                channels: block.channelCount, frames: max(1, (block.frameCount + group - 1) / group))
            for channel in 0..<block.channelCount {
                for frame in 0..<block.frameCount {
                    means[channel, frame / group] += block[channel, frame] / Float(group)
                }
            }
            var result = converted(means, from: from / Double(group), to: to)
            Self.scale(&result, by: Float(group))
            return result
        }
        // Only the ratio counts.
        let factor = min(1, 1_000_000 / max(from, to))
        let (source, target) = (max(1, from * factor), max(1, to * factor))
        var converter = SampleRateConverter(
            from: source, to: target, channels: block.channelCount, quality: .best)
        var result = AudioBlock(
            channels: block.channelCount,
            frames: max(1, SampleRateConverter.frameCount(of: block.frameCount, from: source, to: target)))
        let made = converter.convert(block, into: &result).produced
        _ = converter.finish(into: &result, at: made)
        Self.scale(&result, by: Float(from / to))
        return result
    }

    private static func scale(_ block: inout AudioBlock, by gain: Float) {
        for channel in 0..<block.channelCount {
            var samples = block[channel]
            for i in samples.indices { samples[i] *= gain }
        }
    }

    private static func fade(_ block: inout AudioBlock, frames: Double) {
        for channel in 0..<block.channelCount {
            var samples = block[channel]
            for i in samples.indices { samples[i] *= RenderMath.exp(Float(-6.907755 * Double(i) / frames)) }
        }
    }

    /// The gain with which pink noise comes out as loud as it went in.
    static func normalGain(_ block: borrowing AudioBlock, sampleRate: Double) -> Float {
        let size = RealFFT.size(atLeast: block.frameCount) ?? 1 << 20
        var fft = RealFFT(size: max(1_024, size))
        var (real, imaginary) = ([Float](repeating: 0, count: fft.bins), [Float](repeating: 0, count: fft.bins))
        var (sum, all) = (0.0, 0.0)
        var weights = [Double](repeating: 0, count: fft.bins)
        for bin in weights.indices {
            let frequency = Double(bin) * sampleRate / Double(fft.size)
            if frequency < 20 || frequency > 20_000 || bin == fft.bins - 1 { continue }
            weights[bin] = hearing(frequency) / frequency
            all += weights[bin]
        }
        for channel in 0..<block.channelCount {
            var re = real.mutableSpan
            var im = imaginary.mutableSpan
            fft.forward(block.samples(channel), real: &re, imaginary: &im)
            for bin in weights.indices {
                let (x, y) = (Double(re[bin]), Double(im[bin]))
                sum += weights[bin] * (x * x + y * y)
            }
        }
        // True stereo has two responses for each channel that comes out.
        let outputs = block.channelCount == 1 ? 1.0 : 2.0
        let power = all > 0 ? sum / all / outputs : 0
        return power > 1e-30 ? Float(1 / power.squareRoot()) : 1
    }

    /// The K weighting as a power, by the coefficients of ITU-R BS.1770 for 48 kHz.
    private static func hearing(_ frequency: Double) -> Double {
        let angle = 2 * Double.pi * frequency / 48_000
        func power(_ b: (Double, Double, Double), _ a: (Double, Double)) -> Double {
            let (c1, s1) = (RenderMath.cos(angle), RenderMath.sin(angle))
            let (c2, s2) = (RenderMath.cos(2 * angle), RenderMath.sin(2 * angle))
            let (x, y) = (b.0 + b.1 * c1 + b.2 * c2, b.1 * s1 + b.2 * s2)
            let (u, v) = (1 + a.0 * c1 + a.1 * c2, a.0 * s1 + a.1 * s2)
            return (x * x + y * y) / (u * u + v * v)
        }
        return power((1.53512485958697, -2.69169618940638, 1.19839281085285), (-1.69065929318241, 0.73248077421585))
            * power((1, -2, 1), (-1.99004745483398, 0.99007225036621))
    }
}
