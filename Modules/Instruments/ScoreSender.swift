public import MIDIFiles
public import RenderCore
public import Supply

/// Sends the messages of a score to a MIDI output, each on its frame: a MIDI file plays other programs and machines.
///
///     let song = try MIDIFile(path: "song.mid")
///     let output = MIDIOutput(name: "song")
///     let sender = ScoreSender(MIDIScore(song), to: output)
///     …
///     context.run(sender)                                         // pushes and pops nothing
///
/// The score begins with the first cycle of the renderer. An output takes a limited number of messages in a cycle: those
/// beyond are counted. For one track alone give it a score of the messages of that track.
///
/// Threads: control.
public final class ScoreSender: Module {
    private let score: MIDIScore
    private let sender: MIDISender
    private let lost = SharedCount()

    /// Creates a sender.
    ///
    /// - Parameters:
    ///   - score: The messages.
    ///   - output: The output that they go to.
    public init(_ score: consuming MIDIScore, to output: MIDIOutput) {
        self.score = score
        sender = MIDISender(output)
    }

    /// The number of messages that the output did not take, because it is not driven, or because a cycle had too many.
    public var lostCount: Int { lost.value }

    /// Pops and pushes nothing.
    public var stackEffect: StackEffect { StackEffect(pops: 0, pushes: 0) }

    /// Sends the messages of a slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        while let event = score.next(&context) {
            if !sender.send(event.message, at: event.frame, context) { lost.add(1) }
        }
    }
}
