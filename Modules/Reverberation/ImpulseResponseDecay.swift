internal import RenderCore

/// The acoustic figures of a response in one octave, as ISO 3382 defines them.
///
/// Threads: control.
public struct RoomDecay: Sendable, Hashable {
    /// The middle of the octave in hertz; `nil` for all frequencies.
    public let frequency: Double?
    /// The time of a decay by 60 dB, in seconds, from that between -5 and -25 dB; `nil` if noise hides it.
    public let t20: Double?
    /// The time from the decay between -5 and -35 dB.
    public let t30: Double?
    /// The early decay time, from the decay between 0 and -10 dB.
    public let edt: Double?
    /// The clarity of speech: the energy of the first 50 ms against that after them, in dB; `nil` if there is none after.
    public let c50: Double?
    /// The clarity of music: the energy of the first 80 ms against that after them, in dB.
    public let c80: Double?
    /// The decay in dB, a value for every 10 ms from the arrival of the sound on: the energy that is still to come.
    public let curve: [Float]
}

extension ImpulseResponse {
    /// Computes the decay of a channel in octaves, and as a whole.
    ///
    /// The octaves are filtered with the magnitudes of Butterworth filters of the third order, without a shift of time. The
    /// energy is summed backwards (Schroeder 1965) from where the decay meets the noise; the part that the noise hides is
    /// added as if it went on as before (ISO 3382-1, 5.3.3).
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - octaves: The middles of the octaves, in hertz; those above 0.35 of the rate are left out.
    /// - Returns: The figures of all frequencies, and those of each octave. Of a long response the first 2^20 frames count.
    public func decay(
        channel: Int = 0, octaves: [Double] = [63, 125, 250, 500, 1_000, 2_000, 4_000, 8_000]
    ) -> [RoomDecay] {
        let channel = existing(channel)
        let frames = min(frameCount, 1 << 19)
        var fft = RealFFT(size: RealFFT.size(atLeast: max(1_024, frames + frames / 2)) ?? 1 << 20)
        let whole = ComplexSpectrum(block, channel, &fft)
        let arrival = min(self.arrival, frames - 1)
        let bands = [nil] + octaves.filter { $0 > 0 && $0 <= 0.35 * sampleRate }.map(Optional.some)
        return bands.map { band in
            var samples = [Float](repeating: 0, count: fft.size)
            if let band {
                var part = whole
                let size = Double(fft.size)
                part.multiply { ImpulseResponse.octaveGain(Double($0) * sampleRate / size, of: band) }
                samples = part.samples(&fft)
            } else {
                for frame in 0..<frames { samples[frame] = block[channel, frame] }
            }
            let energy = (0..<frames).map { Double(samples[$0]) * Double(samples[$0]) }
            return DecayCurve(energy, from: arrival, sampleRate: sampleRate).figures(band)
        }
    }

    /// The magnitude of a third-order Butterworth band-pass that is an octave wide.
    static func octaveGain(_ frequency: Double, of middle: Double) -> Float {
        if frequency <= 0 { return 0 }
        let offset = (frequency / middle - middle / frequency) / (2.0.squareRoot() - 0.5.squareRoot())
        return Float(1 / (1 + offset * offset * offset * offset * offset * offset).squareRoot())
    }
}

/// The energy that is still to come, from each frame on.
struct DecayCurve {
    /// The first frame that is noise.
    let end: Int
    private let start: Int
    private let sampleRate: Double
    /// The energy from each frame to the end, with what the noise hides.
    private let left: [Double]
    /// The level down to which the decay is known, in dB below its beginning.
    private let depth: Double

    init(_ energy: [Double], from start: Int, sampleRate: Double) {
        self.start = start
        self.sampleRate = sampleRate
        let window = max(1, Int(0.02 * sampleRate))
        let count = max(1, (energy.count - start) / window)
        let levels = (0..<count).map { index -> Double in
            let first = start + index * window
            let last = min(energy.count, first + window)
            return energy[first..<last].reduce(0, +) / Double(max(1, last - first))
        }
        let last = max(1, count / 10)
        let noise = levels[(count - last)...].reduce(0, +) / Double(last)
        // The decay is looked at down to 5 dB above the noise.
        let top = levels.indices.max { levels[$0] < levels[$1] } ?? 0
        let meeting = levels.indices[top...].first { levels[$0] <= noise * 3.2 } ?? count
        end = count > 3 ? min(energy.count, start + max(1, meeting) * window) : energy.count
        depth = noise > 0 ? 4.342944819032518 * RenderMath.log(levels[top] / noise) : 200
        // The slope before that point tells how much energy the noise hides.
        var hidden = 0.0
        let first = max(top, meeting - max(5, (meeting - top) / 3))
        if meeting - first >= 4 {
            let points = (first..<meeting).map { (Double($0), RenderMath.log(max(levels[$0], 1e-300))) }
            let slope = DecayCurve.slope(points)
            if slope < 0 { hidden = (levels[meeting - 1] * RenderMath.exp(slope / 2)) * Double(window) / -slope }
        }
        var (sum, left) = (hidden, [Double](repeating: 0, count: max(0, end - start)))
        for frame in stride(from: left.count - 1, through: 0, by: -1) {
            sum += energy[start + frame]
            left[frame] = sum
        }
        self.left = left
    }

    /// The slope of the line through points.
    private static func slope(_ points: [(Double, Double)]) -> Double {
        let count = Double(points.count)
        let (x, y) = (points.reduce(0) { $0 + $1.0 } / count, points.reduce(0) { $0 + $1.1 } / count)
        let (xy, xx) = points.reduce((0.0, 0.0)) { ($0.0 + ($1.0 - x) * ($1.1 - y), $0.1 + ($1.0 - x) * ($1.0 - x)) }
        return xx > 0 ? xy / xx : 0
    }

    private func level(_ frame: Int) -> Double {
        guard let all = left.first, all > 0, left[frame] > 0 else { return -300 }
        return 4.342944819032518 * RenderMath.log(left[frame] / all)
    }

    /// The time of 60 dB from the decay between two levels.
    private func time(from high: Double, to low: Double) -> Double? {
        // The noise has to be 10 dB lower still.
        guard depth >= 10 - low, let first = left.indices.first(where: { level($0) <= high }),
            let last = left.indices[first...].first(where: { level($0) <= low }), last > first + 1
        else { return nil }
        let step = max(1, (last - first) / 2_000)
        let points = stride(from: first, through: last, by: step).map { (Double($0) / sampleRate, level($0)) }
        let slope = DecayCurve.slope(points)
        return slope < 0 ? -60 / slope : nil
    }

    private func clarity(_ seconds: Double) -> Double? {
        let frame = Int((seconds * sampleRate).rounded())
        guard let all = left.first, frame < left.count, left[frame] > 0, all > left[frame] else { return nil }
        return 4.342944819032518 * RenderMath.log((all - left[frame]) / left[frame])
    }

    /// The figures.
    func figures(_ band: Double?) -> RoomDecay {
        let step = max(1, Int(0.01 * sampleRate))
        return RoomDecay(
            frequency: band, t20: time(from: -5, to: -25), t30: time(from: -5, to: -35), edt: time(from: 0, to: -10),
            c50: clarity(0.05), c80: clarity(0.08),
            curve: stride(from: 0, to: left.count, by: step).map { Float(level($0)) })
    }
}
