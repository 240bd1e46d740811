import RenderStack
import TestSupport
import Testing

/// Unreasonable tempos, at unreasonable moments.
@Suite struct TempoAttackTests {
    /// Sets the tempo of its renderer while it is prepared, and asks for impossible positions while it renders.
    final class Meddler: Generator {
        private let box = Box()
        final class Box: @unchecked Sendable { weak var renderer: Renderer? }

        func meddle(with renderer: Renderer) { box.renderer = renderer }

        func prepare(_ preparation: Preparation) {
            box.renderer?.tempo.beatsPerMinute = preparation.sampleRate / 1_000
            box.renderer?.tempo.position = -.infinity
        }

        func process(_ context: inout RenderContext) {
            context.push(channels: 1)
            for number in [Double.nan, .infinity, -.infinity, 0, -1, 1e300, -1e300, 1e-307] {
                var ticks = context.ticks(every: number)
                while let tick = ticks.next() { precondition((0..<context.frameCount).contains(tick.frame)) }
                _ = (context.frames(beats: number), context.frame(ofBeat: number))
            }
            _ = (context.beat(atFrame: .max), context.beat(atFrame: .min), context.beats)
        }
    }

    @Test("A module that sets the tempo as it is prepared, to anything, and asks anything")
    func meddlers() throws {
        let meddler = Meddler()
        let renderer = try Renderer { context in
            context.run(meddler)
            context.output()
        }
        meddler.meddle(with: renderer)
        renderer.configure(sampleRate: 96_000)
        _ = renderer.renderOffline(frames: 1_000)
        #expect(renderer.tempo.beatsPerMinute == 96 && abs(renderer.tempo.position + 1e9) < 1)
        for position in [1e9, -1e9, .nan, 0.5] {
            renderer.tempo.position = position
            renderer.tempo.metre = Metre(.min, .max)
            _ = renderer.renderOffline(frames: 100)
            for beat in [Double.nan, .infinity, -1e300] { _ = renderer.tempo.time(ofBeat: beat) }
        }
        #expect(renderer.faultCount == 0)
    }

    @Test("A tempo outlives its renderer, which then renders nothing")
    func gone() throws {
        let (tempo, other) = (Renderer().tempo, Renderer())
        other.transaction { tempo.beatsPerMinute = 60 }
        for turn in 0..<10_000 { tempo.position = Double(turn) }
        #expect(tempo.beatsPerMinute == 60 && tempo.position == 9_999)
    }

    @Test("More changes of another renderer's tempo in transactions than its queue has places: none is lost for good")
    func full() throws {
        let (one, other) = (Renderer(), Renderer())
        for turn in 0..<3_000 { one.transaction { other.tempo.position = Double(turn) } }
        for _ in 0..<100 { _ = other.renderOffline(frames: 64) }
        #expect(other.tempo.position >= 1_000)
        other.tempo.beatsPerMinute = 61
        #expect(other.tempo.beatsPerMinute == 61)
    }

    @Test("Delays and LFOs of too many beats, and of too few, at the slowest tempo and at the fastest")
    func modules() throws {
        let (delay, lfo) = (Delay(beats: 1_024, maximumTime: 0.01), LFO(.square, beats: 1e300))
        let renderer = try Renderer { context in
            context.run(lfo)
            context.run(delay)
            context.output()
        }
        for tempo in [-.infinity, .infinity, 120.0] {
            renderer.tempo.beatsPerMinute = tempo
            for beats in [1e-300, 1e-307, 1e6, .infinity, -1, 0.1] as [Double] {
                lfo.beats = beats
                delay.beats.value = Float(beats)
                let sound = renderer.renderOffline(frames: 500)
                #expect((0..<500).allSatisfy { sound[0, $0].isFinite })
            }
        }
        #expect(renderer.faultCount == 0)
    }
}
