import Foundation
public import RenderStack

/// The energy above 10 kHz that a parameter makes when it leaves an end of its range, or 0, under a tone of 150 Hz, in dB below the
/// tone's. What was off begins there, in the middle of a wave.
public struct Departure: Sendable, CustomStringConvertible {
    /// The module, the parameter, and its values.
    public let name: String
    /// That of the two settings, each at rest.
    public let fixed: Double
    /// That from the change on, until all echoes have come.
    public let moving: Double
    /// The glide by which the change arrives.
    public let glide: Parameter.Curve

    /// The figures and the name, in a line.
    public var description: String { String(format: "%7.1f %7.1f  %@", fixed, moving, name) }

    /// The frame of the change, at a crest of the tone, and that from which on all is at rest.
    private static let (change, rest) = (14_480, 33_000)
    private static let period = 320

    /// Measures all parameters of a module: from the least value, and from 0, to the greatest and to the one that it was made with.
    public static func all<M: Module>(_ label: String, leavingOut others: [String] = [], _ make: () throws -> M) throws
        -> [Departure]
    {
        try make().parameters.enumerated().filter { !others.contains($1.name) }.flatMap { index, parameter in
            let (low, high) = (parameter.range.lowerBound, parameter.range.upperBound)
            return try Set([low, low < 0 && high > 0 ? 0 : low]).sorted().flatMap { start in
                try Set([high, parameter.value]).sorted().filter { $0 != start }.map { goal in
                    try measure(label, index, from: start, to: goal, make)
                }
            }
        }
    }

    private static func measure<M: Module>(
        _ label: String, _ index: Int, from start: Float, to goal: Float, _ make: () throws -> M
    ) throws -> Departure {
        let module = try make()
        let parameter = module.parameters[index]
        parameter.value = start
        let tones = (0..<module.stackEffect.pops).map { _ in Sweep.Tone(channels: 2, period: period) }
        let renderer = try Renderer(layout: StackLayout(slots: 16, channels: 8, frames: 512)) { context in
            context.forEach(tones) { context, tone in context.run(tone) }
            context.run(module)
            context.outputAll()
        }
        try renderer.transaction(at: .sample(Int64(change))) { parameter.value = goal }
        var (fixed, moving) = (-300.0, -300.0)
        for channel in render(renderer, frames: rest + 4_096) {
            for (frame, decibels) in Sweep.highEnergies(channel) where frame > 8_000 {
                if frame + 2_048 < change || frame > rest {
                    fixed = max(fixed, decibels)
                } else {
                    moving = max(moving, decibels)
                }
            }
        }
        return Departure(
            name: "\(label).\(parameter.name) from \(start) to \(goal)", fixed: fixed, moving: moving,
            glide: parameter.glide)
    }
}
