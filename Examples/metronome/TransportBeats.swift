import RenderStack

/// The beats of the session's transport, each in its frame.
///
/// What a session tells is coarse: JACK's leaders say where in the beat a cycle begins in whole ticks, which are some ten
/// frames long. So a place is taken that agrees with what is told and is exact: that of a piece which has had this tempo
/// from its first frame on, or of the beats as they were before; only where neither agrees it is what is told.
final class TransportBeats: Sendable {
    private let tempo: Double
    private let beatsPerBar: Double
    private let anchor = RenderState(Anchor())

    /// A place from which beats are reckoned.
    private struct Anchor: BitwiseCopyable, Sendable {
        /// Beats since the beginning of the piece, and the frame of the piece.
        var beat = 0.0
        var frame: Int64 = 0
        /// Frames in a beat.
        var length = 0.0

        func beat(at frame: Int64) -> Double { beat + Double(frame - self.frame) / length }

        /// The nearest frame to a beat.
        func frame(of beat: Double) -> Int64 { frame + Int64(((beat - self.beat) * length).rounded()) }
    }

    /// How coarse ticks may be, in beats.
    private static let tick = 1.0 / 96

    /// - Parameters:
    ///   - tempo: beats per minute where nobody leads.
    ///   - beatsPerBar: beats in a bar where nobody leads.
    init(tempo: Double, beatsPerBar: Double) {
        self.tempo = tempo
        self.beatsPerBar = beatsPerBar
    }

    /// Goes through the beats of this slice.
    ///
    /// - Parameter body: gets the frame, counted from the first of the slice, and whether a bar begins there.
    func forEach(_ context: inout RenderContext, _ body: (Int, Bool, inout RenderContext) -> Void) {
        let transport = context.transport
        guard transport.isRolling else { return }
        let metre = max(1, (transport.bars?.beatsPerBar ?? beatsPerBar).rounded())
        let anchor = settle(transport, metre, context)
        let end = transport.frame + Int64(context.frameCount)
        // The beat before may be nearest to the first frame.
        var beat = anchor.beat(at: transport.frame).rounded(.down)
        while anchor.frame(of: beat) < end {
            let frame = anchor.frame(of: beat)
            if frame >= transport.frame {
                body(Int(frame - transport.frame), beat.truncatingRemainder(dividingBy: metre) == 0, &context)
            }
            beat += 1
        }
    }

    /// From where the beats of this slice are reckoned.
    private func settle(_ transport: Transport, _ metre: Double, _ context: borrowing RenderContext) -> Anchor {
        let length = 60 / (transport.bars?.beatsPerMinute ?? tempo) * context.sampleRate
        let whole = Anchor(length: length)
        guard let bars = transport.bars else { return whole }
        let told = Double(bars.bar - 1) * metre + Double(bars.beat - 1) + bars.fraction
        let before = anchor.read(context)
        if before.length == length, agrees(before.beat(at: transport.frame), told) { return before }
        let settled =
            agrees(whole.beat(at: transport.frame), told)
            ? whole : Anchor(beat: told, frame: transport.frame, length: length)
        anchor.write(settled, context)
        return settled
    }

    /// A tick counts when it is whole.
    private func agrees(_ beat: Double, _ told: Double) -> Bool { beat > told - 1e-6 && beat < told + Self.tick }
}
