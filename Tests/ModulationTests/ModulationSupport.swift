import Foundation
import RenderStack
import TestSupport
import Testing

/// Plays samples once, then silence.
final class Playback: Generator {
    private struct Line: ~Copyable, Sendable {
        var samples: RenderMemory<Float>
        let channels: Int
        let frames: Int
        var position = 0

        init(_ input: [[Float]]) {
            channels = input.count
            frames = input[0].count
            samples = RenderMemory(repeating: 0, count: channels * frames)
            var all = samples.span
            for (i, sample) in input.joined().enumerated() { all[i] = sample }
        }
    }
    private let line: RenderState<Line>
    private let channels: Int

    init(_ input: [[Float]]) {
        line = RenderState(Line(input))
        channels = input.count
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: channels)
        line.with(&context) { line, context in
            let (channels, frames, position) = (line.channels, line.frames, line.position)
            let count = min(frames - position, context.frameCount)
            line.position += count
            var top = context.top
            for channel in 0..<channels {
                var samples = top[channel]
                for i in 0..<count { samples[i] = line.samples[channel * frames + position + i] }
            }
        }
    }
}

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

/// The energy of samples above 10 kHz in decibels: they pass a steep high-pass filter (eight poles) in double precision.
func energyAbove10kHz(_ samples: [Float], sampleRate: Double = 48_000) -> Double {
    var sound = samples.map(Double.init)
    for q in [0.50979558, 0.60134489, 0.89997622, 2.56291545] {
        let w = 2 * Double.pi * 10_000 / sampleRate
        let alpha = sin(w) / (2 * q)
        let (b, a0) = ((1 + cos(w)) / 2, 1 + alpha)
        var (x1, x2, y1, y2) = (0.0, 0.0, 0.0, 0.0)
        for i in sound.indices {
            let x = sound[i]
            let y = (b * (x - 2 * x1 + x2) + 2 * cos(w) * y1 - (1 - alpha) * y2) / a0
            (x1, x2, y1, y2) = (x, x1, y, y1)
            sound[i] = y
        }
    }
    // Without the beginning of the sine, which is a corner itself.
    let energy = sound.dropFirst(4_800).reduce(0) { $0 + $1 * $1 }
    return 10 * log10(energy + 1e-20)
}
