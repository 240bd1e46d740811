import CBench
import RenderStack

/// The costs of a sequencer, and the sound of its onsets.
enum Sequences {
    static let cycle = 128

    /// A target that does nothing.
    private final class Nothing: NoteTarget {
        func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool { true }
    }

    /// Numbers by chance, the same each time.
    private struct Dice {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
    }

    /// A level for as long as the note lasts: its first frame is where it begins.
    private struct Edge: LaneVoice {
        @inline(__always) @_noLocks @_noAllocation
        mutating func next(_ notes: borrowing Notes) -> Lanes { 0.5 * notes.velocity }
    }

    private static func renderer(_ sequencer: Sequencer) throws -> Renderer {
        try Renderer(channels: 1, layout: StackLayout(slots: 2, channels: 1, frames: cycle)) { context in
            context.run(sequencer)
        }
    }

    /// Processor time of a cycle, in nanoseconds.
    private static func time(_ renderer: Renderer, cycles: Int) -> Double {
        var block = AudioBlock(channels: 1, frames: cycle)
        let begin = bench_thread_time()
        for _ in 0..<cycles { renderer.render(into: &block, hostTime: 0, isOffline: false) }
        return Double(bench_thread_time() - begin) / Double(cycles)
    }

    /// Nanoseconds of a cycle for one more track that has nothing to play, while others play: of clips, whose notes come later.
    static func idle(_ count: Int, rounds: Int) throws -> Double {
        let sides = try [1, count].map { number in
            var clip = Clip(length: 1_000_000)
            clip.add("60", at: 999_999)
            let target = Nothing()
            let tracks = (0..<number).map { Track("\($0)", clip, to: target) }
            let sequencer = Sequencer(tracks: tracks, capacity: number)
            sequencer.start()
            let renderer = try renderer(sequencer)
            renderer.settle()
            return renderer
        }
        var differences: [Double] = []
        for _ in 0..<rounds {
            let few = time(sides[0], cycles: 4_000)
            differences.append((time(sides[1], cycles: 4_000) - few) / Double(count - 1))
        }
        return median(differences)
    }

    /// A thousand tracks of a thousand notes each, 64 s long: nanoseconds for one note, its end included, and of a second of sound.
    static func events(rounds: Int) throws -> (count: Int, note: Double, whole: Double, second: Double) {
        var times: [[Double]] = [[], []]
        let (tracks, notes, beats) = (1_000, 1_000, 128)
        var begun = 0
        for _ in 0..<rounds {
            for side in 0...1 {
                let target = Nothing()
                var random = Dice(state: 7)
                let list = (0..<tracks).map { track in
                    var clip = Clip(length: Fraction(beats))
                    for number in 0..<(side == 0 ? 0 : notes) {
                        let jitter = Fraction(Int(random.next() % 96), 960)
                        clip.add("60", at: Fraction(number * beats, notes) + jitter, length: 1 / 16)
                    }
                    return Track("\(track)", clip, to: target)
                }
                let sequencer = Sequencer(tracks: list, capacity: tracks)
                sequencer.start()
                let renderer = try renderer(sequencer)
                let cycles = 64 * 48_000 / cycle
                times[side].append(time(renderer, cycles: cycles) * Double(cycles))
                if sequencer.lostCount > 0 { stop("\(sequencer.lostCount) notes are lost") }
                begun = side == 0 ? 0 : tracks * notes
            }
        }
        let (none, all) = (median(times[0]), median(times[1]))
        return (begun, (all - none) / Double(begun), all, all / 64)
    }

    /// The ticks of a beat, 1/480 long, at which the peers begin notes too, at 128 beats per minute.
    static let ticks: [Int] = {
        var random = Dice(state: 3)
        return (0..<200).map { $0 * 480 + Int(random.next() % 240) }
    }()

    /// Plays the onsets. Returns the sound.
    static func onsets() throws -> [[Float]] {
        var clip = Clip(length: 201)
        for tick in ticks { clip.add("60", at: Fraction(tick, 480), length: 1 / 8) }
        let synth = Polyphony<Edge>(voices: 8)
        let sequencer = Sequencer(tracks: [Track("edges", clip, to: synth)])
        let renderer = try Renderer { context in
            context.run(sequencer)
            context.run(synth)
            context.output()
        }
        renderer.tempo.beatsPerMinute = 128
        sequencer.start()
        return [renderer.renderOffline(frames: 201 * 22_500, cycle: 64).array(0)]
    }
}
