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
///
/// Threads: control.
@safe public struct LoudnessMeasurement: ~Copyable, @unchecked Sendable {
    // Unchecked because the library's state has one owner, this value.
    private let state: UnsafeMutablePointer<ebur128_state>?
    /// The number of channels that are measured.
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
    private var frameCount = 0
    /// The power of the last 3 s, ten times a second, as far as it counts for the range.
    private var powers: [Float] = []

    /// The sample rates that can be measured at.
    package static let sampleRates = 16.0...2_822_400

    /// Creates a measurement from now on.
    ///
    /// - Parameters:
    ///   - sampleRate: Frames per second, 16…2,822,400; taken to a whole number. A rate outside becomes the nearest one, with
    ///     a notice on standard error.
    ///   - channels: 1…64.
    ///   - isDualMono: `true` if a mono signal is to be heard from two loudspeakers, and counts 3 LU more.
    /// - Precondition: There are 1…64 channels.
    public init(sampleRate: Double, channels: Int, isDualMono: Bool = false) {
        let sampleRate = nearest(
            to: sampleRate, in: LoudnessMeasurement.sampleRates, insteadOfNaN: 48_000,
            "LoudnessMeasurement: a sample rate of \(sampleRate); it must be 16…2,822,400")
        demand((1...64).contains(channels), "LoudnessMeasurement: \(channels) channels; it must be 1…64")
        channelCount = channels
        self.sampleRate = sampleRate
        step = max(1, Int(sampleRate / 100))
        frames = Array(repeating: 0, count: step * channels)
        let modes = [EBUR128_MODE_M, EBUR128_MODE_S, EBUR128_MODE_I, EBUR128_MODE_TRUE_PEAK]
        let mode = modes.reduce(0) { $0 | Int32($1.rawValue) }
        unsafe state = ebur128_init(UInt32(channels), UInt(sampleRate.rounded()), mode)
        demand(
            unsafe state != nil,
            "LoudnessMeasurement: libebur128 has no memory for \(channels) channels at \(sampleRate) Hz")
        if isDualMono && channels == 1 {
            _ = unsafe ebur128_set_channel(state, 0, Int32(EBUR128_DUAL_MONO.rawValue))
        }
    }

    deinit {
        var state = unsafe state
        unsafe ebur128_destroy(&state)
    }

    /// Goes on with samples. Mono goes to every channel, else channel to channel; a channel without a counterpart is
    /// silent.
    ///
    /// - Parameters:
    ///   - block: The samples.
    ///   - count: The number of frames, from its beginning; by default all.
    public mutating func add(_ block: borrowing AudioBlock, frames count: Int? = nil) {
        let count = min(max(0, count ?? block.frameCount), block.frameCount)
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
        frameCount += step
        if steps % 10 == 0 && Double(frameCount) >= 3 * sampleRate {
            let loudness = shortTerm
            if loudness >= -70 { powers.append(Float(RenderMath.exp2(loudness * RenderMath.log2(10) / 10))) }
        }
        maximumMomentary = max(maximumMomentary, momentary)
        if steps % 5 == 0 { maximumShortTerm = max(maximumShortTerm, shortTerm) }
    }

    /// Loudness of the last 400 ms, in LUFS; -infinity for silence.
    public var momentary: Double { unsafe value { state, value in unsafe ebur128_loudness_momentary(state, value) } }

    /// Loudness of the last 3 s, in LUFS.
    public var shortTerm: Double { unsafe value { state, value in unsafe ebur128_loudness_shortterm(state, value) } }

    /// Loudness of all of it, in LUFS, gated: passages that are silent, or 10 LU below the rest, do not count.
    public var integrated: Double { unsafe value { state, value in unsafe ebur128_loudness_global(state, value) } }

    /// The distance between loud and soft, in LU (EBU Tech 3342): of the loudness of 3 s, measured ten times a second,
    /// from the 10th to the 95th percentile, without passages that are silent or 20 LU below the rest. The library
    /// measures once a second, which was allowed before 2016, and differs by a LU or two if the level changes fast.
    public var range: Double {
        let mean = powers.reduce(0.0) { $0 + Double($1) } / Double(max(1, powers.count))
        let heard = powers.filter { Double($0) >= mean / 100 }.sorted()
        guard let last = heard.indices.last else { return 0 }
        let low = heard[Int((Double(last) * 0.10).rounded())], high = heard[Int((Double(last) * 0.95).rounded())]
        return 10 * RenderMath.log2(Double(high) / Double(low)) / RenderMath.log2(10)
    }

    /// The highest level that the signal reaches, between the samples too, of all channels since the start, in dBTP.
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
