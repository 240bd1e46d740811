/// The distance of the harmonics in the spectrum of a voice, and how certain it is that there is one voice.
struct HarmonicSpacing: ~Copyable, Sendable {
    /// The distance in bins: the pitch.
    private(set) var distance: Float = 1
    /// 0 for noise, for several notes and for a tone without harmonics; 1 for one voice.
    private(set) var certainty: Float = 0
    /// The binary logarithm of the power of each bin that is looked at.
    private var levels: SampleMemory
    private let bins: Int
    private var end = 0
    /// The distances among which the search is, the bins in which harmonics are looked at more closely, and the mean by which those
    /// that were found are above the middles.
    private var lowest: Float = 5
    private var highest: Float = 5
    private var limit: Float = 0
    private var contrast: Float = 0

    /// The harmonics by which a pitch is first found.
    private static var looked: Int { @_noLocks @_noAllocation get { 8 } }
    /// A harmonic counts as at most 30 dB above the valley below it.
    private static var clearest: Float { @_noLocks @_noAllocation get { 10 } }

    /// - Parameter bins: The bins of a spectrum.
    init(bins: Int) {
        self.bins = bins
        levels = SampleMemory(count: bins + 8)
    }

    /// Begins with a spectrum; ``search()`` and ``judge(_:)`` have to follow.
    ///
    /// - Parameters:
    ///   - power: The power of each bin.
    ///   - hertzPerBin: The distance of two bins in the sound at its old pitch.
    ///   - reach: The bins, up to the last one, in which harmonics may be.
    @_noLocks @_noAllocation
    mutating func begin(_ power: borrowing SampleMemory, hertzPerBin: Float, reach: Float) {
        // Harmonics that are closer run into each other under the window.
        lowest = max(65 / hertzPerBin, 5)
        highest = min(620 / hertzPerBin, reach / 4)
        end = takeLogarithms(power, below: Float(HarmonicSpacing.looked &+ 1) * highest)
        limit = min(3_000 / hertzPerBin, Float(end &- 2))
    }

    /// Searches for the distance at which the harmonics are highest above the middles between them.
    @_noLocks @_noAllocation
    mutating func search() {
        (contrast, distance) = (0, lowest)
        var candidate = lowest
        while candidate < highest {
            // Three times the distance may have the same contrast, when it skips harmonics.
            let least = contrast * (candidate < 1.15 * distance ? 1 : 1.15)
            let now = contrast(candidate, above: least)
            if now > least { (contrast, distance) = (now, candidate) }
            candidate += 0.25
        }
    }

    /// Finds out how certain it is that these are the harmonics of one voice.
    @_noLocks @_noAllocation
    mutating func judge(_ power: borrowing SampleMemory) {
        certainty = 0
        if !(contrast > 3) { return }
        distance = refined()
        let (share, jump) = self.share(power)
        let clear = (contrast - 3) / 2, alone = (share - 0.75) / 0.15, even = 4 - RenderMath.log2(jump) / 4
        // A comparison with a value that is not a number is false.
        if clear > 0 && alone > 0 && even > 0 { certainty = min(clear, 1) * min(alone, 1) * min(even, 1) }
    }

    /// Returns the number of logarithms that were taken; what is 80 dB below the loudest bin counts as that.
    @_noLocks @_noAllocation
    private mutating func takeLogarithms(_ power: borrowing SampleMemory, below limit: Float) -> Int {
        let end = min(Int(limit) &+ 2, bins)
        var loudest: Float = 0
        for bin in 0..<end where power[bin] > loudest { loudest = power[bin] }
        let floor = loudest * 1e-8 + 1e-30
        for bin in 0..<end { levels[bin] = power[bin] + floor }
        levels.takeLogarithms(below: end)
        return end
    }

    /// Returns how far harmonics of this distance are above the middles between them: the mean of the logarithms; 0 as soon as that
    /// can no longer be above `least`.
    @_noLocks @_noAllocation
    private func contrast(_ distance: Float, above least: Float) -> Float {
        var sum: Float = 0
        let needed = least * Float(HarmonicSpacing.looked)
        for number in 1...HarmonicSpacing.looked {
            if sum + Float(HarmonicSpacing.looked &- number &+ 1) * HarmonicSpacing.clearest < needed { return 0 }
            let bin = Int(Float(number) * distance + 0.5)
            if bin >= end { break }
            let above = levels[bin] - levels[Int((Float(number) - 0.5) * distance + 0.5)]
            sum += max(-HarmonicSpacing.clearest, min(above, HarmonicSpacing.clearest))
        }
        return sum / Float(HarmonicSpacing.looked)
    }

    /// Returns the distance that fits the peaks of the harmonics best: each is looked for where the ones below it say.
    @_noLocks @_noAllocation
    private func refined() -> Float {
        var (distance, sum, squares): (Float, Float, Float) = (distance, 0, 0)
        var number: Float = 1
        while (number + 0.5) * distance < limit {
            var peak = Int((number - 0.3) * distance + 0.5)
            for bin in peak...Int((number + 0.3) * distance + 0.5) where levels[bin] > levels[peak] { peak = bin }
            // The top of the parabola through three bins.
            let (low, here, high) = (levels[peak &- 1], levels[peak], levels[peak &+ 1])
            let bend = 2 * here - low - high
            let top = bend > 0 && high - low < bend && low - high < bend ? 0.5 * (high - low) / bend : 0
            let above = here - levels[Int((number - 0.5) * distance + 0.5)]
            let weight = max(0, min(above, HarmonicSpacing.clearest))
            sum += weight * number * (Float(peak) + top)
            squares += weight * number * number
            let fit = sum / squares
            if number >= 3 && fit > 0.95 * distance && fit < 1.05 * distance { distance = fit }
            number += 1
        }
        return distance
    }

    /// Returns the share of the power that is nearer to a harmonic than to the middle between two, and the largest ratio of the
    /// powers of two neighbours: formants change by 36 dB at most from one harmonic to the next, while notes lie beside silence.
    @_noLocks @_noAllocation
    private func share(_ power: borrowing SampleMemory) -> (near: Float, jump: Float) {
        var (near, whole, before, jump): (Float, Float, Float, Float) = (0, 1e-30, 0, 1)
        var number: Float = 1
        while (number + 0.5) * distance < limit {
            var sum: Float = 1e-30
            for bin in Int((number - 0.5) * distance + 0.5)..<Int((number + 0.5) * distance + 0.5) {
                sum += power[bin]
                let off = Float(bin) - number * distance
                if off < 0.25 * distance && off > -0.25 * distance { near += power[bin] }
            }
            if number > 1 { jump = max(jump, max(sum / before, before / sum)) }
            whole += sum
            before = sum
            number += 1
        }
        return (near / whole, jump)
    }
}
