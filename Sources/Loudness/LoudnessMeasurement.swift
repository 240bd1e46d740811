internal import CEBUR128
public import RenderCore

/// Loudness by EBU R 128 (ITU-R BS.1770), measured by libebur128. Not for the render thread: it allocates as it goes,
/// some 30 bytes for each 100 ms.
///
///     var measurement = LoudnessMeasurement(sampleRate: 48_000, channels: 2)
///     measurement.add(block)
///     measurement.integrated              // LUFS
///
/// Up to six channels count: mono, left right, left right centre, two pairs of front and back, 5.0 (left, right, centre, and
/// the surrounds), 5.1 (the same with the bass fourth, which does not count).
@safe public struct LoudnessMeasurement: ~Copyable, @unchecked Sendable {
    // Unchecked because the library's state has one owner, this value.
    private let state: UnsafeMutablePointer<ebur128_state>?
    /// Channels that are measured.
    public let channelCount: Int
    /// Frames per second.
    public let sampleRate: Double
    /// The highest ``momentary`` loudness so far, looked at every 10 ms.
    public private(set) var maximumMomentary = -Double.infinity
    /// The highest ``shortTerm`` loudness so far, looked at every 50 ms.
    public private(set) var maximumShortTerm = -Double.infinity

    /// Samples on their way to the library, which wants them interleaved: 10 ms.
    private var frames: [Float]
    private let step: Int
    private var stepFrames = 0
    private var steps = 0

    /// A measurement from now on.
    ///
    /// - Parameters:
    ///   - sampleRate: frames per second, 16…2,822,400; taken to a whole number.
    ///   - channels: 1…64.
    ///   - isDualMono: whether a mono signal is to be heard from two loudspeakers, and counts 3 LU more.
    /// - Precondition: the numbers are in range.
    public init(sampleRate: Double, channels: Int, isDualMono: Bool = false) {
        precondition(
            sampleRate >= 16 && sampleRate <= 2_822_400 && channels >= 1 && channels <= 64,
            "LoudnessMeasurement: \(channels) channels at \(sampleRate) Hz")
        channelCount = channels
        self.sampleRate = sampleRate
        step = max(1, Int(sampleRate / 100))
        frames = Array(repeating: 0, count: step * channels)
        let modes = [EBUR128_MODE_M, EBUR128_MODE_S, EBUR128_MODE_I, EBUR128_MODE_LRA, EBUR128_MODE_TRUE_PEAK]
        let mode = modes.reduce(0) { $0 | Int32($1.rawValue) }
        unsafe state = ebur128_init(UInt32(channels), UInt(sampleRate.rounded()), mode)
        precondition(unsafe state != nil, "LoudnessMeasurement: no memory")
        if isDualMono && channels == 1 {
            _ = unsafe ebur128_set_channel(state, 0, Int32(EBUR128_DUAL_MONO.rawValue))
        }
    }

    deinit {
        var state = unsafe state
        unsafe ebur128_destroy(&state)
    }

    /// Goes on with samples. Mono goes to every channel, else channel to channel; what has no counterpart is silent.
    ///
    /// - Parameters:
    ///   - block: the samples.
    ///   - count: how many frames, from its beginning; all if nothing is said.
    public mutating func add(_ block: borrowing AudioBlock, frames count: Int? = nil) {
        let count = min(count ?? block.frameCount, block.frameCount)
        var done = 0
        while done < count {
            let length = min(count - done, step - stepFrames)
            addFrames(block, from: done, length)
            done += length
            stepFrames += length
            if stepFrames == step { endStep() }
        }
    }

    private mutating func addFrames(_ block: borrowing AudioBlock, from first: Int, _ count: Int) {
        for channel in 0..<channelCount {
            let source = block.channelCount == 1 ? 0 : channel
            let samples = block.samples(source < block.channelCount ? source : 0, from: first, frames: count)
            let gain: Float = source < block.channelCount ? 1 : 0
            for i in 0..<count { frames[i * channelCount + channel] = samples[i] * gain }
        }
        _ = unsafe ebur128_add_frames_float(state, frames, count)
    }

    /// Looks for the maxima: fine enough that a burst of 400 ms that falls between two looks is 0.06 LU too low at most.
    private mutating func endStep() {
        stepFrames = 0
        steps += 1
        maximumMomentary = max(maximumMomentary, momentary)
        if steps % 5 == 0 { maximumShortTerm = max(maximumShortTerm, shortTerm) }
    }

    /// Loudness of the last 400 ms, in LUFS; -infinity for silence.
    public var momentary: Double { unsafe value { state, value in unsafe ebur128_loudness_momentary(state, value) } }

    /// Loudness of the last 3 s, in LUFS.
    public var shortTerm: Double { unsafe value { state, value in unsafe ebur128_loudness_shortterm(state, value) } }

    /// Loudness of all of it, in LUFS, gated: what is silent, or 10 LU below the rest, does not count.
    public var integrated: Double { unsafe value { state, value in unsafe ebur128_loudness_global(state, value) } }

    /// How far loud and soft are apart, in LU (EBU Tech 3342).
    public var range: Double { unsafe value { state, value in unsafe ebur128_loudness_range(state, value) } }

    /// The highest that the signal reaches between the samples too, of all channels since the start, in dBTP.
    public var truePeak: Double {
        var highest = 0.0
        for channel in 0..<channelCount {
            var peak = 0.0
            if unsafe ebur128_true_peak(state, UInt32(channel), &peak) == 0 { highest = max(highest, peak) }
        }
        return highest > 0 ? 20 * RenderMath.log2(highest) / RenderMath.log2(10) : -.infinity
    }

    private func value(
        _ ask: (UnsafeMutablePointer<ebur128_state>?, UnsafeMutablePointer<Double>) -> Int32
    ) -> Double {
        var result = 0.0
        return unsafe ask(state, &result) == 0 ? result : -.infinity
    }
}
