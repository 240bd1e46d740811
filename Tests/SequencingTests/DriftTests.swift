import Foundation
import RenderStack
import TestSupport
import Testing

/// Twenty-four hours of song, the tempo another one all the time, beside a sum of whole numbers.
@Suite struct DriftTests {
    @Test("No drift: after 24 hours and many changes of the tempo each beat is on the frame of the exact sum")
    func drift() throws {
        let changes = Int(ProcessInfo.processInfo.environment["RENDERSTACK_TEMPOS"] ?? "") ?? 20_000
        let rate = 8_000
        let frames = 24 * 3_600 * rate
        let takes = Takes(capacity: 1_000_000)
        let sequencer = Sequencer(tracks: [Track("beats", Pattern("1*4"), to: takes)])
        let renderer = try Renderer(
            sampleRate: Double(rate), channels: 1, layout: StackLayout(slots: 1, channels: 1, frames: 4_096)
        ) { context in context.run(sequencer) }
        sequencer.start()
        // Tempos are whole numbers of 1/1024 beat a minute. So the position, times this, is a whole number too.
        let unit = 60 * 1_024 * rate
        var random = SplitMix(state: 24)
        var (frame, position, beat, worst) = (0, 0, 0, 0.0)
        var tempo = 120 * 1_024
        var index = 0
        for _ in 0...changes {
            let length = min(Int.random(in: 1...(2 * frames / changes), using: &random), frames - frame)
            _ = renderer.renderOffline(frames: length, cycle: 4_096)
            // The beats of this stretch: those that are nearest to one of its frames.
            while true {
                let distance = Double(beat * unit - position) / Double(tempo)
                if distance >= Double(length) - 0.5 { break }
                while index < takes.count, takes.entry(index).kind != .on { index += 1 }
                // At the middle between two frames it may come with the next stretch.
                if index == takes.count { break }
                // The nearest of the frames from where the tempo changed on.
                let exact = max(Double(frame) + distance, Double(frame) - 0.5)
                worst = max(worst, abs(Double(takes.entry(index).frame) - exact))
                index += 1
                beat += 1
            }
            position += length * tempo
            frame += length
            tempo = Int.random(in: 60 * 1_024...300 * 1_024, using: &random)
            renderer.tempo.beatsPerMinute = Double(tempo) / 1_024
        }
        print("\(beat) beats, \(changes) changes of the tempo: at most \(worst) frames from the exact place")
        #expect(frame > frames / 100 * 98 && beat > 200_000 && abs(takes.begun.count - beat) <= 1)
        // Half a frame is what the nearest frame may be away.
        #expect(worst <= 0.501)
        #expect(sequencer.lateCount == 0 && sequencer.lostCount == 0)
    }

    @Test("A slower tempo and an edit on the frame of a note: it comes once", arguments: [64, 1_000])
    func edges(cycle: Int) throws {
        let takes = Takes()
        let track = Track("beats", Pattern("1*4"), to: takes)
        let rig = try Rig(track)
        rig.renderer.tempo.beatsPerMinute = 299
        rig.sequencer.start()
        // Beat 6 is at 57,792.64 frames.
        try rig.renderer.transaction(at: .sample(57_793)) {
            rig.renderer.tempo.beatsPerMinute = 20
            track.replace(with: Pattern("[1 1]*2"))
        }
        rig.render(100_000, cycle: cycle)
        #expect(takes.begun.map { $0[0] } == [0, 9_632, 19_264, 28_896, 38_528, 48_161, 57_793])
    }
}
