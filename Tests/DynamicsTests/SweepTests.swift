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

    /// The make-up is a `Float` of decibels, with steps of 2e-6 at 24: 145 dB below what comes out.
    private let makeUp = ["makeUp": -127.0]

    @Test("Each parameter of the compressor, swept under a tone, makes at most 6 dB more above 10 kHz")
    func compressor() throws {
        try judge("Compressor") { Compressor() }
        try judge("Compressor by RMS") { Compressor(detector: .rms(seconds: 0.01)) }
        // The level behind a filter that moves is found anew in each half-wave, and moves in steps.
        try judge("Compressor with a filter", floors: ["keyHighPass": -128, "keyLowPass": -130]) {
            Compressor(hold: 0.01, key: .filtered(highPass: 200, lowPass: 5_000), lookAhead: 0.005)
        }
    }

    @Test("Each parameter of expander and gate, also while the gate opens and closes")
    func expanderAndGate() throws {
        try judge("Expander", floors: makeUp) { Expander(threshold: -10) }
        try judge("Gate", floors: makeUp) { Gate(threshold: -20) }
        try judge("Closed gate") { Gate(threshold: -2) }
    }

    @Test("Each parameter of the multiband compressor and of the limiter")
    func others() throws {
        try judge("Multiband") { MultibandCompressor(crossovers: [900]) }
        // A gain of 60 dB has steps of 4e-6 dB: 140 dB below what comes out, which is 5 dB above the tone.
        try judge("Limiter", floors: ["gain": -140]) { Limiter() }
    }
}
