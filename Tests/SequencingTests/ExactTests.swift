import Foundation
import RenderStack
import TestSupport
import Testing

/// Random scripts, played with cycles of random lengths, beside a model in exact fractions: Model/model.py.
@Suite struct ExactTests {
    struct Part: Codable {
        var start: [Int]
        var length: [Int]
        var number: Double
    }
    struct Piece: Codable {
        var events: [Part]
        var length: [Int]
    }
    struct Action: Codable {
        var frame: Int
        var kind: String
        var beat: [Int]?
        var tempo: String?
        var loop: [[Int]]?
        var track: Int?
        var muted: Bool?
        var clip: Piece?
    }
    struct Played: Codable {
        var frame: Int64
        var kind: String
        var number: Double
    }
    struct Script: Codable {
        var rate: Int
        var tempo: String
        var frames: Int
        var clips: [Piece]
        var actions: [Action]
        var played: [Played] = []
    }

    static func pair(_ number: Fraction) -> [Int] { [number.numerator, number.denominator] }

    static func piece(_ random: inout SplitMix) -> (Piece, Clip) {
        let length = Fraction(Int.random(in: 1...24, using: &random), [1, 2, 3][Int.random(in: 0..<3, using: &random)])
        var clip = Clip(length: length)
        var parts: [Part] = []
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let denominator = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 480].randomElement(using: &random) ?? 1
            let start = Fraction(Int.random(in: 0..<(24 * denominator), using: &random), denominator).remainder(
                by: length)
            let duration = Fraction(Int.random(in: 1...200, using: &random), 48)
            let number = Double(Int.random(in: 30...90, using: &random))
            clip.events.append(
                MusicEvent(.note(Note(word: "\(Int(number))", number: number)), at: start, length: duration))
            parts.append(Part(start: pair(start), length: pair(duration), number: number))
        }
        return (Piece(events: parts, length: pair(length)), clip)
    }

    /// Makes a script, plays it, and writes down what was played.
    static func script(seed: UInt64, frames: Int) throws -> Script {
        var random = SplitMix(state: seed)
        let rate = [44_100, 48_000, 96_000].randomElement(using: &random) ?? 48_000
        let tempos = ["120", "97", "133.5", "61.25", "240", "3", "999"]
        let takes = Takes()
        let pieces = (0..<3).map { _ in piece(&random) }
        let tracks = pieces.enumerated().map { Track("\($0.offset)", $0.element.1, to: takes) }
        let sequencer = Sequencer(tracks: tracks)
        let renderer = try Renderer(sampleRate: Double(rate)) { context in
            context.run(sequencer)
            context.push()
            context.output()
        }
        var script = Script(rate: rate, tempo: "120", frames: frames, clips: pieces.map(\.0), actions: [])
        var times = Set<Int>()
        while times.count < 40 { times.insert(Int.random(in: 1..<frames, using: &random)) }
        var todo: [(Int, () throws -> Void)] = []
        for (index, frame) in times.sorted().enumerated() {
            var action = Action(frame: frame, kind: "")
            let time = RenderTime.sample(Int64(frame))
            let beat = Fraction(Int.random(in: 0...480, using: &random), 12)
            switch index == 0 ? 0 : Int.random(in: 0...9, using: &random) {
            case 0, 1:
                (action.kind, action.beat) = ("start", pair(beat))
                todo.append((frame, { sequencer.start(at: .at(time), from: beat) }))
            case 2:
                action.kind = "stop"
                todo.append((frame, { sequencer.stop(at: .at(time)) }))
            case 3, 4:
                (action.kind, action.beat) = ("locate", pair(beat))
                todo.append((frame, { sequencer.locate(beat, at: .at(time)) }))
            case 5, 6:
                let tempo = tempos.randomElement(using: &random) ?? "120"
                (action.kind, action.tempo) = ("tempo", tempo)
                todo.append(
                    (
                        frame,
                        { try renderer.transaction(at: time) { renderer.tempo.beatsPerMinute = Double(tempo) ?? 120 } }
                    ))
            case 7:
                action.kind = "loop"
                let end = beat + Fraction(Int.random(in: 1...96, using: &random), 12)
                let isOn = Bool.random(using: &random)
                if isOn { action.loop = [pair(beat), pair(end)] }
                todo.append(
                    (frame, { try renderer.transaction(at: time) { sequencer.loop = isOn ? beat..<end : nil } }))
            case 8:
                let (track, muted) = (Int.random(in: 0..<3, using: &random), Bool.random(using: &random))
                (action.kind, action.track, action.muted) = ("mute", track, muted)
                todo.append((frame, { try renderer.transaction(at: time) { tracks[track].isMuted = muted } }))
            default:
                let (track, (piece, clip)) = (Int.random(in: 0..<3, using: &random), piece(&random))
                (action.kind, action.track, action.clip) = ("replace", track, piece)
                todo.append((frame, { try renderer.transaction(at: time) { tracks[track].replace(with: clip) } }))
            }
            script.actions.append(action)
        }
        // Each is sent before its time, in the cycle before or long ahead.
        var (done, next) = (0, 0)
        while done < frames {
            let cycle = min([1, 13, 64, 127, 256, 1_000, 4_096].randomElement(using: &random) ?? 64, frames - done)
            while next < todo.count, todo[next].0 < done + cycle {
                try todo[next].1()
                next += 1
            }
            _ = renderer.renderOffline(frames: cycle, cycle: cycle)
            done += cycle
        }
        script.played = takes.entries.map {
            Played(frame: $0.frame, kind: $0.kind == .on ? "on" : "off", number: Double($0.number))
        }
        #expect(sequencer.lostCount == 0 && sequencer.lateCount == 0)
        return script
    }

    @Test("Random starts, stops, places, loops, tempos, edits: every note on the frame of a model in exact fractions")
    func model() throws {
        let count = Int(ProcessInfo.processInfo.environment["RENDERSTACK_SCRIPTS"] ?? "") ?? 40
        let scripts = try (0..<count).map { try Self.script(seed: UInt64($0), frames: 400_000) }
        let file = FileManager.default.temporaryDirectory.appending(path: "scripts-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try JSONEncoder().encode(scripts).write(to: file)
        let model = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Model/model.py").path
        let (said, status) = try Program("/usr/bin/python3", [model, file.path]).wait()
        #expect(status == 0, "\(said)")
    }
}
