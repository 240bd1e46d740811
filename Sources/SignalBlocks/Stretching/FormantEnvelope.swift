/// Gains that put the formants of a sound with a new pitch back to where they were: those of its envelope over the
/// frequencies.
struct FormantEnvelope: ~Copyable, Sendable {
    /// A gain for each bin.
    var gains: SampleMemory
    private var smooth: SampleMemory
    private var running: SampleMemory
    private let bins: Int
    private let width: Int
    private var floor: Float = 0

    /// - Parameters:
    ///   - bins: The bins of a spectrum.
    ///   - stride: The room for them.
    ///   - width: The bins on either side over which the envelope is averaged.
    init(bins: Int, stride: Int, width: Int) {
        self.bins = bins
        self.width = width
        gains = SampleMemory(count: stride)
        smooth = SampleMemory(count: stride)
        running = SampleMemory(count: stride + 1)
    }

    /// The number of parts in which the envelope is measured: four for the averages, eight for the gains.
    static var parts: Int { @_noLocks @_noAllocation get { 12 } }

    /// Measures the envelope of a power spectrum, and computes the gains: a part of that.
    ///
    /// - Parameters:
    ///   - power: The power of each bin, of all channels together.
    ///   - step: The ratio of the new pitch to the old one.
    ///   - part: The number of the part, of ``parts``, which come one after the other.
    @_noLocks @_noAllocation
    mutating func measure(_ power: borrowing SampleMemory, step: Float, part: Int) {
        if part >= 4 { return measureGains(from: bins &* (part &- 4) / 8, to: bins &* (part &- 3) / 8, step: step) }
        // Harmonics of the new pitch lie further apart.
        let reach = step > 1 ? Int(Float(width) * step) : width
        if part == 0 {
            for bin in 0..<bins { smooth[bin] = power[bin] }
            return
        }
        average(reach)
        if part < 3 { return }
        floor = 0
        for bin in 0..<bins { floor += smooth[bin] }
        // Nothing is lifted out of what is 90 dB below the whole.
        floor = floor / Float(bins) * 1e-9 + 1e-30
    }

    @_noLocks @_noAllocation
    private mutating func measureGains(from first: Int, to end: Int, step: Float) {
        let last = Float(bins &- 1) / (step > 1 ? step : 1)
        for bin in first..<end {
            // Above the highest frequency whose old place exists, the gain stays.
            let here = Float(bin) < last ? Float(bin) : last
            let old = here * step
            let whole = Int(old) < bins &- 2 ? Int(old) : bins &- 2
            let part = old - Float(whole) < 1 ? old - Float(whole) : 1
            let wanted = smooth[whole] + (smooth[whole &+ 1] - smooth[whole]) * part
            let ratio = (wanted + floor) / (smooth[Int(here)] + floor)
            let root = RenderMath.pow(ratio, 0.5)
            gains[bin] = root < 30 ? root : (root >= 30 ? 30 : 1)
        }
    }

    /// Averages over the bins on either side.
    @_noLocks @_noAllocation
    private mutating func average(_ reach: Int) {
        var sum: Float = 0
        for bin in 0..<bins {
            running[bin] = sum
            sum += smooth[bin]
        }
        running[bins] = sum
        for bin in 0..<bins {
            let low = bin > reach ? bin &- reach : 0
            let high = bin &+ reach &+ 1 < bins ? bin &+ reach &+ 1 : bins
            let part = running[high] - running[low]
            smooth[bin] = part > 0 ? part / Float(high &- low) : 0
        }
    }
}
