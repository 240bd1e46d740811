import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// All modules of the project keep the contract, but for what they are not meant to.
@Suite struct OurModulesTests {
    struct Candidate: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let violations: @Sendable () -> [String]

        init<M: Module>(_ contract: ModuleContract<M>, _ name: String? = nil) {
            testDescription = name ?? "\(M.self)"
            violations = { contract.judged() }
        }
    }

    static let processors: [Candidate] = [
        Candidate(ModuleContract { AllPass() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { Balance() }.transparent { $0.position.value = 0 }),
        Candidate(ModuleContract { Bandpass() }.transparent { $0.mix.value = 0 }),
        Candidate(
            ModuleContract(tail: .seconds(3)) { Delay(time: 0.02, feedback: 0.5) }.transparent { $0.mix.value = 0 },
            "Delay, crossfading"),
        Candidate(
            ModuleContract(tail: .seconds(3)) { Delay(time: 0.02, feedback: 0.5, change: .glide(.milliseconds(50))) }
                .leavingOut(parameters: "time", "beats", because: "the tape runs a hundred times as fast meanwhile")
                .transparent { $0.mix.value = 0 }, "Delay, gliding"),
        Candidate(ModuleContract { Fader() }.transparent { $0.volume.value = 1 }),
        Candidate(ModuleContract { Gain(0.5) }.transparent { $0.level.value = 1 }),
        Candidate(ModuleContract { HighPass() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { HighShelf(gain: 6) }.transparent { $0.gain.value = 0 }),
        Candidate(ModuleContract { LowPass() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { LowShelf(gain: -6) }.transparent { $0.gain.value = 0 }),
        Candidate(ModuleContract { Notch() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { Pan() }),
        Candidate(
            ModuleContract { ParametricEQ([.bell(1_000, decibels: 6), .highShelf(3_000, decibels: -4)]) }
                .transparent { $0.mix.value = 0 }),
        Candidate(
            ModuleContract {
                ParametricEQ([.highPass(300), .notch(2_000), .allPass(900), .lowPass(6_000, q: 2)], gain: 3)
            }
            .leavingOut(
                parameters: "band 1.gain", "band 2.gain", "band 3.gain", "band 4.gain",
                because: "these shapes have no gain"
            )
            .transparent { eq in
                for band in eq.bands.indices { eq.bands[band].bypass.isOn = true }
                eq.gain.value = 0
            }, "ParametricEQ, other shapes"),
    ]

    @Test(arguments: processors) func processor(_ candidate: Candidate) { #expect(candidate.violations() == []) }

    static let tones: [Candidate] =
        [
            Candidate(ModuleContract { Oscillator(.square) }, "Oscillator(square)"),
            Candidate(
                ModuleContract { ModulatedOscillator(.square, deviation: 100) }.asTone, "ModulatedOscillator(square)"),
        ]
        + [Waveform.sine, .triangle, .saw].flatMap { wave in
            let reason = "a square alone has a width"
            return [
                Candidate(
                    ModuleContract { Oscillator(wave) }.leavingOut(parameters: "width", because: reason),
                    "Oscillator(\(wave))"),
                Candidate(
                    ModuleContract { ModulatedOscillator(wave, deviation: 100) }.asTone
                        .leavingOut(parameters: "width", because: reason), "ModulatedOscillator(\(wave))"),
            ]
        }
        + [LFOCore.Shape.sine, .triangle, .saw, .randomCurve].map { shape in
            Candidate(ModuleContract { LFO(shape) }, "LFO(\(shape))")
        }
        + [LFOCore.Shape.square, .randomSteps].map { shape in
            Candidate(
                ModuleContract { LFO(shape) }.leavingOut(
                    parameters: "rate", "phase", because: "the wave itself has steps"),
                "LFO(\(shape))")
        }
        + NoiseCore.Color.allCases.map { color in
            Candidate(ModuleContract { Noise(color, channels: 2, seed: 7) }, "Noise(\(color))")
        } + [
            Candidate(
                ModuleContract {
                    let envelope = Envelope()
                    envelope.open()
                    return envelope
                }
                .leavingOut(.reset, .notANumber, because: "a reset closes it")
                .leavingOut(parameters: "attack", "decay", "release", because: "it is open")),
            Candidate(
                ModuleContract { VoiceBank([.init(frequency: 440, level: 0.5), .init(frequency: 660, level: 0.5)]) }),
        ]

    @Test(arguments: tones) func tone(_ candidate: Candidate) { #expect(candidate.violations() == []) }

    @Sendable static func inner() throws -> Renderer {
        let tone = Oscillator(frequency: 440)
        return try Renderer { context in
            context.run(tone)
            context.output()
        }
    }

    static let mixing: [Candidate] = [
        Candidate(ModuleContract { Crossfade(position: 0.5) }.transparent { $0.position.value = 0 }),
        Candidate(ModuleContract { AlignedMix() }),
        Candidate(ModuleContract { Mixer(channels: 2, [440, 660].map { MixerSource(Oscillator(frequency: $0)) }) }),
        Candidate(ModuleContract { try Splitter(Oscillator(frequency: 440)) }),
        Candidate(ModuleContract { try RateConverter(inner(), sampleRate: 44_100) }),
        Candidate(ModuleContract { try Varispeed(inner()) }),
        Candidate(ModuleContract { try SubRenderer(inner()) }),
        Candidate(ModuleContract { ModuleList(chaining: [LowPass(), Gain(0.5)]) }, "ModuleList, chaining"),
        Candidate(
            ModuleContract { ModuleList(mixing: 2, [Oscillator(frequency: 440), Oscillator(frequency: 660)]) },
            "ModuleList, mixing"),
        Candidate(ModuleContract { Parallel([try inner(), try inner()], workers: 0) }),
        Candidate(
            ModuleContract {
                let input = AudioInput()
                let filter = LowPass()
                return Insert(
                    try Renderer { context in
                        context.run(input)
                        context.run(filter)
                        context.output()
                    }, input: input)
            }),
        Candidate(ModuleContract { SendAndReturn() }),
    ]

    @Test(arguments: mixing) func mixer(_ candidate: Candidate) { #expect(candidate.violations() == []) }

    static let taps: [Candidate] = [
        Candidate(ModuleContract { LevelMeter() }.transparent { _ in }),
        Candidate(ModuleContract { LoudnessMeter() }.transparent { _ in }),
        Candidate(ModuleContract { BufferTap() }.transparent { _ in }),
        Candidate(ModuleContract { SpectrumTap() }.transparent { _ in }),
        Candidate(ModuleContract { PitchTracker() }.transparent { _ in }),
        Candidate(ModuleContract { OnsetTap() }.transparent { _ in }),
    ]

    @Test(arguments: taps) func tap(_ candidate: Candidate) { #expect(candidate.violations() == []) }

    static let players: [Candidate] = [
        Candidate(
            ModuleContract {
                let player = BufferPlayer()
                player.schedule(sound(), .loops)
                player.play()
                return player
            }
            .leavingOut(.reset, because: "it stops")
            .leavingOut(parameters: "microfade", because: "nothing begins or ends")),
        Candidate(
            ModuleContract {
                let sampler = SamplePlayer(voices: 2)
                sampler.play(sampler.load(sound()))
                return sampler
            }
            .leavingOut(.reset, because: "it stops")),
    ]

    @Sendable static func sound() -> Players.Sound {
        Sound(AudioBlock([(0..<20_000).map { RenderMath.sin(Float($0) * 0.05) }]), sampleRate: 48_000)
    }

    @Test func streamPlayer() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let path = try folder.write([(0..<96_000).map { RenderMath.sin(Float($0) * 0.05) }], "tone.wav")
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let contract = ModuleContract {
            let player = StreamPlayer(ahead: 0.05)
            player.play(AudioBytes(bytes))
            return player
        }
        .leavingOut(.reset, because: "it stops")
        #expect(contract.judged() == [])
    }

    @Test func filePlayer() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let path = try folder.write([(0..<96_000).map { RenderMath.sin(Float($0) * 0.05) }], "tone.wav")
        let contract = ModuleContract {
            let player = try FilePlayer(path: path)
            player.play()
            return player
        }
        .leavingOut(.reset, because: "a file plays on")
        .leavingOut(parameters: "microfade", because: "nothing begins or ends")
        #expect(contract.judged() == [])
    }

    @Test func fileRecorder() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let path = "\(folder.path)/take.wav"
        let contract = ModuleContract {
            let recorder = try FileRecorder(path: path)
            recorder.begin()
            return recorder
        }
        #expect(contract.transparent { _ in }.judged() == [])
    }

    @Test(arguments: players) func player(_ candidate: Candidate) { #expect(candidate.violations() == []) }
}

extension ModuleContract where M == ModulatedOscillator {
    /// For an effect that sounds by itself.
    fileprivate var asTone: Self {
        leavingOut(.silence, because: "it sounds without what modulates it")
            .leavingOut(.latency, because: "a frequency is heard in the next frame")
    }
}

/// A bus with its send: half of what goes in goes round by it.
private final class SendAndReturn: Effect {
    private let bus: Member<Bus>
    private let send: Member<BusSend>
    var members: [any Module] { [bus.module, send.module] }
    var parameters: [ParameterReference] { send.module.parameters }

    init() {
        let bus = Bus()
        self.bus = Member(bus)
        send = Member(bus.send(0.5))
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.run(send)
        context.run(bus)
        context.mix(2)
    }
}
