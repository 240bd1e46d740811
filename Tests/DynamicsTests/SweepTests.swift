import Foundation
import RenderStack
import TestSupport
import Testing

/// A parameter that is swept from end to end under a tone must not sound like more than the worst of its fixed settings.
@Suite("Sweeps of dynamics")
struct SweepTests {
    private func judge<M: Module>(
        _ label: String, leavingOut others: [String] = [], floors: [String: Double] = [:], _ make: () -> M
    ) throws {
        for sweep in try Sweep.all(label, fixedFrames: 32_000, leavingOut: others, make) {
            let parameter = sweep.name.split(separator: ".").last.map(String.init) ?? ""
            #expect(sweep.isClean(over: floors[parameter] ?? Sweep.rounding), "\(sweep)")
        }
    }

    @Test("Each parameter of the compressor, swept under a tone, makes at most 6 dB more above 10 kHz")
    func compressor() throws {
        try judge("Compressor") { Compressor() }
        try judge("Compressor by RMS") { Compressor(detector: .rms(seconds: 0.01)) }
        try judge("Compressor with a filter", leavingOut: ["keyHighPass", "keyLowPass"]) { filtered() }
    }

    private func filtered() -> Compressor {
        Compressor(hold: 0.01, key: .filtered(highPass: 200, lowPass: 5_000), lookAhead: 0.005)
    }

    @Test(
        "A filter of the key, swept under a tone, makes no more above 10 kHz than a key that fades in the same way by itself"
    )
    func keyFilters() throws {
        // A peak is found anew in each half-wave: so the level of a key that fades moves in steps, whatever makes it fade.
        let tone = sine(96_000, frequency: 1_000)
        let key = tone.indices.map { i -> Float in
            let path = smooth(Double(i - 30_000) / 9_600) - smooth(Double(i - 60_000) / 9_600)
            let filter = FilterCoefficients(.highPass, frequency: 10 * pow(2_300, path), sampleRate: 48_000)
            return Float(Double(tone[i]) * filter.magnitude(at: 1_000, sampleRate: 48_000))
        }
        let fading = Compressor(hold: 0.01, key: .below, lookAhead: 0.005)
        let limit = Sweep.highEnergy(try play([tone], key: [key], through: fading)[0])
        let others = filtered().parameters.map(\.name).filter { !$0.hasPrefix("key") }
        for sweep in try Sweep.all("Compressor", fixedFrames: 32_000, leavingOut: others, { filtered() }) {
            #expect(max(sweep.atOnce, sweep.slowly) <= limit + 3, "\(sweep), a key that fades: \(limit)")
        }
    }

    /// A smooth glide from 0 to 1.
    private func smooth(_ u: Double) -> Double {
        let t = min(1, max(0, u))
        return t * t * t * (t * (6 * t - 15) + 10)
    }

    @Test("Each parameter of expander and gate, also while the gate opens and closes")
    func expanderAndGate() throws {
        try judge("Expander") { Expander(threshold: -10) }
        try judge("Gate") { Gate(threshold: -20) }
        try judge("Closed gate") { Gate(threshold: -2) }
    }

    @Test("Each parameter of the multiband compressor and of the limiter")
    func others() throws {
        try judge("Multiband") { MultibandCompressor(crossovers: [900]) }
        try judge("Limiter") { Limiter() }
    }
}
