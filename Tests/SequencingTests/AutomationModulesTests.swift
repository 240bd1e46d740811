import RenderStack
import TestSupport
import Testing

@Suite struct AutomationModulesTests {
    /// A module with the loop that lets it sound.
    private struct Subject: Sendable {
        let name: String
        let make: @Sendable () -> (any Module, RenderLoop)

        init<M: Module>(_ name: String, _ make: @escaping @Sendable () -> M) {
            self.name = name
            self.make = {
                let module = make()
                let noise = Noise(.pink, level: 0.5, channels: 2, seed: 3)
                let generates = module.stackEffect.pops == 0
                return (
                    module,
                    { context in
                        if !generates { context.run(noise) }
                        context.run(module)
                        context.output()
                    }
                )
            }
        }
    }

    private static let subjects: [Subject] = [
        Subject("Gain") { Gain() }, Subject("Pan") { Pan() }, Subject("Balance") { Balance() },
        Subject("Fader") { Fader() },
        Subject("LowPass") { LowPass(cutoff: 900) }, Subject("HighPass") { HighPass(cutoff: 900) },
        Subject("Bandpass") { Bandpass() }, Subject("Notch") { Notch() }, Subject("LowShelf") { LowShelf() },
        Subject("HighShelf") { HighShelf() }, Subject("AllPass") { AllPass() }, Subject("Delay") { Delay(time: 0.01) },
        Subject("Chorus") { Chorus() }, Subject("Flanger") { Flanger() }, Subject("Phaser") { Phaser() },
        Subject("Tremolo") { Tremolo() }, Subject("Vibrato") { Vibrato() }, Subject("AutoPan") { AutoPan() },
        Subject("RingModulator") { RingModulator() }, Subject("Compressor") { Compressor() },
        Subject("Expander") { Expander() },
        Subject("Gate") { Gate() }, Subject("Limiter") { Limiter() }, Subject("Distortion") { Distortion() },
        Subject("Oscillator") { Oscillator(.saw, frequency: 220, level: 0.5) }, Subject("Reverb") { Reverb() },
        Subject("Polyphony") {
            let synth = Polyphony<Bleep>(voices: 8)
            synth.play(60)
            return synth
        },
    ]

    /// The parameters that their modules read once in a slice: they get the value of its first frame.
    private static let onceInASlice: Set = [
        "Delay.time", "Delay.beats", "Chorus.beats", "Flanger.beats", "Phaser.beats", "Tremolo.beats", "Vibrato.beats",
        "AutoPan.beats", "Compressor.hold", "Expander.hold", "Gate.hold", "Distortion.shape", "Reverb.size",
        "Reverb.preDelay",
        "Reverb.reflectionSeed",
    ]

    @Test("A curve on any parameter that glides sounds the same in cycles of any length")
    func sweeps() throws {
        var report: [String] = []
        for subject in Self.subjects {
            let names = subject.make().0.parameters.map(\.name)
            for name in names where !Self.onceInASlice.contains("\(subject.name).\(name)") {
                func sound(_ cycles: [Int]) throws -> [[Float]] {
                    let (module, loop) = subject.make()
                    let parameter = try #require(module.parameters[name])
                    let (low, high) = (parameter.range.lowerBound, min(parameter.range.upperBound, 20_000))
                    let first = max(low, min(parameter.initialValue, high))
                    let goal = low + 0.3 * (high - low)
                    let automation = Automation(
                        of: parameter,
                        AutomationCurve(
                            in: .frames,
                            [
                                .init(at: 0, first), .init(at: 400, first, .smooth),
                                .init(at: 2_000, goal, .exponential),
                                .init(at: 2_800, first, .line), .init(at: 3_000, low, .line),
                                .init(at: 3_300, low, .line),
                                .init(at: 3_600, first),
                            ]))
                    let renderer = try Renderer { context in
                        context.run(automation)
                        loop(&context)
                    }
                    return render(renderer, frames: 4_000, cycles: cycles)
                }
                let reference = try sound([64])
                for cycles in [[1, 100], [7, 500, 33]] {
                    let other = try sound(cycles)
                    let worst = zip(reference, other).map { largestDifference($0, $1) }.max() ?? 0
                    if !(worst < 6e-5) { report.append("\(subject.name).\(name) \(cycles): \(worst)") }
                }
            }
        }
        #expect(report.isEmpty, "\(report.joined(separator: "\n"))")
    }
}

struct Bleep: LaneVoice {
    enum Parameters: Int, VoiceParameters {
        case cutoff, loudness

        func makeParameter() -> Parameter {
            switch self {
            case .cutoff: Parameter(2_000, in: 50...15_000, unit: .hertz)
            case .loudness: Parameter(0.5, in: 0...1)
            }
        }
    }

    private var tone = WaveLanes()
    private var filter = StateVariableLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {
        filter.tune(turns: notes[.cutoff] / notes.sampleRate, q: Lanes(repeating: 1))
    }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        notes[.loudness] * filter.next(tone.saw(notes.turns)).low
    }
}
