import RenderStack
import TestSupport
import Testing

/// A parameter that is swept from end to end under a tone must not sound like more than the worst of its fixed settings.
@Suite("Sweeps of modulation")
struct SweepTests {
    private func judge<M: Module>(_ label: String, floors: [String: Double] = [:], _ make: () -> M) throws {
        for sweep in try Sweep.all(label, channels: 2, make) {
            let parameter = sweep.name.split(separator: ".").last.map(String.init) ?? ""
            #expect(sweep.isClean(over: floors[parameter] ?? Sweep.rounding), "\(sweep)")
        }
    }

    @Test("Each parameter of chorus, flanger and vibrato, swept under a tone, makes at most 6 dB more above 10 kHz")
    func delays() throws {
        try judge("Chorus") { Chorus() }
        try judge("Flanger") { Flanger() }
        try judge("Vibrato") { Vibrato() }
    }

    @Test("Each parameter of phaser, tremolo, ring modulator and auto-pan")
    func others() throws {
        try judge("Phaser") { Phaser() }
        try judge("Tremolo") { Tremolo() }
        try judge("RingModulator") { RingModulator() }
        try judge("AutoPan") { AutoPan() }
    }
}
