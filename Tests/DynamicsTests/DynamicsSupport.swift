import Foundation
import RenderStack
import TestSupport
import Testing

/// A renderer that plays samples through a module; with a key it lies below, and is thrown away.
func renderer(
    _ input: [[Float]], key: [[Float]]? = nil, through module: some Module, sampleRate: Double = 48_000,
    keepsKey: Bool = false
) throws -> Renderer {
    let (source, other) = (Playback(input), Playback(key ?? [[0]]))
    let hasKey = key != nil
    let layout = StackLayout(slots: 8, channels: max(8, input.count, key?.count ?? 0), frames: 512)
    return try Renderer(sampleRate: sampleRate, channels: input.count, layout: layout) { context in
        if hasKey { context.run(other) }
        context.run(source)
        context.run(module)
        if keepsKey { context.pop() }
        context.output()
    }
}

/// Returns the samples that a module makes of others.
func play(
    _ input: [[Float]], key: [[Float]]? = nil, through module: some Module, sampleRate: Double = 48_000,
    frames: Int? = nil, cycles: [Int] = [512], keepsKey: Bool = false
) throws -> [[Float]] {
    let renderer = try renderer(input, key: key, through: module, sampleRate: sampleRate, keepsKey: keepsKey)
    let sound = render(renderer, frames: frames ?? input[0].count, cycles: cycles)
    #expect(renderer.faultCount == 0)
    return sound
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

/// The factor of a level in dB.
func factor(_ decibels: Double) -> Double { pow(10, decibels / 20) }

/// The level of a factor in dB.
func decibels(_ factor: Float) -> Double { 20 * log10(Double(abs(factor))) }

/// The reduction in dB that the formula gives for what is above a threshold by so many dB (Giannoulis, Massberg, Reiss).
func reduction(over: Double, slope: Double, knee: Double) -> Double {
    if 2 * over < -knee { return 0 }
    if 2 * over <= knee && knee > 0 { return slope * (over + knee / 2) * (over + knee / 2) / (2 * knee) }
    return slope * max(over, 0)
}

/// The energy above 10 kHz in dB, over whole windows of 2,048 samples, the loudest of them.
func energyAbove10kHz(_ samples: [Float], sampleRate: Double = 48_000) -> Double {
    let size = 2_048
    var worst = 0.0
    var start = 0
    let weights = (0..<size).map { i -> Double in
        let turn = 2 * Double.pi * Double(i) / Double(size)
        return 0.35875 - 0.48829 * cos(turn) + 0.14128 * cos(2 * turn) - 0.01168 * cos(3 * turn)
    }
    var fft = RealFFT(size: size)
    while start + size <= samples.count {
        let frames = (0..<size).map { Float(Double(samples[start + $0]) * weights[$0]) }
        var real = [Float](repeating: 0, count: size / 2 + 1)
        var imaginary = real
        var realSpan = real.mutableSpan
        var imaginarySpan = imaginary.mutableSpan
        fft.forward(Samples(frames.span), real: &realSpan, imaginary: &imaginarySpan)
        let first = Int((10_000 / sampleRate * Double(size)).rounded(.up))
        var energy = 0.0
        for bin in first...(size / 2) {
            energy += Double(real[bin]) * Double(real[bin]) + Double(imaginary[bin]) * Double(imaginary[bin])
        }
        worst = max(worst, energy)
        start += size / 4
    }
    return 10 * log10(worst + 1e-30)
}
