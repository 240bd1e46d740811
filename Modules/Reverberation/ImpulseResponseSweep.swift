public import RenderCore

/// Measures a room or a device: a sine whose pitch rises exponentially is played and recorded, and the recording is turned
/// into the ``ImpulseResponse`` (Farina 2000).
///
///     let sweep = try ResponseSweep(duration: 6, sampleRate: 48_000)
///     let player = BufferPlayer()
///     player.schedule(Sound(sweep.samples, sampleRate: 48_000))      // to the loudspeaker
///     …                                                               // what the microphone hears is recorded
///     let room = try sweep.response(of: recording)
///     try room.trimmed().save(path: "room.wav")
///
/// Play it once, and record from its first frame on, for as long after its end as the room sounds. The response begins with
/// that frame, so that it holds the delay of the way: some milliseconds, without which the beginning of the response would be
/// lost. What distorts lies before the response, and is cut off.
///
/// Threads: control.
public struct ResponseSweep: Sendable, Hashable {
    /// The length of the sweep, in seconds.
    public let duration: Double
    /// The lowest and the highest frequency, in hertz.
    public let range: ClosedRange<Double>
    /// Frames per second.
    public let sampleRate: Double
    /// The amplitude, 0…1.
    public let level: Double

    /// Creates a sweep.
    ///
    /// - Parameters:
    ///   - duration: The length in seconds, 0.1…60: the longer, the more it stands out of the noise.
    ///   - range: The lowest and the highest frequency in hertz. The highest is at most 0.49 of the rate.
    ///   - sampleRate: Frames per second, 1,000…1,000,000.
    ///   - level: The amplitude, more than 0 and up to 1.
    /// - Throws: ``ImpulseResponseError``, if a number is out of range.
    public init(
        duration: Double = 6, range: ClosedRange<Double> = 20...20_000, sampleRate: Double, level: Double = 0.5
    ) throws(ImpulseResponseError) {
        guard sampleRate >= 1_000 && sampleRate <= 1_000_000 else {
            throw ImpulseResponseError(
                measuring: "a rate of \(sampleRate) frames per second; it must be 1,000…1,000,000")
        }
        guard duration >= 0.1 && duration <= 60 else {
            throw ImpulseResponseError(measuring: "a sweep of \(duration) s; it must be 0.1…60")
        }
        guard range.lowerBound >= 1 && range.lowerBound * 2 <= range.upperBound else {
            throw ImpulseResponseError(
                measuring:
                    "a sweep from \(range.lowerBound) to \(range.upperBound) Hz; it must begin at 1 Hz or above and "
                    + "rise by an octave or more")
        }
        guard level > 0 && level <= 1 else {
            throw ImpulseResponseError(measuring: "a level of \(level); it must be more than 0 and up to 1")
        }
        self.duration = duration
        self.range = range.lowerBound...min(range.upperBound, 0.49 * sampleRate)
        self.sampleRate = sampleRate
        self.level = level
    }

    /// The frames of the sweep.
    public var frameCount: Int { Int((duration * sampleRate).rounded()) }

    /// The sweep, in one channel. Its first and last milliseconds are faded.
    public var samples: AudioBlock {
        var block = AudioBlock(channels: 1, frames: frameCount)
        let growth = RenderMath.log(range.upperBound / range.lowerBound)
        let turns = range.lowerBound * duration / growth
        let fade = min(Double(frameCount) / 8, 0.02 * sampleRate)
        for frame in 0..<frameCount {
            let share = Double(frame) / Double(frameCount)
            let phase = turns * (RenderMath.exp(growth * share) - 1)
            let edge = min(1, min(Double(frame), Double(frameCount - 1 - frame)) / fade)
            let gain = 0.5 - 0.5 * RenderMath.cos(.pi * edge)
            block[0, frame] = Float(level * gain * RenderMath.sin(2 * .pi * phase.truncatingRemainder(dividingBy: 1)))
        }
        return block
    }

    /// Computes the response from what was recorded, channel by channel.
    ///
    /// - Parameters:
    ///   - recording: The recording, from the first frame of the sweep on, at the rate of the sweep.
    /// - Returns: The response, as long as the recording went on after the sweep.
    /// - Throws: ``ImpulseResponseError``, if the recording is silent, shorter than the sweep, or too long: sweep and
    ///   recording have 2^20 frames at most.
    public func response(of recording: borrowing AudioBlock) throws(ImpulseResponseError) -> ImpulseResponse {
        let length = recording.frameCount - frameCount
        guard length > 0 else {
            throw ImpulseResponseError(
                measuring:
                    "the recording has \(recording.frameCount) frames, and the sweep \(frameCount); record on after "
                    + "its end")
        }
        guard let size = RealFFT.size(atLeast: recording.frameCount + frameCount) else {
            throw ImpulseResponseError(
                measuring:
                    "sweep and recording have \(recording.frameCount + frameCount) frames, and up to 1,048,576 are "
                    + "taken; make both shorter")
        }
        guard recording.peak > 0 else {
            throw ImpulseResponseError(
                measuring: "the recording is silent; see whether the loudspeaker plays, and the microphone is connected"
            )
        }
        var fft = RealFFT(size: max(1_024, size))
        let played = ComplexSpectrum(samples, 0, &fft)
        let loudest = (0..<fft.bins).reduce(0.0) { max($0, played.power($1)) }
        var result = AudioBlock(channels: recording.channelCount, frames: length)
        for channel in 0..<recording.channelCount {
            var heard = ComplexSpectrum(recording, channel, &fft)
            for bin in 0..<fft.bins {
                let weight = self.weight(Double(bin) * sampleRate / Double(fft.size))
                heard.divide(bin, by: played, weight: weight, floor: 1e-9 * loudest)
            }
            heard.transformBack(&fft, into: &result, channel)
        }
        return try ImpulseResponse(result, sampleRate: sampleRate)
    }

    /// The share of a frequency: 1 in the range, with slopes of a sixth of an octave inside of its ends.
    func weight(_ frequency: Double) -> Double {
        if frequency <= range.lowerBound || frequency >= range.upperBound { return 0 }
        let octaves = min(RenderMath.log2(frequency / range.lowerBound), RenderMath.log2(range.upperBound / frequency))
        return octaves * 6 >= 1 ? 1 : 0.5 - 0.5 * RenderMath.cos(.pi * octaves * 6)
    }
}

/// A spectrum as two arrays.
struct ComplexSpectrum {
    var real: [Float]
    var imaginary: [Float]

    init(_ block: borrowing AudioBlock, _ channel: Int, _ fft: inout RealFFT) {
        var (x, y) = ([Float](repeating: 0, count: fft.bins), [Float](repeating: 0, count: fft.bins))
        var re = x.mutableSpan
        var im = y.mutableSpan
        fft.forward(block.samples(channel), real: &re, imaginary: &im)
        (real, imaginary) = (x, y)
    }

    /// Multiplies each bin by a gain.
    mutating func multiply(by gain: (Int) -> Float) {
        for bin in real.indices {
            let gain = gain(bin)
            real[bin] *= gain
            imaginary[bin] *= gain
        }
    }

    func power(_ bin: Int) -> Double {
        Double(real[bin]) * Double(real[bin]) + Double(imaginary[bin]) * Double(imaginary[bin])
    }

    mutating func divide(_ bin: Int, by other: ComplexSpectrum, weight: Double, floor: Double) {
        let (a, b) = (Double(real[bin]), Double(imaginary[bin]))
        let (c, d) = (Double(other.real[bin]), Double(other.imaginary[bin]))
        let factor = weight / (c * c + d * d + floor)
        real[bin] = Float((a * c + b * d) * factor)
        imaginary[bin] = Float((b * c - a * d) * factor)
    }

    func samples(_ fft: inout RealFFT) -> [Float] {
        var samples = [Float](repeating: 0, count: fft.size)
        var span = samples.mutableSpan
        fft.inverse(real: Samples(real.span), imaginary: Samples(imaginary.span), into: &span)
        return samples
    }

    func transformBack(_ fft: inout RealFFT, into block: inout AudioBlock, _ channel: Int) {
        let samples = self.samples(&fft)
        for frame in 0..<block.frameCount { block[channel, frame] = samples[frame] }
    }
}

extension ImpulseResponse {
    /// Returns the response without the silence before it, and without the noise behind it.
    ///
    /// It begins a little before the first sample that is within 20 dB of the peak, and ends where the level of 20 ms comes
    /// near that of the last tenth.
    ///
    /// - Parameter lead: The seconds before that sample that are kept, 0…1.
    public func trimmed(lead: Double = 0.001) -> ImpulseResponse {
        let start = max(0, arrival - Int(max(0, min(lead, 1)) * sampleRate))
        let energy = self.energy()
        let end = max(start + 1, DecayCurve(energy, from: arrival, sampleRate: sampleRate).end)
        let part = AudioBlock(copying: block, channels: 0..<channelCount, frames: start..<min(end, frameCount))
        return (try? ImpulseResponse(part, sampleRate: sampleRate)) ?? self
    }

    /// The first frame that is within 20 dB of the peak: the sound that comes straight, within 0.1 ms.
    public var arrival: Int {
        let least = block.peak * 0.1
        for frame in 0..<frameCount {
            for channel in 0..<channelCount where abs(block[channel, frame]) >= least { return frame }
        }
        return 0
    }

    /// The energy of each frame, of all channels.
    private func energy() -> [Double] {
        var energy = [Double](repeating: 0, count: frameCount)
        for channel in 0..<channelCount {
            for frame in 0..<frameCount {
                let sample = Double(block[channel, frame])
                energy[frame] += sample * sample
            }
        }
        return energy
    }
}
