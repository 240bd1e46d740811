import Foundation
public import RenderStack

/// The energy above 10 kHz that a parameter makes under a tone of 1 kHz, at fixed settings and on its way, in dB below the
/// tone's.
public struct Sweep: Sendable, CustomStringConvertible {
    /// The module and the parameter.
    public let name: String
    /// That of the worst fixed setting.
    public let fixed: Double
    /// That of the way from end to end at once, with the parameter's own glide.
    public let atOnce: Double
    /// That of a way in 70 steps.
    public let slowly: Double

    /// The three figures and the name, in a line.
    public var description: String {
        let numbers = [fixed, atOnce, slowly].map { String(format: "%7.1f", $0) }.joined(separator: " ")
        return "\(numbers)  \(name)"
    }

    /// The noise that the rounding of the output to a `Float`, and of a gain that moves, adds to the tone: it moves too, while the
    /// rounding of a tone that rests is the same in each turn.
    public static let rounding = -158.0

    /// Indicates whether the parameter on its way makes at most 6 dB more than at the worst fixed setting.
    public func isClean(over floor: Double = Sweep.rounding) -> Bool { max(atOnce, slowly) <= max(fixed, floor) + 6 }

    /// Measures all parameters of a module that edits the top.
    public static func all<M: Module>(
        _ label: String, channels: Int = 1, fixedFrames: Int = 96_000, leavingOut others: [String] = [], _ make: () -> M
    ) throws -> [Sweep] {
        try make().parameters.indices.compactMap { index in
            let parameter = make().parameters[index]
            if others.contains(parameter.name) { return nil }
            let (low, high) = (parameter.range.lowerBound, min(parameter.range.upperBound, 23_000))
            let isFrequency = parameter.unit == .hertz && low > 0
            func value(_ share: Float) -> Float {
                isFrequency ? low * pow(high / low, share) : low + (high - low) * share
            }
            func measured(_ values: [(frame: Int, value: Float)]) throws -> Double {
                let module = make()
                let parameter = module.parameters[index]
                parameter.value = values[0].value
                let tone = Tone(channels: channels)
                let renderer = try Renderer(
                    sampleRate: 48_000, channels: channels, layout: StackLayout(slots: 8, channels: 8, frames: 512)
                ) { context in
                    context.run(tone)
                    context.run(module)
                    context.output()
                }
                for (frame, value) in values.dropFirst() {
                    try renderer.transaction(at: .sample(Int64(frame))) { parameter.value = value }
                }
                return highEnergy(render(renderer, frames: values.count == 1 ? fixedFrames : 96_000)[channels - 1])
            }
            let fixed = try (0...12).map { try measured([(0, value(Float($0) / 12))]) }.max() ?? 0
            var slow: [(frame: Int, value: Float)] = []
            for step in 0...140 {
                let share = Float(step <= 70 ? step : 140 - step) / 70
                slow.append((9_600 + 512 * step, value(share)))
            }
            return Sweep(
                name: "\(label).\(parameter.name)", fixed: fixed,
                atOnce: try measured([(0, low), (30_000, high), (60_000, low)]), slowly: try measured([(0, low)] + slow)
            )
        }
    }

    /// The energy above 10 kHz in the loudest of the windows of 2,048 frames from a frame on.
    ///
    /// - Parameter first: The frame; by default it leaves out 0.1 s, in which the tone begins.
    public static func highEnergy(_ samples: [Float], from first: Int = 4_800) -> Double {
        highEnergies(samples).filter { $0.frame >= first }.map(\.decibels).max() ?? -300
    }

    /// The energy above 10 kHz in windows of 2,048 frames, behind a high-pass filter of 16 poles, in double precision.
    public static func highEnergies(_ samples: [Float]) -> [(frame: Int, decibels: Double)] {
        var sound = samples.map(Double.init)
        let poles = 16
        for section in 0..<(poles / 2) {
            let q = 1 / (2 * cos(Double.pi * Double(2 * section + 1) / Double(2 * poles)))
            let w = 2 * Double.pi * 10_000 / 48_000
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
        return stride(from: 0, through: sound.count - 2_048, by: 512).map { start in
            let energy: Double = sound[start..<start + 2_048].reduce(0) { $0 + $1 * $1 }
            return (start, 10 * log10(max(energy, 1e-30) / (2_048 * 0.125)))
        }
    }

    /// A sine at -6 dB, of 1 kHz or of another period in frames.
    final class Tone: Generator {
        private struct Place: ~Copyable, Sendable {
            var turn: RenderMemory<Float>
            var position = 0

            init(_ period: Int) {
                turn = RenderMemory(repeating: 0, count: period)
                for i in 0..<period { turn[i] = Float(0.5 * sin(2 * Double.pi * Double(i) / Double(period))) }
            }
        }
        private let place: RenderState<Place>
        private let channels: Int
        private let period: Int

        init(channels: Int, period: Int = 48) {
            self.channels = channels
            self.period = period
            place = RenderState(Place(period))
        }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            context.push(channels: channels)
            let period = period
            place.with(&context) { place, context in
                let start = place.position
                var top = context.top
                for channel in 0..<top.channelCount {
                    var samples = top[channel]
                    for i in samples.indices { samples[i] = place.turn[(start + i) % period] }
                }
                place.position = (start + context.frameCount) % period
            }
        }
    }
}
