import RenderStack
import TestSupport
import Testing

@Suite struct ExtremeToneTests {
    private static let numbers: [Float] = [
        .nan, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1e9, -1e9, 2_048, 1_024.5, -1,
        2, .leastNonzeroMagnitude, 0, 1,
    ]

    @Test("A phase and a width may be any number", arguments: numbers)
    func phases(number: Float) {
        _ = ToneCore.phase(turns: number)
        let width = ToneCore.width(number)
        for wave in Waveform.allCases {
            let edges = EdgeTable(for: wave)
            var tone = ToneCore(phase: ToneCore.phase(turns: number))
            var block = AudioBlock(channels: 1, frames: 100)
            let steps = [Double(number), -Double(number), 0.3].map { ToneCore.step(frequency: $0, sampleRate: 1) }
            for step in steps + [.min, .max, -1, 1 << 12] {
                var samples = block[0]
                tone.render(wave, step: step, width: width, edges: edges, level: number, into: &samples)
                _ = tone.next(wave, step: step, width: width, edges: edges)
            }
        }
    }

    @Test("Turns that were right stay what they were")
    func turns() {
        #expect(ToneCore.phase(turns: 0.25) == 1 << 62 && ToneCore.phase(turns: -0.25) == 3 << 62)
        #expect(ToneCore.phase(turns: 1.5) == 1 << 63 && ToneCore.phase(turns: .nan) == 0)
        #expect(ToneCore.width(0.5) == 1 << 63 && ToneCore.width(.infinity) == 0 && ToneCore.width(1) == 0)
    }

    @Test("An LFO takes any period")
    func periods() throws {
        let durations: [Duration] = [
            .seconds(Int64.max), .seconds(1e20), .seconds(-1e20), .zero, Duration(attoseconds: 1),
        ]
        for duration in durations {
            let lfo = LFO(.saw, period: duration, rounding: duration)
            let swept = LFO(.square, period: duration, rounding: duration)
            let renderer = try Renderer(sampleRate: 1, layout: StackLayout(slots: 1, channels: 1, frames: 1)) {
                context in
                context.run(lfo)
                context.pop()
                swept.sweep(&context, every: .max) { _, _ in }
                swept.sweep(&context, every: .min) { _, _ in }
            }
            _ = renderer.renderOffline(frames: 10)
            _ = lfo.period
            lfo.period = duration
            _ = renderer.renderOffline(frames: 10)
            #expect(renderer.faultCount == 0)
        }
    }

    @Test("A voice may have any numbers, at any rate", arguments: [1, 16, 48_000, 1_000_000] as [Double])
    func voices(rate: Double) throws {
        let bank = VoiceBank(
            Self.numbers.map {
                VoiceBank.Voice(frequency: $0, level: $0, pan: $0, center: $0, octaves: $0)
            })
        let renderer = try Renderer(sampleRate: rate, layout: StackLayout(slots: 2, channels: 2, frames: 1)) {
            context in
            context.run(bank)
            context.output()
        }
        let output = render(renderer, frames: 1_000)
        #expect(output[0].allSatisfy { $0.isFinite })
        bank.update { voices in
            for i in voices.indices {
                voices[i] = VoiceBank.Voice(frequency: 0, level: 1, center: .nan, octaves: Self.numbers[i])
            }
        }
        #expect(render(renderer, frames: 1_000)[0].allSatisfy { $0.isFinite })
    }
}
