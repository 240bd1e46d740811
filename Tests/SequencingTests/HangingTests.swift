import Foundation
import RenderStack
import TestSupport
import Testing

/// Every note that begins ends once, whatever happens to the song and the tracks, and whatever the target refuses.
@Suite struct HangingTests {
    /// A target that refuses now and then, and counts.
    final class Refusing: NoteTarget, @unchecked Sendable {
        let hasKeys: Bool
        private var open: [Int: Float] = [:]
        private var random = SplitMix(state: 7)
        private(set) var (begun, ended, wrong) = (0, 0, 0)
        private(set) var doubled = 0
        var isKind = false

        init(hasKeys: Bool) { self.hasKeys = hasKeys }

        func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
            if frame < 0 || frame >= context.frameCount { wrong += 1 }
            if !isKind && random.next() % 7 == 0 { return false }
            if hasKeys && open.values.contains(note.number) { doubled += 1 }
            if open.updateValue(note.number, forKey: note.voice) != nil { wrong += 1 }
            begun += 1
            return true
        }

        func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
            if frame < 0 || frame >= context.frameCount { wrong += 1 }
            if !isKind && !hasKeys && random.next() % 5 == 0 { return false }
            if open.removeValue(forKey: note.voice) == nil { wrong += 1 }
            ended += 1
            return true
        }

        var hanging: Int { open.count }
    }

    @Test("Random edits of everything: no note hangs, none ends twice, no key sounds twice", arguments: [false, true])
    func edits(hasKeys: Bool) throws {
        let target = Refusing(hasKeys: hasKeys)
        var random = SplitMix(state: hasKeys ? 1 : 2)
        let texts = [
            "1 2 3 4", "[1 2]*3 ~ 5?", "60(5,8)", "1*32", "<1 2 3>/2 [4,5,6]", "~", "[", "1 2 3@5 _ 4!3", "{1 2 3}%4",
            "60 . 61",
        ]
        let tracks = texts.map { Track($0, Pattern($0), to: target) }
        let sequencer = Sequencer(tracks: tracks)
        let renderer = try Renderer(sampleRate: 48_000) { context in
            context.run(sequencer)
            context.push()
            context.output()
        }
        let edits = Int(ProcessInfo.processInfo.environment["RENDERSTACK_EDITS"] ?? "") ?? 600
        for _ in 0..<edits {
            let (track, number) = (tracks.randomElement(using: &random), Int.random(in: -40...400, using: &random))
            let beat = Fraction(number, Int.random(in: 1...7, using: &random))
            let moments: [Moment] = [.now, .nextBeat, .nextBar, .next(beat), .at(.now + .milliseconds(number))]
            let moment = moments.randomElement(using: &random) ?? .now
            switch Int.random(in: 0...16, using: &random) {
            case 0, 1: sequencer.start(at: moment, from: Bool.random(using: &random) ? beat : nil)
            case 2: sequencer.stop(at: moment)
            case 3: sequencer.locate(beat, at: moment)
            case 4:
                sequencer.loop =
                    Bool.random(using: &random)
                    ? beat..<(beat + Fraction(Int.random(in: 0...70, using: &random), 8)) : nil
            case 5: track?.isMuted.toggle()
            case 6: track?.isSoloed.toggle()
            case 7: track?.rate = beat
            case 8: track?.offset = beat
            case 9: track?.loop = Bool.random(using: &random) ? beat : nil
            case 10: track?.launch(at: moment)
            case 11: track?.stop(at: moment)
            case 12: track?.rejoin(at: moment)
            case 13: track?.replace(with: Pattern(texts.randomElement(using: &random) ?? "1"))
            case 15: if let track, !sequencer.append(track) { sequencer.remove(track) }
            case 14: track?.replace(with: Clip(Pattern(texts.randomElement(using: &random) ?? "1"), length: 3))
            default:
                if Bool.random(using: &random) {
                    renderer.tempo.beatsPerMinute = Double.random(in: 1...999, using: &random)
                } else {
                    renderer.tempo.position = Double(number)
                }
            }
            let frames = Int.random(in: 1...700, using: &random)
            _ = renderer.renderOffline(frames: frames, cycle: Int.random(in: 1...256, using: &random))
        }
        // A command that still waits for its beat begins nothing any more.
        target.isKind = true
        for track in tracks { (track.isMuted, track.isSoloed) = (true, false) }
        sequencer.stop()
        _ = renderer.renderOffline(frames: 60_000, cycle: 1_024)
        #expect(target.hanging == 0 && target.wrong == 0 && target.doubled == 0)
        #expect(target.begun > edits / 10 && target.begun == target.ended)
    }
}
