import ExampleSupport
import RenderStack
import Synchronization

/// Changes the tempo with a bar, so that the first tick at the new one is on the frame nearest to that bar.
final class Metronome: Sendable {
    private let renderer: Renderer
    private let beats: Int
    private let plan: Mutex<Plan>

    /// The tempo that is, or is about to be.
    private struct Plan {
        var tempo: Double
        var change: ScheduledEvent?
    }

    init(_ renderer: Renderer, tempo: Double, beats: Int) {
        self.renderer = renderer
        self.beats = beats
        plan = Mutex(Plan(tempo: tempo))
        renderer.tempo.beatsPerMinute = tempo
        renderer.tempo.metre = Metre(beats)
    }

    /// Goes on so many beats per minute faster, from the next bar on that has not begun.
    func change(by step: Double) {
        let now = renderer.tempo.beats
        let soon = now.position + 0.05 * now.beatsPerMinute / 60
        plan.withLock { plan in
            plan.change?.cancel()
            change(&plan, to: max(10, min(plan.tempo + step, 600)), atBar: (soon / Double(beats)).rounded(.up))
        }
    }

    /// Goes on at another tempo, after that many bars.
    func change(to tempo: Double, afterBars bars: Double) {
        plan.withLock { change(&$0, to: tempo, atBar: bars.rounded()) }
    }

    private func change(_ plan: inout Plan, to tempo: Double, atBar bar: Double) {
        let beat = bar * Double(beats)
        let time = renderer.tempo.time(ofBeat: beat)
        plan.tempo = tempo
        do {
            plan.change = try renderer.transaction(at: time) {
                renderer.tempo.beatsPerMinute = tempo
                // The bar may lie between two frames: from here on it is on this one.
                renderer.tempo.position = beat
            }
            Terminal.note("\(tempo) beats per minute from \(Double(time.sampleTime ?? 0) / renderer.sampleRate) s on")
        } catch {
            Terminal.note("metronome: \(error)")
        }
    }
}

/// The sounds that are heard if no file is given.
enum Click {
    /// 40 ms of a tone that begins at its loudest and has died away at the end.
    static func sound(_ frequency: Double, level: Double) -> Sound {
        var block = AudioBlock(channels: 1, frames: 1_920)
        for frame in 0..<1_920 {
            let time = Double(frame) / 48_000
            let fade = 1 - time / 0.04
            let tone = RenderMath.cos(2 * .pi * frequency * time) * RenderMath.exp(-time / 0.008)
            block[0, frame] = Float(level * fade * tone)
        }
        return Sound(block, sampleRate: 48_000)
    }
}
