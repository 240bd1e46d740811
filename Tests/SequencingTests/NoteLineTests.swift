import RenderStack
import TestSupport
import Testing

/// Targets in a render loop: lines, kits and voices, heard beside what a plain command gives.
@Suite struct TargetTests {
    @Test("A line: the loop reads each note on its frame, also in the middle of a slice", arguments: [1, 100, 4_096])
    func line(cycle: Int) throws {
        let line = NoteLine()
        let sequencer = Sequencer(tracks: [Track("clicks", Pattern("1 0.5 [0.25 0.25]"), to: line)])
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(sequencer)
            context.push(channels: 1)
            while let event = line.next(&context) {
                var top = context.top
                var samples = top[0]
                if event.begins { samples[event.frame] = event.note.number }
            }
            context.output()
        }
        sequencer.start()
        let block = renderer.renderOffline(frames: 100_000, cycle: cycle)
        let frames: [Int] = (0..<100_000).filter { block[0, $0] != 0 }
        let clicks: [[Double]] = frames.map { [Double($0), Double(block[0, $0])] }
        let expected: [[Double]] = [[0, 1], [32_000, 0.5], [64_000, 0.25], [80_000, 0.25], [96_000, 1]]
        #expect(clicks == expected)
    }

    @Test("A kit: samples by their words, as loud as the velocity says, and the same bits in all cycles")
    func kit() throws {
        func render(cycle: Int) throws -> [Float] {
            let player = SamplePlayer(channels: 1)
            var click = AudioBlock(channels: 1, frames: 3)
            for frame in 0..<3 { click[0, frame] = 1 - 0.25 * Float(frame) }
            let kit = player.kit(["click": player.load(Sound(click, sampleRate: 48_000))])
            let sequencer = Sequencer(tracks: [Track("clicks", Pattern("click*3 ~").velocity(0.5), to: kit)])
            let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
                context.run(sequencer)
                context.run(player)
                context.output()
            }
            renderer.tempo.beatsPerMinute = 240
            sequencer.start()
            let block = renderer.renderOffline(frames: 48_000, cycle: cycle)
            return (0..<48_000).map { block[0, $0] }
        }
        let first = try render(cycle: 64)
        #expect(first.indices.filter { first[$0] == 0.5 } == [0, 8_000, 16_000])
        #expect(first[1] == 0.375 && first[2] == 0.25 && first[3] == 0)
        for cycle in [1, 333, 4_096] { #expect(try render(cycle: cycle) == first) }
        let kit = SamplePlayer().kit([:])
        #expect(kit.number(forWord: "x", nil) == nil && kit.number(forWord: "0", 0) == nil)
    }
}
