/// Gains that put the formants of a sound with a new pitch back to where they were: those of its envelope over the
/// frequencies.
///
/// Of noise and of several notes at once the envelope is the power averaged over frequencies. Of one voice it goes through
/// the peaks of its harmonics (see ``FormantModel``), because averages fill the valleys between formants, and mistake the
/// first harmonic for the first formant. ``HarmonicSpacing`` says how much of a voice there is.
struct FormantEnvelope: ~Copyable, Sendable {
    /// A gain for each bin.
    var gains: SampleMemory
    /// The averaged power, and then the envelope: the binary logarithm of the power.
    private var envelope: SampleMemory
    private var running: SampleMemory
    private var harmonics: HarmonicSpacing
    private var model: FormantModel
    private let bins: Int
    private let width: Int
    private let hertzPerBin: Float
    /// A power that is added to that of each bin, so that nothing is lifted out of what is below it.
    private var floor: Float = 0
    /// The bins that the harmonics' envelope reaches: to 6 kHz of the sound at its old pitch.
    private var reach: Float = 0

    /// - Parameters:
    ///   - bins: The bins of a spectrum.
    ///   - stride: The room for them.
    ///   - width: The bins on either side over which the power is averaged.
    ///   - hertzPerBin: The distance of two bins.
    init(bins: Int, stride: Int, width: Int, hertzPerBin: Double) {
        self.bins = bins
        self.width = width
        self.hertzPerBin = Float(hertzPerBin)
        gains = SampleMemory(count: stride + 8)
        envelope = SampleMemory(count: stride + 8)
        running = SampleMemory(count: stride + 1)
        harmonics = HarmonicSpacing(bins: bins)
        model = FormantModel(bins: bins)
    }

    /// The number of parts in which the envelope is measured.
    static var parts: Int { @_noLocks @_noAllocation get { lastRound &+ 6 } }
    private static var lastRound: Int { @_noLocks @_noAllocation get { 9 &+ FormantModel.rounds } }

    /// Returns about how long a part takes, in tenths of a microsecond for blocks of 6,144 frames on the machine on which it was
    /// measured.
    @_noLocks @_noAllocation
    static func cost(ofPart part: Int) -> Int {
        switch part {
        case 0: 4
        case 1...5: 65
        case 7: 60
        case 6, 8, 9: 30
        case 10...lastRound: 70
        default: 45
        }
    }

    /// Measures the envelope of a power spectrum, and computes the gains: a part of that.
    ///
    /// - Parameters:
    ///   - power: The power of each bin, of all channels together.
    ///   - step: The ratio of the new pitch to the old one.
    ///   - part: The number of the part, of ``parts``, which come one after the other.
    @_noLocks @_noAllocation
    mutating func measure(_ power: borrowing SampleMemory, step: Float, part: Int) {
        let old = hertzPerBin / step
        switch part {
        case 0: for bin in 0..<bins { envelope[bin] = power[bin] }
        // Harmonics of the new pitch lie further apart.
        case 1...3: average(step > 1 ? Int(Float(width) * step) : width)
        case 4, 5: takeLogarithms(isFirst: part == 4)
        case 6:
            let most = Float(bins &- 1) * (step < 1 ? step : 1)
            reach = 6_000 / old < most ? 6_000 / old : most
            harmonics.begin(power, hertzPerBin: old, reach: reach)
        case 7: harmonics.search()
        case 8: harmonics.judge(power)
        case 9: if hasVoice { model.begin(power, floor, harmonics, reach: reach, hertz: reach * old) }
        case 10...FormantEnvelope.lastRound: if hasVoice { model.improve() }
        case FormantEnvelope.lastRound &+ 1: if hasVoice { putIn() }
        default:
            let (quarter, size) = (part &- FormantEnvelope.lastRound &- 2, bins / 32 &* 8)
            measureGains(from: quarter &* size, to: quarter == 3 ? bins : (quarter &+ 1) &* size, step)
        }
    }

    private var hasVoice: Bool { @_noLocks @_noAllocation get { harmonics.certainty > 0 } }

    @_noLocks @_noAllocation
    private mutating func takeLogarithms(isFirst: Bool) {
        let half = bins / 16 &* 8
        if isFirst {
            floor = 0
            for bin in 0..<bins { floor += envelope[bin] }
            // 90 dB below the whole.
            floor = floor / Float(bins) * 1e-9 + 1e-30
            for bin in 0..<bins { envelope[bin] += floor }
        }
        envelope.takeLogarithms(from: isFirst ? 0 : half, below: isFirst ? half : bins)
    }

    /// Puts the envelope of the harmonics in, as far as there are any; from 5 kHz on less and less, where voices are noise.
    @_noLocks @_noAllocation
    private mutating func putIn() {
        let most = harmonics.certainty
        for bin in 0..<Int(reach) {
            let left = (reach - Float(bin)) * 6 / reach
            let share = most * (left < 1 ? left : 1)
            envelope[bin] += share * (model.level(at: Float(bin)) - envelope[bin])
        }
    }

    @_noLocks @_noAllocation
    private mutating func measureGains(from first: Int, to end: Int, _ step: Float) {
        let last = Float(bins &- 1) / (step > 1 ? step : 1)
        for bin in first..<end {
            // Above the highest frequency whose old place exists, the gain stays.
            let here = Float(bin) < last ? Float(bin) : last
            let old = here * step
            let whole = Int(old) < bins &- 2 ? Int(old) : bins &- 2
            let part = old - Float(whole) < 1 ? old - Float(whole) : 1
            let wanted = envelope[whole] + (envelope[whole &+ 1] - envelope[whole]) * part
            gains[bin] = 0.5 * (wanted - envelope[Int(here)])
        }
        // The harmonics of a voice may lie far below a formant that is to be where they are.
        let most: Float = 30 + 98 * harmonics.certainty
        gains.takeExponentials(from: first, below: end)
        for bin in first..<end {
            // What is not a number becomes 1.
            let gain = gains[bin]
            gains[bin] = gain < most ? gain : (gain >= most ? most : 1)
        }
    }

    /// Averages over the bins on either side.
    @_noLocks @_noAllocation
    private mutating func average(_ reach: Int) {
        var sum: Float = 0
        for bin in 0..<bins {
            running[bin] = sum
            sum += envelope[bin]
        }
        running[bins] = sum
        for bin in 0..<bins {
            let low = bin > reach ? bin &- reach : 0
            let high = bin &+ reach &+ 1 < bins ? bin &+ reach &+ 1 : bins
            let part = running[high] - running[low]
            envelope[bin] = part > 0 ? part / Float(high &- low) : 0
        }
    }
}

extension SampleMemory {
    /// Replaces numbers by their binary logarithms. The memory has room for whole vectors of eight.
    @_noLocks @_noAllocation
    mutating func takeLogarithms(from first: Int = 0, below end: Int) {
        var place = first
        while place < end {
            let numbers = SIMD8(lowHalf: vector4(at: place), highHalf: vector4(at: place &+ 4))
            let logarithms = RenderMath.log2(numbers)
            store(logarithms.lowHalf, at: place)
            store(logarithms.highHalf, at: place &+ 4)
            place &+= 8
        }
    }

    /// Undoes that.
    @_noLocks @_noAllocation
    mutating func takeExponentials(from first: Int, below end: Int) {
        var place = first
        while place < end {
            let numbers = SIMD8(lowHalf: vector4(at: place), highHalf: vector4(at: place &+ 4))
            let powers = RenderMath.exp2(numbers)
            store(powers.lowHalf, at: place)
            store(powers.highHalf, at: place &+ 4)
            place &+= 8
        }
    }
}
