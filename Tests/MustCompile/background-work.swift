// An effect whose work is too long for a cycle: each piece of the sound is turned around beside the audio. See
// BackgroundWork.
import RenderStack

final class Backwards: Effect {
    struct Piece: ~Copyable, Sendable {
        var samples = RenderMemory<Float>(repeating: 0, count: 4_096)

        mutating func turn() {
            for i in 0..<2_048 { (samples[i], samples[4_095 - i]) = (samples[4_095 - i], samples[i]) }
        }
    }

    struct Tape: ~Copyable, Sendable {
        var heard = RenderMemory<Float>(repeating: 0, count: 4_096)
        var next = RenderMemory<Float>(repeating: 0, count: 4_096)
    }

    private let work = BackgroundWork(Piece()) { piece in piece.turn() }
    private let tape = RenderState(Tape())
    private let position = RenderState(0)

    func latency(at sampleRate: Double) -> Int { 8_192 }
    /// The number of pieces that were late.
    var lateCount: Int { work.statistics.late }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let frames = context.frameCount
        var now = position.read(context)
        var done = 0
        while done < frames {
            if now == 4_096 {
                turnPage(&context, at: done)
                now = 0
            }
            let (start, first) = (now, done)
            let count = min(frames - done, 4_096 - now)
            tape.withTop(&context) { tape, top in
                var samples = top[0]
                var i = 0
                while i < count {
                    tape.next[start + i] = samples[first + i]
                    samples[first + i] = tape.heard[start + i]
                    i += 1
                }
            }
            now += count
            done += count
        }
        position.write(now, context)
    }

    /// Takes the piece that is turned, and has the next one turned.
    @_noLocks @_noAllocation
    private func turnPage(_ context: inout RenderContext, at frame: Int) {
        let outcome = work.collect(&context, at: frame, with: tape) { piece, tape, _ in
            var i = 0
            while i < 4_096 {
                tape.heard[i] = piece.samples[i]
                piece.samples[i] = tape.next[i]
                i += 1
            }
        }
        // A late one is left out, and what was heard last is heard again.
        if outcome.isReady { work.submit(context, at: frame, deadline: 4_096) }
    }
}
