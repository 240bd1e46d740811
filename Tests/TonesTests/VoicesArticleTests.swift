import Foundation
import RenderStack
import TestSupport
import Testing

/// The voices of the article "Voices", step by step, each heard.
@Suite struct VoicesArticleTests {
    /// A note of half a second, and what follows it.
    private func play<Voice: LaneVoice>(_ synth: Polyphony<Voice>, note: Float = 57) throws -> [[Float]] {
        let renderer = try Renderer(channels: 2) { context in
            context.run(synth)
            context.output()
        }
        synth.release(synth.play(note, velocity: 1), at: .sample(24_000))
        return render(renderer, frames: 36_000)
    }

    @Test("Step 1: a sine, which ends in 5 ms")
    func plain() throws {
        let sound = try play(Polyphony<Plain>())[0]
        #expect(abs(level(Array(sound[4_800..<24_000]), frequency: 220) - decibels(0.2)) < 0.01)
        // It is asked every 32 frames whether its key is up.
        #expect(sound[24_000..<24_032].contains { abs($0) > 0.1 } && sound[24_272...].allSatisfy { $0 == 0 })
    }

    @Test("Step 2: an envelope")
    func shaped() throws {
        let sound = try play(Polyphony<Shaped>())[0]
        #expect(sound[0] == 0)
        #expect(abs(level(Array(sound[19_200..<24_000]), frequency: 220) - decibels(0.2 * 0.4)) < 0.05)
        #expect(sound[33_500..<33_600].contains { $0 != 0 } && sound[33_600...].allSatisfy { $0 == 0 })
    }

    @Test("Step 3: two saws that beat")
    func wide() throws {
        let sound = try play(Polyphony<Wide>())[0]
        let part = Array(sound[7_616..<24_000])
        let spectrum = ToneSpectrum(part, sampleRate: 48_000)
        // The eighth harmonics lie 10.6 Hz apart.
        for harmonic in [8.0, 16] {
            for detune in [0.997, 1.003] { #expect(spectrum.amplitude(at: 220 * harmonic * detune) > 0.001) }
        }
    }

    @Test("Step 4: a filter that opens and closes, and a parameter")
    func filtered() throws {
        func brightness(_ samples: ArraySlice<Float>) -> Float {
            let steps = zip(samples, samples.dropFirst()).map { ($1 - $0) * ($1 - $0) }
            return steps.reduce(0, +) / samples.map { $0 * $0 }.reduce(0, +)
        }
        let synth = Polyphony<Filtered>()
        let sound = try play(synth)[0]
        #expect(brightness(sound[200..<1_500]) > 2 * brightness(sound[15_000..<24_000]))
        let open = Polyphony<Filtered>()
        open[.cutoff].value = 8_000
        #expect(brightness(try play(open)[0][15_000..<24_000]) > 4 * brightness(sound[15_000..<24_000]))
    }

    @Test("Step 5: vibrato, pressure and a place of its own for each note")
    func lead() throws {
        let synth = Polyphony<Lead>()
        let renderer = try Renderer(channels: 2) { context in
            context.run(synth)
            context.output()
        }
        let left = synth.play(45, with: [.pan: -1])
        let alone = render(renderer, frames: 9_600)
        #expect(alone[1].allSatisfy { abs($0) < 1e-6 } && alone[0].contains { abs($0) > 0.02 })
        synth.press(left, 1)
        synth.play(57, with: [.pan: 1])
        let both = render(renderer, frames: 9_600)
        #expect(both[1].contains { abs($0) > 0.02 })
        // With and without vibrato.
        let still = Polyphony<Lead>()
        still[.vibrato].value = 0
        #expect(largestDifference(try play(Polyphony<Lead>())[0], try play(still)[0]) > 0.01)
    }

    @Test("A plucked string")
    func plucked() throws {
        let sound = try play(Polyphony<Plucked>(), note: 45)[0]
        let spectrum = ToneSpectrum(Array(sound[4_800..<21_184]), sampleRate: 48_000)
        let range = Int(90 / spectrum.binWidth)...Int(130 / spectrum.binWidth)
        let top = range.max { spectrum.bins[$0] < spectrum.bins[$1] } ?? 0
        #expect(abs(Double(top) * spectrum.binWidth - 110) < spectrum.binWidth)
    }

    @Test("The article shows these voices, word for word")
    func words() throws {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let catalogue = root.appending(path: "Sources/RenderStack/RenderStack.docc/Voices.md")
        let article = try String(contentsOf: catalogue, encoding: .utf8)
        let voices = here.deletingLastPathComponent().appending(path: "ArticleVoices.swift")
        let source = try String(contentsOf: voices, encoding: .utf8)
        for block in source.components(separatedBy: "// MARK: ").dropFirst() {
            let code = block.drop { $0 != "\n" }.trimmingCharacters(in: .newlines)
            #expect(article.contains(code), "Voices.md does not have the voice \(block.prefix { $0 != "\n" })")
        }
    }
}
