/// The levels that all responses of a head get, so that both ears together have the power of the source.
///
/// Loudspeakers roll off in the bass, and small heads are measured with small ones. Up to 1.4 kHz all directions get the same
/// correction, after which their mean is as loud as from 1 to 8 kHz; at 2 kHz and above there is none. Below 150 Hz each ear hears
/// as much as at a sphere, which low frequencies pass as they are, and at 400 Hz and above what was measured.
package struct HeadLevels: Sendable {
    /// The natural logarithm of the factor of each frequency.
    let factors: [Float]
    /// The share of a response's own level at each frequency. The rest is that of a sphere.
    let shares: [Float]
    /// The natural logarithm of the level of each ear at a sphere.
    let sphere: Float
    /// The power of both ears together, in the mean of all directions and of octaves from 1 to 8 kHz.
    let power: Double

    /// Creates the levels for responses.
    ///
    /// - Parameters:
    ///   - powers: The mean power of both ears together at frequencies from 0 to half of the sample rate.
    ///   - sampleRate: In hertz.
    init(_ powers: [Double], sampleRate: Double) {
        let width = 0.5 * sampleRate / Double(max(powers.count - 1, 1))
        var (sum, weights) = (0.0, 0.0)
        for k in powers.indices.dropFirst() {
            let frequency = Double(k) * width
            guard frequency >= min(1_000, 0.2 * sampleRate), frequency <= 8_000, frequency <= 0.45 * sampleRate else {
                continue
            }
            sum += powers[k] / frequency
            weights += 1 / frequency
        }
        let power = weights > 0 && sum.isFinite ? sum / weights : 0
        self.power = power
        sphere = power > 1e-30 ? Float(0.5 * RenderMath.log(0.5 * power)) : 0
        // In thirds of an octave.
        var sums = [0.0]
        for one in powers { sums.append((sums.last ?? 0) + one) }
        func smooth(_ k: Int) -> Double {
            let low = Int(Double(k) * 0.890_898_7), high = min(Int(Double(k) * 1.122_462) + 1, powers.count)
            return (sums[high] - sums[low]) / Double(max(high - low, 1))
        }
        let least = min(Int(200 / width), powers.count - 1)
        factors = powers.indices.map { k in
            let share = 1 - HeadLevels.rise(Double(k) * width, from: 1_400, to: 2_000)
            guard share > 0, power > 1e-30 else { return 0 }
            let factor = 0.5 * RenderMath.log(power / max(smooth(max(k, least)), power * 1e-3))
            return Float(share * min(max(factor, -2.3), 2.3))
        }
        shares = powers.indices.map { Float(HeadLevels.rise(Double($0) * width, from: 150, to: 400)) }
    }

    /// Returns a curve that rises from 0 to 1 without corners, by octaves.
    private static func rise(_ frequency: Double, from low: Double, to high: Double) -> Double {
        if frequency <= low { return 0 }
        if frequency >= high { return 1 }
        let t = RenderMath.log(frequency / low) / RenderMath.log(high / low)
        return t * t * (3 - 2 * t)
    }
}
