import RenderStack
import TestSupport
import Testing

/// A parameter that leaves 0, or the end of its range, while a tone plays: what was off begins without a step. A step as high as the
/// tone would lie at -39 dB.
@Suite("Parameters that leave 0")
struct DepartureTests {
    struct Candidate: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let departures: @Sendable () throws -> [Departure]

        init<M: Module>(
            _ name: String? = nil, leavingOut others: [String] = [], _ make: @escaping @Sendable () throws -> M
        ) {
            let name = name ?? "\(M.self)"
            testDescription = name
            departures = { try Departure.all(name, leavingOut: others, make) }
        }
    }

    /// Reverberations at their smallest, so that they come to rest within the time that is rendered.
    @Sendable private static func room() -> Reverb { Reverb(.smallRoom, mix: 0.5) }

    @Sendable private static func response() throws -> ImpulseResponse {
        var samples = [Float](repeating: 0, count: 6_000)
        (samples[1_000], samples[5_000]) = (0.5, -0.5)
        return try ImpulseResponse(AudioBlock([samples]), sampleRate: 48_000)
    }

    static let effects: [Candidate] = [
        Candidate { AllPass() }, Candidate { Balance() }, Candidate { Bandpass(center: 300) },
        Candidate { Delay(time: 0.1, feedback: 0.5) },
        Candidate("Delay, shorter than a fade-in") { Delay(time: 0.004, feedback: 0.5) },
        Candidate("Delay, open") { Delay(time: 0.1, feedback: 0.5, cutoff: 192_000) },
        Candidate("Delay, from side to side") { Delay(time: 0.1, feedback: 0.5, isPingPong: true) },
        Candidate { Fader() }, Candidate { Gain(0.5) }, Candidate { HighPass() }, Candidate { HighShelf(gain: 6) },
        Candidate { LowPass() }, Candidate { LowShelf(gain: -6) }, Candidate { Notch() }, Candidate { Pan() },
        Candidate { ParametricEQ([.bell(1_000, decibels: 6), .highShelf(3_000, decibels: -4)]) },
        Candidate { Crossfade(position: 0.5) },
        Candidate { Mixer(channels: 2, [MixerSource(Oscillator(frequency: 150, level: 0.5))]) },
        // Its own noise lies higher.
        Candidate("Distortion", leavingOut: ["bits", "holdRate"]) { Distortion(.none) },
        Candidate("Distortion with a polynomial and rings", leavingOut: ["bits", "holdRate", "shape"]) {
            let distortion = Distortion(.none, times: 1)
            (distortion.squaredTerm.value, distortion.cubicTerm.value) = (0.5, 0.5)
            (distortion.polynomialMix.value, distortion.ringAmount.value) = (0.5, 0.5)
            return distortion
        },
        // The longest time of the echo leads to before the tone began.
        Candidate("Distortion with an echo", leavingOut: ["bits", "holdRate", "echoTime"]) {
            let distortion = Distortion(.none, times: 1)
            (distortion.echoLevel.value, distortion.echoTime.value) = (0.5, 0.05)
            return distortion
        },
        Candidate { room() }, Candidate { try ConvolutionReverb(response(), mix: 0.5) }, Candidate { Chorus() },
        Candidate { Flanger() }, Candidate { Phaser() }, Candidate { Vibrato() }, Candidate { Tremolo() },
        Candidate { AutoPan() }, Candidate { RingModulator() }, Candidate { Compressor() },
        Candidate { Expander(threshold: -10) }, Candidate { Gate(threshold: -20) }, Candidate { Limiter() },
        Candidate { MultibandCompressor(crossovers: [900]) }, Candidate { PitchShift() },
        Candidate("PitchShift, fast") { PitchShift(.fast) },
    ]

    static let sources: [Candidate] = [
        Candidate { Oscillator(frequency: 150) },
        Candidate { ModulatedOscillator(.sine, frequency: 150, deviation: 50) },
        Candidate { LFO() },
        Candidate { VoiceBank([.init(frequency: 150, level: 0.5)]) },
        Candidate("BufferPlayer") {
            let player = BufferPlayer()
            player.schedule(Sound(AudioBlock([sine(4_800)]), sampleRate: 48_000), .loops)
            player.play()
            return player
        },
        Candidate("SamplePlayer") {
            let player = SamplePlayer(voices: 1)
            player.play(player.load(Sound(AudioBlock([sine(96_000)]), sampleRate: 48_000)))
            return player
        },
        Candidate("Environment") { PlacedSource() },
    ]

    @Sendable private static func sine(_ frames: Int) -> [Float] {
        (0..<frames).map { 0.5 * RenderMath.sin(2 * .pi * Float($0 % 320) / 320) }
    }

    private func judge(_ candidate: Candidate) throws {
        for departure in try candidate.departures() {
            let limit: Double
            switch departure.glide {
            // The corners of a straight line lie at -88 dB, of one to sixteen times the tone at -64 dB. A time or a size fades.
            case .none, .linear, .exponential: limit = -60
            case .smooth, .smoothExponential: limit = -90
            }
            #expect(departure.moving < max(departure.fixed + 6, limit), "\(departure)")
        }
    }

    @Test(arguments: effects) func effect(_ candidate: Candidate) throws { try judge(candidate) }
    @Test(arguments: sources) func source(_ candidate: Candidate) throws { try judge(candidate) }
}

/// A source thirty metres away.
private final class PlacedSource: Generator {
    private let environment: Member<Environment>
    private let source: SpatialSource
    var members: [any Module] { [environment.module] }
    var parameters: [ParameterReference] {
        [
            source.coneLevel.named("coneLevel"), source.rollOff.named("rollOff"),
            source.occlusion.named("occlusion"), source.obstruction.named("obstruction"), source.send.named("send"),
            source.doppler.named("doppler"), source.airAbsorption.named("airAbsorption"),
            source.strip.volume.named("volume"), source.maximumDistance.named("maximumDistance"),
        ]
    }

    init() {
        let environment = Environment(reverb: Gain(0.5))
        source = SpatialSource(Oscillator(frequency: 150, level: 0.5), position: SpatialPoint(3, 0, -30))
        (source.coneInner.value, source.coneOuter.value, source.yaw.value) = (10, 20, 90)
        environment.append(source)
        self.environment = Member(environment)
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.run(environment) }
}
