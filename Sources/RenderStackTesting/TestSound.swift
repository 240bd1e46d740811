internal import RenderCore

/// The sound that a contract sends into a module: noise with few high frequencies, which begins softly, so that a step in
/// what comes out is a step that the module has made. Every third of a second it is quiet for a while, so that gates and
/// compressors have to work. It is a function of the frame, however the cycles are cut.
struct TestSound: Sendable {
    /// Frames after which the noise begins anew: a multiple of the longest slice.
    var period = Int64.max
    /// The frame from which on there is silence.
    var end = Int64.max
    /// The frames that are not numbers.
    var notNumbers: Range<Int64> = 0..<0
    /// The frame at which the noise is a little louder than it would be.
    var pulse: Int64 = -1

    /// Frames in which the noise has become loud.
    static let fadeLength = 2_048
    /// The number by which the pulse is louder.
    private static let pulseHeight: Float = 0.25
    /// Channels that differ, and frames after which the noise repeats.
    private static let (width, lap) = (16, 16_384)
    /// The first lap, which fades in, and the second, with as many frames behind it as a slice has.
    private static let noise: AudioBlock = {
        var block = AudioBlock(channels: width, frames: 2 * lap + 512)
        for channel in 0..<width {
            for frame in 0..<block.frameCount {
                let fade = min(1, Float(frame) / Float(fadeLength))
                block[channel, frame] = fade * loudness(frame % lap) * smooth(frame % lap, channel)
            }
        }
        return block
    }()

    /// 1, and from the frame 6,144 of a lap on -50 dB until the frame 12,288.
    private static func loudness(_ frame: Int) -> Float {
        let way = min(max(Float(abs(frame - 9_216) - 2_816) / 256, 0), 1)
        return 0.003 + 0.997 * way
    }

    /// Between -0.5 and 0.5: a random number every 64 frames, and a smooth way from each to the next.
    private static func smooth(_ frame: Int, _ channel: Int) -> Float {
        let (knot, way) = (frame / 64, Float(frame % 64) / 64)
        let (from, to) = (random(knot, channel), random((knot + 1) % (lap / 64), channel))
        return from + (to - from) * way * way * (3 - 2 * way)
    }

    /// Steele, Lea, Flood, 2014: the finalizer of SplitMix.
    private static func random(_ knot: Int, _ channel: Int) -> Float {
        var z = UInt64(knot &* width &+ channel &+ 1) &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Float(Int32(truncatingIfNeeded: z >> 32)) * 0x1p-32
    }

    /// The first frame from `frame` on at which two channels are loud: a step there is not a small one by chance.
    static func loudFrame(from frame: Int) -> Int {
        var frame = frame
        while (0..<2).contains(where: { abs(noise[$0, frame]) < 0.25 }) { frame += 1 }
        return frame
    }

    /// Has the noise made, before the render thread asks for it.
    static func prepare() { _ = noise.frameCount }

    /// Pushes a buffer of it, with the channels from `first` on. (Loops over ranges allocate in a debug build.)
    func push(_ context: inout RenderContext, from first: Int, channels: Int) {
        let frames = context.frameCount
        let now = context.sampleTime % period
        let lap = Int64(TestSound.lap)
        let start = Int(now < lap ? now : lap + now % lap)
        let sounding = Int(max(0, min(Int64(frames), end &- now)))
        context.push(channels: channels)
        var top = context.top
        var channel = 0
        while channel < channels {
            var samples = top[channel]
            let noise = TestSound.noise.samples((first + channel) % TestSound.width, from: start, frames: sounding)
            var i = 0
            while i < sounding {
                samples[i] = noise[i]
                i += 1
            }
            if pulse >= now && pulse < now + Int64(frames) { samples[Int(pulse - now)] += TestSound.pulseHeight }
            var bad = max(notNumbers.lowerBound, now)
            while bad < min(notNumbers.upperBound, now + Int64(frames)) {
                samples[Int(bad - now)] = .nan
                bad += 1
            }
            channel += 1
        }
    }
}
