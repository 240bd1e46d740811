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

/// Runs a program of Python with numpy and scipy on samples, and returns the lines that it prints.
///
/// The program finds its samples in `data`, a list of float32 arrays, and `json` in `settings`.
func python(_ program: String, data: [[Float]], settings: String = "null") throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.path + "/filters-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (number, samples) in data.enumerated() {
        let bytes = samples.flatMap { sample in
            (0..<4).map { UInt8(truncatingIfNeeded: sample.bitPattern >> (8 * UInt32($0))) }
        }
        try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(number)"))
    }
    let head = """
        import json, sys
        import numpy as np
        from scipy import optimize, signal
        data = [np.fromfile(f"\(folder)/{i}", dtype="<f4") for i in range(\(data.count))]
        settings = json.loads(open("\(folder)/settings").read())

        """
    try settings.write(toFile: folder + "/settings", atomically: false, encoding: .utf8)
    try (head + program).write(toFile: folder + "/program.py", atomically: false, encoding: .utf8)
    let errors = folder + "/errors"
    let (output, status) = try Program(
        "/usr/bin/python3", [folder + "/program.py"], seconds: nil, errors: errors
    ).wait()
    let said = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
    try #require(status == 0, "python3 failed: it needs numpy and scipy: \(said)")
    return output.split(separator: "\n").map(String.init)
}
