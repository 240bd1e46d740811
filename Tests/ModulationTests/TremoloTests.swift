import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct TremoloTests {
    @Test("The gain is 1 - depth (1 - wave) / 2, on both sides, at any rate")
    func curve() throws {
        for (rate, depth, phase) in [(5.0, 0.5, 0.0), (0.7, 1, 0.25), (33, 0.8, -0.5)] {
            let tremolo = Tremolo(rate: Float(rate), depth: Float(depth), stereoPhase: Float(phase))
            let ones = constant(1, 48_000)
            let output = try play([ones, ones], through: tremolo)
            var worst = 0.0
            for (side, ahead) in [0, phase].enumerated() {
                for i in 0..<48_000 {
                    let turns: Double = Double(Float(rate)) * Double(i) / 48_000 + ahead
                    let gain: Double = 1 - depth * (0.5 - 0.5 * sin(2 * .pi * turns))
                    worst = max(worst, abs(Double(output[side][i]) - gain))
                }
            }
            #expect(worst < 1e-6)
        }
    }

    @Test("Triangle and square have their courses, and a square's jump takes 2 ms")
    func shapes() throws {
        let ones = [constant(1, 9_600)]
        let triangle = try play(ones, through: Tremolo(.triangle, rate: 10, depth: 1))[0]
        for (frame, gain) in [(0, 0.5), (600, 0.75), (1_200, 1), (2_400, 0.5), (3_600, 0), (4_800, 0.5)] {
            #expect(abs(Double(triangle[frame]) - gain) < 1e-5)
        }
        let square = try play(ones, through: Tremolo(.square, rate: 10, depth: 1))[0]
        #expect(square[200] == 1 && square[2_300] == 1 && square[2_600] == 0 && square[4_700] == 0)
        let steps = zip(square, square.dropFirst()).map { abs($1 - $0) }
        #expect((steps.max() ?? 1) < 1 / 95)
    }

    @Test("By beats it is on the beat, and a new tempo makes no click")
    func beats() throws {
        let tremolo = Tremolo(beats: 0.5, depth: 1)
        let renderer = try renderer([constant(1, 96_000)], through: tremolo)
        try renderer.transaction(at: .sample(50_000)) { renderer.tempo.beatsPerMinute = 93 }
        let output = render(renderer, frames: 96_000)[0]
        var worst = 0.0
        for i in 0..<50_000 {
            let gain: Double = 0.5 + 0.5 * sin(2 * .pi * Double(i) / 12_000)
            worst = max(worst, abs(Double(output[i]) - gain))
        }
        #expect(worst < 1e-6)
        // The steepest slope of the wave is π / 12,000 a frame.
        #expect(zip(output, output.dropFirst()).allSatisfy { abs($1 - $0) < 3e-4 })
    }

    @Test("A transport that is moved takes 40 ms to be followed")
    func leap() throws {
        let tremolo = Tremolo(beats: 4, depth: 1)
        let renderer = try renderer([constant(1, 48_000)], through: tremolo)
        try renderer.transaction(at: .sample(10_000)) { renderer.tempo.position = 100.3 }
        let output = render(renderer, frames: 48_000)[0]
        #expect(zip(output, output.dropFirst()).allSatisfy { abs($1 - $0) < 2e-3 })
        let beat: Double = 100.3 + 10_000.0 / 24_000
        let gain: Double = 0.5 + 0.5 * sin(2 * .pi * beat / 4)
        #expect(abs(Double(output[20_000]) - gain) < 1e-5)
    }
}
