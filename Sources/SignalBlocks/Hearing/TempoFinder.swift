/// Finds the tempo of a row of attacks, and follows it.
///
///     var finder = TempoFinder()
///     finder.add(at: 1.5, weight: 0.8)                // seconds, in order
///     finder.tempo                                     // beats per minute
///
/// A beat is the shortest time, within the range, after which loud attacks follow on loud ones about as well as after
/// any other: so accents decide between a tempo and its double. The tempo is then the one at which the attacks of the
/// last seconds fall best on one pulse. Older attacks count less: half after 3 s, nothing after 10.
///
/// Threads: control.
public struct TempoFinder: Sendable {
    /// The tempi that are looked for, in beats per minute.
    public let range: ClosedRange<Double>
    /// The tempo in beats per minute; `nil` before five attacks, or if they have no common pulse.
    public private(set) var tempo: Double?
    private var onsets: [(time: Double, weight: Double)] = []

    /// Creates a finder.
    ///
    /// - Parameter range: The tempi to look for, in beats per minute, within 20…400; by default 58…206.
    /// - Precondition: The numbers are in range.
    public init(range: ClosedRange<Double> = 58...206) {
        demand(
            range.lowerBound >= 20 && range.upperBound <= 400 && range.lowerBound < range.upperBound,
            "TempoFinder: tempi of \(range) BPM; they must lie in 20…400")
        self.range = range
    }

    /// Goes on by an attack.
    ///
    /// - Parameters:
    ///   - time: Its time in seconds, after that of the one before.
    ///   - weight: Its loudness, as an amplitude.
    public mutating func add(at time: Double, weight: Double) {
        guard time.isFinite, weight.isFinite, weight >= 0 else { return }
        if let last = onsets.last, time < last.time { onsets = [] }
        onsets.append((time, weight))
        onsets.removeAll { $0.time < time - 10 }
        if onsets.count > 128 { onsets.removeFirst() }
        update(time)
    }

    /// Forgets everything.
    public mutating func reset() {
        onsets = []
        tempo = nil
    }

    private mutating func update(_ now: Double) {
        guard onsets.count >= 5 else { return }
        let recent = onsets.map { ($0.time, $0.weight * RenderMath.exp2((($0.time - now) / 3))) }
        // For each period, in steps of half a percent: a number that says how well attacks follow on each other after it.
        let (shortest, longest) = (60 / range.upperBound, 60 / range.lowerBound)
        let count = max(2, Int(RenderMath.log2(longest / shortest) * 140) + 1)
        let periods = (0..<count).map { shortest * RenderMath.exp2(Double($0) / 140) }
        var likeness = [Double](repeating: 0, count: count)
        for (i, later) in recent.enumerated() {
            for earlier in recent[..<i] {
                let distance = later.0 - earlier.0
                guard distance > shortest * 0.9, distance < longest * 1.1 else { continue }
                let place = RenderMath.log2(distance / shortest) * 140
                let (low, high) = (max(0, Int(place) - 8), min(count, Int(place) + 10))
                guard low < high else { continue }
                for k in low..<high {
                    let off = (Double(k) - place) / 3
                    likeness[k] += later.1 * earlier.1 * RenderMath.exp(-0.5 * off * off)
                }
            }
        }
        let highest = likeness.max() ?? 0
        guard highest > 0 else { return tempo = nil }
        for k in likeness.indices {
            let isPeak = (k == 0 || likeness[k] > likeness[k - 1]) && (k + 1 == count || likeness[k] >= likeness[k + 1])
            // A tempo that is there already is kept for a little longer.
            let isKnown = tempo.map { abs($0 * periods[k] / 60 - 1) < 0.04 } ?? false
            if isPeak && likeness[k] >= (isKnown ? 0.65 : 0.75) * highest {
                return tempo = 60 / refined(periods[k], recent)
            }
        }
    }

    /// Returns the period near another one at which the attacks fall best on one pulse.
    private func refined(_ period: Double, _ recent: [(Double, Double)]) -> Double {
        func pulse(_ period: Double) -> Double {
            var (re, im) = (0.0, 0.0)
            for (time, weight) in recent {
                let (sine, cosine) = RenderMath.sincos(2 * .pi * ((time - recent[0].0) / period))
                re += weight * cosine
                im += weight * sine
            }
            return re * re + im * im
        }
        var best = (period: period, width: 0.02)
        for _ in 0..<3 {
            let tries = (-8...8).map { best.period * (1 + best.width * Double($0) / 8) }
            let values = tries.map(pulse)
            let k = values.indices.max { values[$0] < values[$1] } ?? 8
            best = (tries[k], best.width / 6)
        }
        return best.period
    }
}
