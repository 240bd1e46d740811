internal import RenderCore

/// The filters of a key: a high-pass and a low-pass of second order, for each channel.
struct KeyFilter: ~Copyable, Sendable {
    /// The filtered channel.
    var filtered: AudioBlock
    private var high: RenderMemory<FilterMemory>
    private var low: RenderMemory<FilterMemory>
    private let rate: Double
    // Those of the frequencies that rested last.
    private var highFrequency: Float = -1
    private var lowFrequency: Float = -1
    private var highCoefficients: FilterCoefficients
    private var lowCoefficients: FilterCoefficients

    init(channels: Int, frames: Int, sampleRate: Double) {
        filtered = AudioBlock(channels: 1, frames: frames)
        high = RenderMemory(repeating: FilterMemory(), count: channels)
        low = RenderMemory(repeating: FilterMemory(), count: channels)
        rate = sampleRate
        highCoefficients = FilterCoefficients(.highPass, frequency: 10, sampleRate: sampleRate)
        lowCoefficients = FilterCoefficients(.lowPass, frequency: 192_000, sampleRate: sampleRate)
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    mutating func reset() { for channel in 0..<high.count { reset(channel: channel) } }

    /// Forgets the sound of one channel.
    @_noLocks @_noAllocation
    mutating func reset(channel: Int) {
        guard channel >= 0 && channel < high.count else { return }
        high[channel] = FilterMemory()
        low[channel] = FilterMemory()
    }

    /// Filters a channel, to ``filtered``.
    @_noLocks @_noAllocation
    mutating func process(
        _ key: borrowing Samples, frames: Int, channel: Int, highPass: Glide, lowPass: Glide
    ) {
        guard frames <= filtered.frameCount, frames <= key.count, channel >= 0, channel < high.count else { return }
        if highPass.isFlat && highPass.end != highFrequency {
            highFrequency = highPass.end
            highCoefficients = FilterCoefficients(.highPass, frequency: Double(highPass.end), sampleRate: rate)
        }
        if lowPass.isFlat && lowPass.end != lowFrequency {
            lowFrequency = lowPass.end
            lowCoefficients = FilterCoefficients(.lowPass, frequency: Double(lowPass.end), sampleRate: rate)
        }
        let settings = Settings(
            highPass: highPass, lowPass: lowPass, high: highCoefficients, low: lowCoefficients, rate: rate)
        var memory = (high: high[channel], low: low[channel])
        KeyFilter.filter(key, frames, settings, &memory, &filtered)
        high[channel] = memory.high
        low[channel] = memory.low
    }

    /// Hands the filtered channel over.
    @_noLocks @_noAllocation
    func tell(_ computer: inout GainComputer, frames: Int, channel: Int, isFirst: Bool) {
        computer.listen(filtered.samples(0), frames: frames, channel: channel, isFirst: isFirst)
    }

    /// The settings of a slice.
    private struct Settings: BitwiseCopyable {
        let highPass: Glide
        let lowPass: Glide
        var high: FilterCoefficients
        var low: FilterCoefficients
        let rate: Double
    }

    @_noLocks @_noAllocation
    private static func filter(
        _ key: borrowing Samples, _ frames: Int, _ settings: Settings,
        _ memory: inout (high: FilterMemory, low: FilterMemory), _ filtered: inout AudioBlock
    ) {
        var settings = settings
        var (high, low) = memory
        let (highRests, lowRests) = (settings.highPass.isFlat, settings.lowPass.isFlat)
        var output = filtered[0]
        for i in 0..<frames {
            if !highRests {
                settings.high = FilterCoefficients(
                    .highPass, frequency: Double(settings.highPass[i]), sampleRate: settings.rate)
            }
            if !lowRests {
                settings.low = FilterCoefficients(
                    .lowPass, frequency: Double(settings.lowPass[i]), sampleRate: settings.rate)
            }
            // A sample that is infinite, or no number, would stay in the memory.
            let sample = key[i]
            let sound = GainComputer.magnitude(sample) < 1e10 && sample == sample ? sample : 0
            output[i] = low.next(high.next(sound, settings.high), settings.low)
        }
        memory = (high, low)
    }
}
