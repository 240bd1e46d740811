import RenderStack
import TestSupport
import Testing

@Suite("Delay by beats")
struct DelayBeatsTests {
    /// Impulses at some frames, through a delay, at tempos from some frames on.
    private func echoes(
        _ delay: Delay, of impulses: [Int], frames: Int, tempos: [(Int, Double)], cycles: [Int] = [512]
    ) throws -> [Float] {
        var input = [Float](repeating: 0, count: frames)
        for impulse in impulses { input[impulse] = 1 }
        let renderer = try renderer([input], through: delay)
        for (frame, tempo) in tempos {
            try renderer.transaction(at: .sample(Int64(frame))) { renderer.tempo.beatsPerMinute = tempo }
        }
        return render(renderer, frames: frames, cycles: cycles)[0]
    }

    @Test("Three quarters of a beat are an echo on that very frame, at any tempo, whatever the cycles")
    func frames() throws {
        for (tempo, frame) in [(120.0, 18_000), (100, 21_600), (97, 22_268), (123.4, 17_504)] {
            for cycles in [[512], [100], [3, 500, 1, 64, 2_000, 17]] {
                let delay = Delay(beats: 0.75, feedback: 0.5, cutoff: 24_000, mix: 1)
                let sound = try echoes(delay, of: [10], frames: 70_000, tempos: [(0, tempo)], cycles: cycles)
                var expected = [Float](repeating: 0, count: 70_000)
                for (number, level) in [1, 0.5, 0.25].enumerated() where 10 + (number + 1) * frame < 70_000 {
                    expected[10 + (number + 1) * frame] = Float(level)
                }
                #expect(sound == expected, "\(tempo)")
            }
        }
    }

    @Test("A change of the tempo changes the time as if it had been set: no click, and then on the new frame")
    func changes() throws {
        let delay = Delay(beats: 0.5, feedback: 0, mix: 1)
        let sound = try echoes(
            delay, of: [5_000, 60_000], frames: 100_000, tempos: [(30_000, 80)], cycles: [3, 500, 1, 64, 2_000, 17])
        #expect(sound.indices.filter { sound[$0] != 0 } == [17_000, 78_000])
        // Plays the same tone through a delay whose time is set, in the same frame.
        let tone = sine(60_000, frequency: 440, level: 0.5)
        func run(_ delay: Delay, _ change: @escaping @Sendable (Renderer) -> Void) throws -> [Float] {
            let renderer = try renderer([tone], through: delay)
            try renderer.transaction(at: .sample(30_000)) { change(renderer) }
            return render(renderer, frames: 60_000)[0]
        }
        for change in [Delay.Change.glide(.milliseconds(100)), .crossfade(.milliseconds(50))] {
            let (timed, beaten) = (Delay(time: 0.25, change: change), Delay(beats: 0.5, change: change))
            #expect(
                try run(beaten) { $0.tempo.beatsPerMinute = 80 } == run(timed) { _ in timed.time.value = 0.375 })
        }
    }

    @Test("0 beats: the time counts; what is longer than the memory is as long as that")
    func limits() throws {
        let delay = Delay(time: 0.1, beats: 1, feedback: 0, mix: 1, maximumTime: 0.25)
        #expect(delay.parameters.map(\.name) == ["time", "beats", "feedback", "cutoff", "mix"])
        let sound = try echoes(delay, of: [0], frames: 20_000, tempos: [])
        #expect(sound.indices.filter { sound[$0] != 0 } == [12_000])
        delay.beats.value = 0
        let again = try echoes(delay, of: [0], frames: 20_000, tempos: [])
        #expect(again.indices.filter { again[$0] != 0 } == [4_800])
    }
}
