import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

// Another type of the tests has this name too.
private typealias Gate = Dynamics.Gate

@Suite("Presets of dynamics")
struct DynamicsPresetTests {
    /// Returns the values of all parameters.
    private func values(_ module: some Module) -> [Float] { module.parameters.map(\.value) }

    /// Judges presets: each sets every parameter to a number in its range, and no two are alike.
    private func judge<Preset: CaseIterable & Hashable, M: Module>(
        _ presets: Preset.Type, _ make: (Preset) -> M, _ load: (M, Preset) -> Void, _ plain: () -> M
    ) {
        var all: Set<[Float]> = []
        for preset in presets.allCases {
            let module = make(preset)
            all.insert(values(module))
            // Whatever was set before, the preset is the same. Numbers out of their ranges would be held at the end.
            for end in [0, 1] {
                let other = plain()
                for parameter in other.parameters {
                    parameter.value = end == 0 ? parameter.range.lowerBound : parameter.range.upperBound
                }
                load(other, preset)
                #expect(values(other) == values(module), "\(preset)")
            }
            for parameter in module.parameters where parameter.range.lowerBound < parameter.range.upperBound {
                let isEnd =
                    parameter.value == parameter.range.lowerBound || parameter.value == parameter.range.upperBound
                let mayBe = ["hold", "ratio", "mix", "knee", "makeUp", "range"].contains {
                    parameter.name.hasSuffix($0)
                }
                #expect(!isEnd || mayBe, "\(preset): \(parameter.name) is \(parameter.value)")
            }
        }
        #expect(all.count == presets.allCases.count && all.count >= 5)
    }

    @Test("Each sets all parameters within their ranges, from whatever was there, and no two are alike")
    func ranges() {
        judge(Compressor.Preset.self, { Compressor(preset: $0) }, { $0.load($1) }, { Compressor() })
        judge(Expander.Preset.self, { Expander(preset: $0) }, { $0.load($1) }, { Expander() })
        judge(Gate.Preset.self, { Gate(preset: $0) }, { $0.load($1) }, { Gate() })
        judge(Limiter.Preset.self, { Limiter(preset: $0) }, { $0.load($1) }, { Limiter() })
        judge(
            MultibandCompressor.Preset.self, { MultibandCompressor(preset: $0) }, { $0.load($1) },
            { MultibandCompressor() }
        )
    }

    /// The reduction in dB that a module shows behind a second of a tone with peaks of -10 dB.
    private func reduction(of module: some DynamicsModule, level: Double = -10) throws -> Double {
        // A hold as long as half a wave lets the gain rest.
        module.hold.value = max(module.hold.value, 0.002)
        _ = try play([sine(96_000, frequency: 1_000, level: factor(level))], through: module)
        return Double(module.gainReduction)
    }

    @Test(
        "A tone at -10 dB gets softer by as much as the article says",
        arguments: [
            (Compressor.Preset.voice, 8.0), (.bass, 7.5), (.strings, 6), (.drums, 6.4), (.bus, 3.05), (.master, 1.4),
            (.parallel, 26.25), (.leveller, 18.3),
        ])
    func compressors(_ preset: Compressor.Preset, softer: Double) throws {
        let compressor = Compressor(preset: preset)
        let found = try reduction(of: compressor)
        #expect(abs(found - softer) < 0.15, "\(preset): \(found) dB")
        // The ratio by two levels that are far above the threshold.
        let (low, high) = (try level(Compressor(preset: preset), 2), try level(Compressor(preset: preset), 8))
        let ratio = Double(compressor.ratio.value)
        if compressor.mix.value == 1 { #expect(abs((high - low) - 6 / ratio) < 0.01, "\(preset)") }
    }

    /// The level that comes out of a module behind two seconds of a constant.
    private func level(_ module: some Module, _ input: Double) throws -> Double {
        decibels(try play([[Float](repeating: Float(factor(input)), count: 192_000)], through: module)[0][191_999])
    }

    @Test("An expander leaves what is loud and takes its range from silence; a gate has its range between its levels")
    func belowThresholds() throws {
        for preset in Expander.Preset.allCases {
            let expander = Expander(preset: preset)
            let (threshold, ratio, knee) = (
                Double(expander.threshold.value), Double(expander.ratio.value), Double(expander.knee.value)
            )
            func change(_ input: Double) throws -> Double { try level(Expander(preset: preset), input) - input }
            #expect(try abs(change(threshold + knee / 2 + 1)) < 0.01)
            // By the ratio, a little below the knee.
            let place = threshold - knee / 2 - 1
            let expected = min(Double(expander.range.value), (ratio - 1) * (threshold - place))
            #expect(try abs(change(place) + expected) < 0.01)
            #expect(try abs(change(-100) + Double(expander.range.value)) < 0.1)
        }
        for preset in Gate.Preset.allCases {
            let gate = Gate(preset: preset)
            let threshold = Double(gate.threshold.value)
            func change(_ input: Double) throws -> Double { try level(Gate(preset: preset), input) - input }
            #expect(try abs(change(threshold + 0.1)) < 0.01)
            let shut = threshold - Double(gate.hysteresis.value) - 0.1
            #expect(try abs(change(shut) + Double(gate.range.value)) < 0.05)
        }
    }

    @Test("A limiter keeps its ceiling, and a sound below it gets its gain alone")
    func limiters() throws {
        for preset in Limiter.Preset.allCases {
            let limiter = Limiter(preset: preset)
            let (ceiling, gain) = (Double(limiter.ceiling.value), Double(limiter.gain.value))
            let late = limiter.latency(at: 48_000)
            let loud = try play([sine(48_000, frequency: 997, level: 2)], through: limiter)[0]
            let peak = decibels(loud[10_000...].map(abs).max() ?? 0)
            #expect(peak < ceiling + 0.1 && peak > ceiling - 0.3)
            let soft = sine(48_000, frequency: 997, level: 0.05)
            let output = try play([soft], through: Limiter(preset: preset))[0]
            #expect(abs(decibels(output[late + 5_012]) - decibels(soft[5_012]) - gain) < 0.001)
            #expect(limiter.attack.value == Float(limiter.lookAhead))
        }
    }

    @Test("A preset of bands is for any number of them: the ends are those of three")
    func bands() {
        for preset in MultibandCompressor.Preset.allCases {
            let three = MultibandCompressor(preset: preset)
            for count in 1...4 {
                let module = MultibandCompressor(crossovers: (0..<count).map { 100 * Float($0 + 1) })
                module.load(preset)
                let crossovers = module.crossovers.indices.map { module.crossovers[$0].value }
                #expect(zip(crossovers, crossovers.dropFirst()).allSatisfy { $0 < $1 })
                #expect(module.bands[0].threshold.value == three.bands[0].threshold.value)
                #expect(module.bands[count].makeUp.value == three.bands[2].makeUp.value)
                let (low, high) = (three.crossovers[0].value, three.crossovers[1].value)
                if count == 1 {
                    #expect(abs(crossovers[0] - (low * high).squareRoot()) < 0.01)
                } else {
                    #expect(crossovers[0] == low && crossovers[count - 1] == high)
                }
            }
        }
    }

    @Test("Bands that a preset leaves alone stay as they are, and the others do what it says")
    func bandsHeard() throws {
        func change(_ preset: MultibandCompressor.Preset, _ frequency: Double) throws -> Double {
            let tone = sine(96_000, frequency: frequency, level: factor(-10))
            let module = MultibandCompressor(preset: preset)
            let output = try play([tone], through: module)[0]
            func power(_ x: ArraySlice<Float>) -> Double { x.reduce(0) { $0 + Double($1) * Double($1) } }
            return 10 * log10(power(output[48_000...]) / power(tone[48_000...]))
        }
        #expect(try abs(change(.tightBass, 1_000)) < 0.05 && abs(change(.tightBass, 8_000)) < 0.05)
        // 16 dB above the threshold, of which a fifth remains, and 6 dB of make-up; the wave's zeros let the gain move.
        #expect(try abs(change(.tightBass, 40) - -6.5) < 0.7)
        #expect(try abs(change(.softTreble, 1_000)) < 0.05 && abs(change(.softTreble, 60)) < 0.05)
        #expect(try change(.softTreble, 12_000) < -12)
        #expect(try change(.voice, 80) < -6)
    }

    @Test("A preset that is loaded while a tone plays makes no click")
    func changes() throws {
        // 85 dB below the tone: what a fast attack makes of each half-wave while its threshold moves. A step of 1 dB makes more.
        let floor = -85.0
        let step = sine(48_000, frequency: 1_000).enumerated().map { $0 < 24_012 ? $1 : $1 * Float(factor(1)) }
        #expect(Sweep.highEnergy(step) > floor + 6)
        func judge<Preset: CaseIterable & Equatable, M: Module>(
            _ presets: Preset.Type, _ make: (Preset) -> M, _ load: (M, Preset) -> Void
        ) throws {
            let tone = sine(72_000, frequency: 1_000)
            let fixed =
                try presets.allCases.map { Sweep.highEnergy(try play([tone], through: make($0))[0]) }.max() ?? -300
            let order = Array(presets.allCases) + presets.allCases.reversed()
            let module = make(order[0])
            let source = Playback([sine(24_000 * order.count, frequency: 1_000)])
            let renderer = try Renderer(channels: 1) { context in
                context.run(source)
                context.run(module)
                context.output()
            }
            var sound: [Float] = []
            for next in order {
                load(module, next)
                sound += render(renderer, frames: 24_000)[0]
            }
            for (frame, found) in Sweep.highEnergies(sound) where frame >= 4_800 && found > max(fixed + 6, floor) {
                Issue.record("\(presets), to \(order[frame / 24_000]) at \(frame): \(found) dB, fixed: \(fixed) dB")
            }
        }
        try judge(Compressor.Preset.self, { Compressor(preset: $0) }, { $0.load($1) })
        try judge(Expander.Preset.self, { Expander(preset: $0) }, { $0.load($1) })
        try judge(Gate.Preset.self, { Gate(preset: $0) }, { $0.load($1) })
        try judge(Limiter.Preset.self, { Limiter(preset: $0) }, { $0.load($1) })
        try judge(MultibandCompressor.Preset.self, { MultibandCompressor(preset: $0) }, { $0.load($1) })
    }
}
