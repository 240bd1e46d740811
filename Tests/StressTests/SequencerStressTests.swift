import RenderStack
import Synchronization
import Testing

/// For ThreadSanitizer: a sequencer that several threads command and edit while it plays, live and offline, and which comes and goes.
@Suite(.serialized) struct SequencerStressTests {
    /// A target that counts what is open.
    final class Counting: NoteTarget {
        let open = Atomic<Int>(0)

        func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
            open.wrappingAdd(1, ordering: .relaxed)
            return true
        }

        func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
            open.wrappingSubtract(1, ordering: .relaxed)
            return true
        }
    }

    @Test("A sequencer that threads command, edit and fill while it plays: nothing breaks, and no note hangs")
    func everything() async throws {
        let target = Counting()
        let texts = ["1 2 3 4", "[1 2]*3 ~ 5?", "60(5,8)", "1*32", "<1 2 3>/2 [4,5,6]", "["]
        let sequencer = Sequencer(tracks: texts.map { Track($0, Pattern($0), to: target) }, capacity: 4_096)
        let renderer = try Renderer(channels: 1, layout: StackLayout(slots: 4, channels: 1, frames: 128)) { context in
            context.run(sequencer)
            context.push(channels: 1)
            context.output()
        }
        let crew = Crew(seconds: stressSeconds)
        crew.add { number, random in
            var block = AudioBlock(channels: 1, frames: 700)
            for _ in 0..<20 {
                renderer.render(
                    into: &block, frames: Int.random(in: 1...700, using: &random), isOffline: number % 8 == 0)
            }
        }
        for _ in 0..<2 {
            crew.add { number, random in
                let (beat, track) = (
                    Fraction(Int.random(in: 0...99, using: &random), 3), sequencer.tracks.randomElement(using: &random)
                )
                switch Int.random(in: 0...11, using: &random) {
                case 0, 1: sequencer.start(at: .nextBeat, from: beat)
                case 2: sequencer.stop()
                case 3: sequencer.locate(beat)
                case 4: sequencer.loop = beat..<(beat + 2)
                case 5: track?.isMuted.toggle()
                case 6: track?.launch(at: .now)
                case 7: track?.replace(with: Pattern(texts.randomElement(using: &random) ?? "1"))
                case 8:
                    renderer.transaction {
                        track?.replace(with: Clip(Pattern("1 2"), length: 4))
                        sequencer.tempo = Double.random(in: 1...999, using: &random)
                    }
                case 9: if let track { sequencer.remove(track) }
                case 10: if let track { renderer.transaction { sequencer.remove(track) } }
                default: sequencer.append(Track("\(number)", Pattern("1"), to: target))
                }
            }
        }
        crew.join { sequencer.position != 0 }
        for track in sequencer.tracks { (track.isMuted, track.isSoloed) = (true, false) }
        sequencer.stop()
        _ = renderer.renderOffline(frames: 2_000)
        #expect(target.open.load(ordering: .relaxed) == 0)
    }
}
