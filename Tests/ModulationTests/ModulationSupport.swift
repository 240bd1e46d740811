import Foundation
import RenderStack
import TestSupport
import Testing

/// A renderer that plays samples through an effect.
func renderer(
    _ input: [[Float]], through effect: some Effect, sampleRate: Double = 48_000, channels: Int? = nil
) throws -> Renderer {
    let source = Playback(input)
    let layout = StackLayout(slots: 8, channels: max(8, input.count), frames: 512)
    return try Renderer(sampleRate: sampleRate, channels: channels ?? input.count, layout: layout) { context in
        context.run(source)
        context.run(effect)
        context.output()
    }
}

/// Returns the samples that an effect makes of others.
func play(
    _ input: [[Float]], through effect: some Effect, sampleRate: Double = 48_000, frames: Int? = nil,
    cycles: [Int] = [512], channels: Int? = nil
) throws -> [[Float]] {
    let renderer = try renderer(input, through: effect, sampleRate: sampleRate, channels: channels)
    return render(renderer, frames: frames ?? input[0].count, cycles: cycles)
}

/// White noise, always the same.
func noise(_ count: Int, seed: UInt64 = 1, level: Float = 0.5) -> [Float] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (Float(UInt32(truncatingIfNeeded: state &>> 40)) / 0x1p23 - 1) * level
    }
}

/// A sine of exact phase.
func sine(_ count: Int, frequency: Double, sampleRate: Double = 48_000, level: Double = 0.5) -> [Float] {
    (0..<count).map { Float(level * sin(2 * .pi * frequency * Double($0) / sampleRate)) }
}

/// One sample of 1, then silence.
func impulse(_ count: Int) -> [Float] { [1] + [Float](repeating: 0, count: count - 1) }

/// Samples of one value.
func constant(_ value: Float, _ count: Int) -> [Float] { [Float](repeating: value, count: count) }

/// The gain of an impulse's answer at a frequency.
func gain(_ answer: [Float], at frequency: Double, sampleRate: Double = 48_000) -> Double {
    var (re, im) = (0.0, 0.0)
    for (i, sample) in answer.enumerated() {
        let angle = 2 * Double.pi * frequency / sampleRate * Double(i)
        re += Double(sample) * cos(angle)
        im -= Double(sample) * sin(angle)
    }
    return (re * re + im * im).squareRoot()
}
