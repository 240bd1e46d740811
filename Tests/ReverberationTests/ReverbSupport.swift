import Foundation
import RenderStack
import TestSupport

/// A sound that goes through a reverb.
func roomRenderer(
    _ input: [[Float]], _ reverb: some Module, sampleRate: Double = 48_000, channels: Int? = nil, frames: Int = 4_096
) throws -> Renderer {
    let source = Playback(input)
    let channels = channels ?? max(2, input.count)
    let layout = StackLayout(slots: 8, channels: channels, frames: frames)
    return try Renderer(sampleRate: sampleRate, channels: channels, layout: layout) { context in
        context.run(source)
        context.run(reverb)
        context.output()
    }
}

/// Returns what a reverb makes of a sound.
func room(
    _ input: [[Float]], _ reverb: some Module, seconds: Double, sampleRate: Double = 48_000, channels: Int? = nil,
    cycles: [Int] = [4_096]
) throws -> [[Float]] {
    let renderer = try roomRenderer(input, reverb, sampleRate: sampleRate, channels: channels)
    return render(renderer, frames: Int(seconds * sampleRate), cycles: cycles)
}

/// Returns the answer of a reverb to an impulse on the left alone, or in mono.
func answer(
    _ reverb: Reverb, seconds: Double, sampleRate: Double = 48_000, isMono: Bool = false, height: Float = 1
) throws -> [[Float]] {
    try room(isMono ? [[height]] : [[height], [0]], reverb, seconds: seconds, sampleRate: sampleRate)
}

/// Returns the answers of new reverbs to impulses on either side, each at another turn of the modulation.
func answers(of make: () -> Reverb, seconds: Double, count: Int) throws -> [[Float]] {
    var all: [[Float]] = []
    for number in 0..<count {
        let pause = number * 11_111
        let impulse = [Float](repeating: 0, count: pause) + [1]
        let nothing = [Float](repeating: 0, count: pause + 1)
        let input = number.isMultiple(of: 2) ? [impulse, nothing] : [nothing, impulse]
        let heard = try room(input, make(), seconds: seconds + Double(pause + 1) / 48_000)
        all += heard.map { Array($0[pause..<pause + Int(seconds * 48_000)]) }
    }
    return all
}

/// A preset whose decay is the same at all frequencies, without early reflections.
func evenRoom(decay: Float, size: Float = 11.3, modulation: Float = 0.25) -> Reverb.Preset {
    Reverb.Preset(
        name: "even", decay: decay, lowRatio: 1, highRatio: 1, size: size, preDelay: 0, early: 0, modulation: modulation
    )
}

func chance(_ count: Int, seed: UInt64 = 1, level: Float = 0.5) -> [Float] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (Float(UInt32(truncatingIfNeeded: state &>> 40)) / 0x1p23 - 1) * level
    }
}

/// Returns the time in seconds at which the density of echoes first reaches 0.9: the share of samples beyond one standard
/// deviation, in a Hann window of 20 ms, against that of a Gaussian noise (Abel and Huang 2006).
func mixingTime(_ samples: [Float], sampleRate: Double = 48_000) -> Double {
    let half = Int(0.01 * sampleRate)
    let window = (-half...half).map { 0.5 + 0.5 * cos(Double.pi * Double($0) / Double(half + 1)) }
    let sum = window.reduce(0, +)
    for center in stride(from: 0, to: samples.count, by: 24) {
        var (power, share) = (0.0, 0.0)
        for (offset, weight) in window.enumerated() {
            let i = center + offset - half
            if i >= 0 && i < samples.count { power += weight * Double(samples[i]) * Double(samples[i]) }
        }
        let deviation = (power / sum).squareRoot()
        for (offset, weight) in window.enumerated() {
            let i = center + offset - half
            if i >= 0 && i < samples.count && Double(abs(samples[i])) > deviation { share += weight }
        }
        if deviation > 0 && share / sum / erfc(0.5.squareRoot()) >= 0.9 { return Double(center) / sampleRate }
    }
    return .infinity
}

/// Filters by band-passes of the second order, one after the other.
func band(_ samples: [Float], _ frequency: Double, q: Double, times: Int, sampleRate: Double = 48_000) -> [Double] {
    var output = samples.map(Double.init)
    let angle = 2 * Double.pi * frequency / sampleRate
    let alpha = sin(angle) / (2 * q)
    let (b, a1, a2) = (alpha / (1 + alpha), -2 * cos(angle) / (1 + alpha), (1 - alpha) / (1 + alpha))
    for _ in 0..<times {
        var (x1, x2, y1, y2) = (0.0, 0.0, 0.0, 0.0)
        for i in output.indices {
            let x = output[i]
            let y = b * (x - x2) - a1 * y1 - a2 * y2
            (x2, x1, y2, y1) = (x1, x, y1, y)
            output[i] = y
        }
    }
    return output
}

/// Returns the time in seconds of 60 dB, by the slope between two levels of the backward integral of energy (Schroeder 1965).
func decayTime(_ bands: [[Double]], from top: Double = -5, to bottom: Double = -30, sampleRate: Double = 48_000)
    -> Double
{
    var integral = [Double](repeating: 0, count: bands[0].count)
    var sum = 0.0
    for i in integral.indices.reversed() {
        for band in bands { sum += band[i] * band[i] }
        integral[i] = sum
    }
    var (n, sx, sy, sxx, sxy) = (0.0, 0.0, 0.0, 0.0, 0.0)
    for i in stride(from: 0, to: integral.count, by: 16) {
        let level = 10 * log10(integral[i] / sum)
        if level > top { continue }
        if level < bottom { break }
        let x = Double(i) / sampleRate
        (n, sx, sy, sxx, sxy) = (n + 1, sx + x, sy + level, sxx + x * x, sxy + x * level)
    }
    return -60 / ((n * sxy - sx * sy) / (n * sxx - sx * sx))
}

/// The energy of a part of a sound.
func energy(_ samples: ArraySlice<Float>) -> Double { samples.reduce(0) { $0 + Double($1) * Double($1) } }
