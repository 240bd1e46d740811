import Foundation
import RenderStack
import TestSupport

func renderer(_ input: [[Float]], through effect: some Module, sampleRate: Double = 48_000) throws -> Renderer {
    let source = Playback(input)
    let layout = StackLayout(slots: 8, channels: max(2, input.count), frames: 512)
    return try Renderer(sampleRate: sampleRate, channels: input.count, layout: layout) { context in
        context.run(source)
        context.run(effect)
        context.output()
    }
}

/// Returns the samples that an effect makes of others.
func play(
    _ input: [[Float]], through effect: some Module, sampleRate: Double = 48_000, frames: Int? = nil,
    cycles: [Int] = [512]
) throws -> [[Float]] {
    let renderer = try renderer(input, through: effect, sampleRate: sampleRate)
    return render(renderer, frames: frames ?? input[0].count, cycles: cycles)
}

func sine(_ count: Int, frequency: Double, level: Double, phase: Double = 0) -> [Float] {
    (0..<count).map { i in
        let turns = (frequency * Double(i) / 48_000).truncatingRemainder(dividingBy: 1)
        return Float(level * sin(2 * Double.pi * turns + phase))
    }
}

func noise(_ count: Int, seed: UInt64 = 1, level: Float = 0.5) -> [Float] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (Float(UInt32(truncatingIfNeeded: state &>> 40)) / 0x1p23 - 1) * level
    }
}

/// The magnitude of samples' spectrum at a frequency of 48,000, without a window.
func magnitude(_ samples: ArraySlice<Float>, _ frequency: Double) -> Double {
    var (re, im) = (0.0, 0.0)
    for (i, sample) in samples.enumerated() where sample != 0 {
        let turns: Double = (frequency / 48_000 * Double(i)).truncatingRemainder(dividingBy: 1)
        re += Double(sample) * cos(2 * Double.pi * turns)
        im += Double(sample) * sin(2 * Double.pi * turns)
    }
    return (re * re + im * im).squareRoot()
}

/// Returns the power below 20 kHz of a sound with a period of 48 frames at frequencies that are no multiples of 5 kHz,
/// against the power at those that are, in decibels.
func foldedBack(_ samples: [Float], from first: Int) -> Double {
    let period = samples[first..<first + 4_800]
    var (belongs, folded) = (0.0, 0.0)
    for line in 1..<20 {
        let level = magnitude(period, Double(line) * 1_000)
        if line % 5 == 0 { belongs += level * level } else { folded += level * level }
    }
    return 10 * log10(folded / belongs)
}

/// The largest deviation from 0 dB up to 16 kHz of an impulse's answer, as large as the impulse would be.
func unevenness(_ answer: [Float], _ impulse: Double) -> Double {
    stride(from: 100.0, through: 16_000, by: 300).reduce(0) { worst, frequency in
        max(worst, abs(20 * log10(magnitude(answer[...], frequency) / impulse)))
    }
}
