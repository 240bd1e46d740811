internal import RenderCore

/// The filters of a key: a high-pass and a low-pass of second order, for each channel.
struct KeyFilter: ~Copyable, Sendable {
    /// The filtered channels: one, or two that were filtered at once.
    var filtered: AudioBlock
    private var rows: RenderMemory<FilterRow>
    private let rate: Double
    // The frequencies that rested last, and their coefficients.
    private var highFrequency: Float = -1
    private var lowFrequency: Float = -1
    private var highCoefficients: FilterCoefficients
    private var lowCoefficients: FilterCoefficients

    init(channels: Int, frames: Int, sampleRate: Double) {
        filtered = AudioBlock(channels: 2, frames: frames)
        // The last one is spare: the second channel of one that is alone.
        rows = RenderMemory(repeating: FilterRow(), count: channels + 1)
        rate = sampleRate
        highCoefficients = FilterCoefficients(.highPass, frequency: 10, sampleRate: sampleRate)
        lowCoefficients = FilterCoefficients(.lowPass, frequency: 192_000, sampleRate: sampleRate)
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    mutating func reset() { for channel in 0..<rows.count { reset(channel: channel) } }

    /// Forgets the sound of one channel.
    @_noLocks @_noAllocation
    mutating func reset(channel: Int) {
        guard channel >= 0 && channel < rows.count else { return }
        rows[channel] = FilterRow()
    }

    /// Filters a channel, to ``filtered``.
    @_noLocks @_noAllocation
    mutating func process(
        _ key: borrowing Samples, frames: Int, channel: Int, highPass: Glide, lowPass: Glide
    ) {
        guard frames <= filtered.frameCount, frames <= key.count, channel >= 0, channel < rows.count &- 1 else {
            return
        }
        if rest(highPass, lowPass) {
            rows.filter(
                key, key, at: channel, rows.count &- 1, count: frames, (highCoefficients, lowCoefficients),
                into: &filtered)
        } else {
            let settings = Settings(
                highPass: highPass, lowPass: lowPass, high: highCoefficients, low: lowCoefficients, rate: rate)
            var row = rows[channel]
            KeyFilter.filter(key, frames, settings, &row, &filtered)
            rows[channel] = row
        }
    }

    /// Filters two channels, to ``filtered``; `false`: the frequencies move, and it has done nothing.
    @_noLocks @_noAllocation
    mutating func process(
        _ key: borrowing Samples, _ other: borrowing Samples, frames: Int, channel: Int, highPass: Glide, lowPass: Glide
    ) -> Bool {
        guard frames <= filtered.frameCount, frames <= key.count, frames <= other.count else { return false }
        guard channel >= 0, channel < rows.count &- 2, rest(highPass, lowPass) else { return false }
        rows.filter(
            key, other, at: channel, channel &+ 1, count: frames, (highCoefficients, lowCoefficients), into: &filtered)
        return true
    }

    /// Makes the coefficients of frequencies that rest; `true` if both do.
    @_noLocks @_noAllocation
    private mutating func rest(_ highPass: Glide, _ lowPass: Glide) -> Bool {
        if highPass.isFlat && highPass.end != highFrequency {
            highFrequency = highPass.end
            highCoefficients = FilterCoefficients(.highPass, frequency: Double(highPass.end), sampleRate: rate)
        }
        if lowPass.isFlat && lowPass.end != lowFrequency {
            lowFrequency = lowPass.end
            lowCoefficients = FilterCoefficients(.lowPass, frequency: Double(lowPass.end), sampleRate: rate)
        }
        return highPass.isFlat && lowPass.isFlat
    }

    /// Hands the filtered channel over.
    @_noLocks @_noAllocation
    func tell(_ computer: inout GainComputer, frames: Int, channel: Int, isFirst: Bool) {
        computer.listen(filtered.samples(0), frames: frames, channel: channel, isFirst: isFirst)
    }

    /// Hands both filtered channels over.
    @_noLocks @_noAllocation
    func tellBoth(_ computer: inout GainComputer, frames: Int, channel: Int, isFirst: Bool) {
        computer.listen(
            filtered.samples(0), filtered.samples(1), frames: frames, channel: channel, isFirst: isFirst)
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
        _ key: borrowing Samples, _ frames: Int, _ settings: Settings, _ row: inout FilterRow,
        _ filtered: inout AudioBlock
    ) {
        var settings = settings
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
            let sound = abs(key[i]) < 1e10 ? key[i] : 0
            output[i] = row.second.next(row.first.next(sound, settings.high), settings.low)
        }
    }
}
