import RenderStack
import TestSupport
import Testing

/// A filter, and what can be turned on it.
struct Subject {
    let effect: any Effect
    let frequency: @Sendable (Float) -> Void
    let width: @Sendable (Float) -> Void
    let mix: @Sendable (Float) -> Void

    enum Kind: String, CaseIterable, Sendable {
        case bandpass, lowPass, highPass, lowShelf, highShelf, parametricEQ, notch, allPass
    }

    init(_ kind: Kind) {
        switch kind {
        case .bandpass:
            let filter = Bandpass(center: 1_000, octaves: 1)
            self.init(filter, { filter.center.value = $0 }, { filter.octaves.value = $0 }, { filter.mix.value = $0 })
        case .lowPass:
            let filter = LowPass(cutoff: 1_000, resonance: 6)
            self.init(filter, { filter.cutoff.value = $0 }, { filter.resonance.value = $0 }, { filter.mix.value = $0 })
        case .highPass:
            let filter = HighPass(cutoff: 1_000, resonance: 6)
            self.init(filter, { filter.cutoff.value = $0 }, { filter.resonance.value = $0 }, { filter.mix.value = $0 })
        case .lowShelf:
            let filter = LowShelf(cutoff: 1_000, gain: 9)
            self.init(filter, { filter.cutoff.value = $0 }, { filter.gain.value = $0 }, { filter.mix.value = $0 })
        case .highShelf:
            let filter = HighShelf(cutoff: 1_000, gain: 9)
            self.init(filter, { filter.cutoff.value = $0 }, { filter.gain.value = $0 }, { filter.mix.value = $0 })
        case .parametricEQ:
            let filter = ParametricEQ([.bell(1_000, decibels: 6), .highShelf(3_000, decibels: -4)])
            self.init(
                filter, { filter.bands[0].center.value = $0 }, { filter.bands[0].gain.value = $0 },
                { filter.mix.value = $0 })
        case .notch:
            let filter = Notch(center: 1_000, octaves: 1)
            self.init(filter, { filter.center.value = $0 }, { filter.octaves.value = $0 }, { filter.mix.value = $0 })
        case .allPass:
            let filter = AllPass(frequency: 1_000, q: 2)
            self.init(filter, { filter.frequency.value = $0 }, { filter.q.value = $0 }, { filter.mix.value = $0 })
        }
    }

    private init(
        _ effect: any Effect, _ frequency: @escaping @Sendable (Float) -> Void,
        _ width: @escaping @Sendable (Float) -> Void, _ mix: @escaping @Sendable (Float) -> Void
    ) {
        (self.effect, self.frequency, self.width, self.mix) = (effect, frequency, width, mix)
    }
}

/// Tests of the behaviour that all filters have in common.
@Suite struct FilterBehaviourTests {
    /// Two seconds of settings that move at odd times: sweeps, jumps, a bypass and its end.
    private func performance(_ kind: Subject.Kind, cycles: [Int], frames: Int = 24_000) throws -> [[Float]] {
        let subject = Subject(kind)
        let renderer = try renderer([noise(frames), noise(frames, seed: 2)], through: subject.effect)
        let moves: [(Int64, @Sendable () -> Void)] = [
            (1_001, { subject.frequency(15_000) }), (1_500, { subject.frequency(30) }), (3_333, { subject.width(0.3) }),
            (5_000, { subject.mix(0) }), (5_700, { subject.mix(0.7) }), (9_999, { subject.mix(0) }),
            (12_000, { subject.frequency(9_000) }), (14_000, { subject.mix(1) }), (17_001, { subject.width(7) }),
        ]
        for (time, move) in moves { try renderer.transaction(at: .sample(time)) { move() } }
        return render(renderer, frames: frames, cycles: cycles)
    }

    @Test("The length of the cycles changes nothing, bit for bit", arguments: Subject.Kind.allCases)
    func cycles(kind: Subject.Kind) throws {
        let reference = try performance(kind, cycles: [512])
        #expect(reference.allSatisfy { $0.allSatisfy { abs($0) < 20 } })
        for cycles in cycleLengths { #expect(try performance(kind, cycles: cycles) == reference, "\(cycles)") }
    }

    @Test("A mix of 0 is transparent, bit for bit, also after a glide", arguments: Subject.Kind.allCases)
    func bypass(kind: Subject.Kind) throws {
        let input = [noise(9_600)]
        let subject = Subject(kind)
        subject.mix(0)
        #expect(try play(input, through: subject.effect) == input)
        let other = Subject(kind)
        let renderer = try renderer(input, through: other.effect)
        try renderer.transaction(at: .sample(1_000)) { other.mix(0) }
        let output = render(renderer, frames: 9_600)[0]
        #expect(output[..<1_000] != input[0][..<1_000])
        #expect(output[1_480...] == input[0][1_480...])
    }

    @Test("The bypass forgets what was heard, and comes back from silence", arguments: Subject.Kind.allCases)
    func bypassResets(kind: Subject.Kind) throws {
        // Loud, then nothing; bypassed while it rings, back in the silence.
        let subject = Subject(kind)
        subject.frequency(50)
        let renderer = try renderer([noise(2_000) + [Float](repeating: 0, count: 8_000)], through: subject.effect)
        try renderer.transaction(at: .sample(2_000)) { subject.mix(0) }
        try renderer.transaction(at: .sample(4_000)) { subject.mix(1) }
        let output = render(renderer, frames: 10_000)[0]
        #expect(output[2_480...].allSatisfy { $0 == 0 })
    }

    @Test("A mix of 0.3 is 0.7 of the dry and 0.3 of the wet sound", arguments: Subject.Kind.allCases)
    func halfWet(kind: Subject.Kind) throws {
        let input = noise(5_000)
        let wet = try play([input], through: Subject(kind).effect)[0]
        let subject = Subject(kind)
        subject.mix(0.3)
        let output = try play([input], through: subject.effect)[0]
        let expected = zip(input, wet).map { 0.7 * $0 + 0.3 * $1 }
        #expect(largestDifference(output, expected) < 5e-7)
    }

    @Test("Gains of 0 dB are transparent, bit for bit") func identity() throws {
        let input = [noise(5_000), noise(5_000, seed: 3)]
        #expect(try play(input, through: LowShelf(cutoff: 300, gain: 0)) == input)
        #expect(try play(input, through: HighShelf(cutoff: 3_000, gain: 0)) == input)
        #expect(try play(input, through: ParametricEQ(bands: 32)) == input)
    }

    @Test("Silence stays silent; what rings ends at zero, not at a denormal number", arguments: Subject.Kind.allCases)
    func silence(kind: Subject.Kind) throws {
        let nothing = [[Float](repeating: 0, count: 3_000)]
        #expect(try play(nothing, through: Subject(kind).effect) == nothing)
        let tail = try play([noise(1_000)], through: Subject(kind).effect, frames: 96_000)[0]
        #expect(tail[1_000..<1_010].contains { $0 != 0 })
        #expect(tail[48_000...].allSatisfy { $0 == 0 })
    }

    @Test("Channels are independent and alike, whatever their number", arguments: Subject.Kind.allCases)
    func channels(kind: Subject.Kind) throws {
        let inputs = (0..<64).map { noise(600, seed: UInt64($0) + 5) }
        let alone = try inputs.prefix(9).map { try play([$0], through: Subject(kind).effect)[0] }
        for count in [2, 3, 4, 5, 6, 7, 8, 9, 64] {
            let together = try play(Array(inputs.prefix(count)), through: Subject(kind).effect)
            for channel in 0..<min(count, 9) { #expect(together[channel] == alone[channel], "\(channel) of \(count)") }
        }
        #expect(
            try play(inputs, through: Subject(kind).effect)[63] == play([inputs[63]], through: Subject(kind).effect)[0])
    }

    @Test("Mono that becomes stereo and mono again goes on without a click", arguments: Subject.Kind.allCases)
    func widths(kind: Subject.Kind) throws {
        let tone = sine(12_000, frequency: 200)
        let constant = try play([tone], through: Subject(kind).effect)[0]
        let subject = Subject(kind)
        let (mono, stereo) = (Playback([tone]), Playback([tone, tone]))
        let renderer = try Renderer { context in
            context.run(mono)
            context.run(stereo)
            if context.sampleTime >= 4_000 && context.sampleTime < 8_000 { context.swap() }
            context.pop()
            runAny(subject.effect, &context)
            context.output()
        }
        let output = render(renderer, frames: 12_000, cycles: [400])
        #expect(output[0] == constant)
        #expect(output[1] == constant)
    }

    @Test("Channels that stay go on when others come and go", arguments: Subject.Kind.allCases)
    func comingAndGoing(kind: Subject.Kind) throws {
        let inputs = (0..<9).map { noise(6_000, seed: UInt64($0) + 40) }
        let alone = try inputs.map { try play([$0], through: Subject(kind).effect)[0] }
        for (few, many) in [(2, 3), (3, 4), (2, 7), (5, 8), (4, 9)] {
            let subject = Subject(kind)
            let (narrow, wide) = (Playback(Array(inputs[..<few])), Playback(Array(inputs[..<many])))
            let renderer = try Renderer(channels: many, layout: StackLayout(slots: 8, channels: 9)) { context in
                context.run(narrow)
                context.run(wide)
                if context.sampleTime < 2_000 || context.sampleTime >= 4_000 { context.swap() }
                context.remove(at: 1)
                runAny(subject.effect, &context)
                context.output()
            }
            let output = render(renderer, frames: 6_000, cycles: [400])
            for channel in 0..<few { #expect(output[channel] == alone[channel], "\(channel), \(few) and \(many)") }
        }
    }

    @Test("One channel, sample by sample, is the module bit for bit") func memory() throws {
        let input = noise(3_000)
        let coefficients = FilterCoefficients(
            .lowPass, frequency: 1_234, q: FilterCoefficients.q(resonance: 6), sampleRate: 48_000)
        var memory = FilterMemory()
        let expected = input.map { memory.next($0, coefficients) }
        #expect(try play([input], through: LowPass(cutoff: 1_234, resonance: 6))[0] == expected)
    }

    @Test("A band has the same range of gains whichever shape it began with, and keeps its gain from shape to shape")
    func gains() throws {
        for shape in FilterShape.allCases {
            var setting = ParametricEQ.Setting.bell(1_000, q: 0.7, decibels: -36)
            setting.shape = shape
            let eq = ParametricEQ([setting])
            #expect(eq.bands[0].gain.range == -40...40 && eq.bands[0].gain.value == -36)
            // Through a shape that has no gain, and back to those that have one.
            for next in [FilterShape.bell, .notch, .highShelf] {
                eq.bands[0].shape = next
                #expect(eq.bands[0].gain.value == -36)
            }
            // A high shelf by now: a tone of a quarter of the rate, whose samples have one magnitude.
            let tone = (0..<24_000).map { $0 & 2 == 0 ? Float(0.5) : -0.5 }
            let output = try play([tone], through: eq)[0]
            let change = RenderMath.decibels(amplitude: abs(output[20_000]) / 0.5)
            #expect(change < -30 && change > -40, "\(shape): \(change) dB")
        }
    }

    @Test("The ranges are kept, at every sample rate") func ranges() throws {
        let (low, band) = (LowPass(cutoff: 1, resonance: 99), Bandpass(center: 1, octaves: 99))
        let eq = ParametricEQ(bands: 3)
        #expect(low.cutoff.value == 10 && low.resonance.value == 40)
        #expect(band.center.value == 20 && band.octaves.value == 10)
        let highest: Float = 0.49 * 44_100
        #expect(low.cutoff.range(atSampleRate: 44_100).upperBound == highest)
        eq.bands[2].gain.value = 99
        eq.bands[2].q.value = 0
        #expect(eq.bands.count == 3 && eq.bands[2].gain.value == 40 && eq.bands[2].q.value == 0.1)
        // Beyond half of the rate: held below it, and still a filter.
        low.cutoff.value = 192_000
        let output = try play([noise(2_000)], through: low, sampleRate: 8_000)[0]
        #expect(output.allSatisfy { abs($0) < 100 })
    }

    @Test("After an infinite sample or no number the sound comes back", arguments: Subject.Kind.allCases)
    func recovery(kind: Subject.Kind) throws {
        for bad in [Float.nan, .infinity] {
            var input = noise(4_800)
            input[700] = bad
            let output = try play([input], through: Subject(kind).effect)[0]
            #expect(output.allSatisfy { $0.isFinite })
            #expect(output[2_048...].contains { abs($0) > 0.01 })
        }
    }
}

/// Runs a module of a type that only the caller knows.
func runAny(_ effect: any Effect, _ context: inout RenderContext) { run(effect, &context) }
private func run(_ effect: some Effect, _ context: inout RenderContext) { context.run(effect) }
