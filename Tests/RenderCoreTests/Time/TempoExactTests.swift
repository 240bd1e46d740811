import Foundation
import TestSupport
import Testing

@testable import RenderCore

/// The quarters of beats that fall into a cycle, noted with their frames.
private final class Quarters: Module, @unchecked Sendable {
    // Unchecked because the test renders and reads by turns.
    private let words = UnsafeMutableBufferPointer<Int64>.allocate(capacity: 1 << 18)
    private var count = 0

    var stackEffect: StackEffect { StackEffect(pops: 0, pushes: 0) }

    deinit { words.deallocate() }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        if context.isDryRun { return }
        var ticks = context.ticks(every: 0.25)
        while let tick = ticks.next(), count + 1 < words.count {
            words[count] = Int64(4 * tick.position)
            words[count + 1] = context.sampleTime + Int64(tick.frame)
            count += 2
        }
    }

    /// The numbers of the quarters and their frames.
    var heard: [[Int64]] { stride(from: 0, to: count, by: 2).map { [words[$0], words[$0 + 1]] } }
}

/// Random tempos, ramps, maps and places beside a model in decimals of 60 digits: Model/tempo.py.
@Suite struct TempoExactTests {
    struct Point: Codable {
        var beat: String
        var tempo: String
        var shape: String
    }
    struct Action: Codable {
        var frame: Int
        var kind: String
        var tempo: String?
        var beats: String?
        var seconds: String?
        var shape: String?
        var beat: String?
        var points: [Point]?
    }
    struct Script: Codable {
        var rate: Int
        var frames: Int
        var actions: [Action] = []
        var heard: [[Int64]] = []
    }

    static func points(_ random: inout SplitMix) -> [Point] {
        var beat = Double(Int.random(in: 0...16, using: &random)) / 4
        return (0..<Int.random(in: 1...12, using: &random)).map { _ in
            // Two at one beat now and then.
            beat += Double(Int.random(in: 0...40, using: &random)) / 16
            let shapes = TempoMap.Shape.allCases
            return Point(
                beat: "\(beat)", tempo: tempo(&random), shape: shapes[Int.random(in: 0..<3, using: &random)].rawValue)
        }
    }

    static func tempo(_ random: inout SplitMix) -> String {
        "\(Double(Int.random(in: 8...7_992, using: &random)) / 8)"
    }

    static func map(_ points: [Point]) throws -> TempoMap {
        TempoMap(
            try points.map {
                .init(
                    at: try #require(Double($0.beat)), try #require(Double($0.tempo)),
                    try #require(.init(rawValue: $0.shape)))
            })
    }

    static func script(seed: UInt64, frames: Int) throws -> Script {
        var random = SplitMix(state: seed)
        let rate = [8_000, 44_100, 48_000, 96_000].randomElement(using: &random) ?? 48_000
        var script = Script(rate: rate, frames: frames)
        let quarters = Quarters()
        let renderer = try Renderer(sampleRate: Double(rate)) { context in
            context.run(quarters)
            context.push()
            context.output()
        }
        var times = Set<Int>()
        while times.count < 20 { times.insert(Int.random(in: 1..<frames, using: &random)) }
        for frame in times.sorted() {
            var action = Action(frame: frame, kind: "")
            let time = RenderTime.sample(Int64(frame))
            let tempo = renderer.tempo
            let shape = TempoMap.Shape.allCases[Int.random(in: 1...2, using: &random)]
            let number = Self.tempo(&random)
            let target = try #require(Double(number))
            switch Int.random(in: 0...5, using: &random) {
            case 0:
                (action.kind, action.tempo) = ("tempo", number)
                try renderer.transaction(at: time) { tempo.beatsPerMinute = target }
            case 1:
                let beats = Double(Int.random(in: 1...200, using: &random)) / 16
                (action.kind, action.tempo, action.beats, action.shape) = ("ramp", number, "\(beats)", shape.rawValue)
                try renderer.transaction(at: time) { tempo.ramp(to: target, beats: beats, shape: shape) }
            case 2:
                let seconds = Double(Int.random(in: 1...200, using: &random)) / 64
                (action.kind, action.tempo, action.seconds, action.shape) = (
                    "ramp", number, "\(seconds)", shape.rawValue
                )
                try renderer.transaction(at: time) { tempo.ramp(to: target, seconds: seconds, shape: shape) }
            case 3:
                let beat = Double(Int.random(in: 0...2_000, using: &random)) / 32
                (action.kind, action.beat) = ("position", "\(beat)")
                try renderer.transaction(at: time) { tempo.position = beat }
            default:
                let points = points(&random)
                let map = try map(points)
                (action.kind, action.points) = ("map", points)
                try renderer.transaction(at: time) { tempo.map = map }
            }
            script.actions.append(action)
        }
        var done = 0
        while done < frames {
            let cycle = min([1, 13, 64, 127, 256, 1_000, 4_096].randomElement(using: &random) ?? 64, frames - done)
            _ = renderer.renderOffline(frames: cycle, cycle: cycle)
            done += cycle
        }
        script.heard = quarters.heard
        return script
    }

    @Test("Tempos, ramps, maps and places: each quarter of a beat on the frame of a model in decimals of 60 digits")
    func model() throws {
        let count = Int(ProcessInfo.processInfo.environment["RENDERSTACK_SCRIPTS"] ?? "") ?? 30
        let scripts = try (0..<count).map { try Self.script(seed: UInt64($0), frames: 300_000) }
        let file = FileManager.default.temporaryDirectory.appending(path: "tempos-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try JSONEncoder().encode(scripts).write(to: file)
        let model = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Model/tempo.py").path
        let (said, status) = try Program("/usr/bin/python3", [model, file.path]).wait()
        #expect(status == 0, "\(said)")
    }
}
