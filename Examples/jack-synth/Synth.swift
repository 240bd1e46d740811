import RenderStack
import Synchronization

/// A synthesiser of many voices that is played by MIDI messages. Pushes one mono buffer; no latency.
///
/// Messages come from a MIDI input, from a score, or from control code (``send(_:at:)``), and each acts in its frame.
/// If more notes are wanted than there are voices, the voice that has been dying away longest makes room, else the
/// oldest: it fades out in 5 ms beside the new one, which begins on its frame.
final class Synth: Generator {
    private let patch: Patch
    private let queue = CommandQueue<MIDIMessage>()
    private let ensemble: RenderState<Ensemble>
    private let keys: MIDIReader
    private let score: Score
    private let most = Atomic<Int>(0)
    private let stolen = Atomic<Int>(0)

    /// - Parameters:
    ///   - voices: The number of notes that may sound, those that fade out not counted; 1…1024.
    ///   - patch: The settings of its sound.
    ///   - keys: The input that plays it.
    ///   - score: The notes that it plays by itself.
    init(voices: Int, _ patch: Patch, keys: MIDIInput, score: consuming Score) {
        self.patch = patch
        self.keys = MIDIReader(keys)
        self.score = score
        ensemble = RenderState(Ensemble(voices: voices, patch))
    }

    /// The largest number of voices that sounded at once.
    var mostVoices: Int { most.load(ordering: .relaxed) }
    /// The number of voices that were stolen.
    var stolenCount: Int { stolen.load(ordering: .relaxed) }

    /// Has a message act in its frame. From any thread.
    ///
    /// - Returns: `false` if 64 wait for their time; then this one was not taken.
    @discardableResult
    func send(_ message: MIDIMessage, at time: RenderTime = .immediately) -> Bool { queue.send(message, at: time) }

    /// Pushes the sum of the voices.
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        var events = keys.events
        var frame = 0
        while let due = queue.next(&context, from: frame) {
            play(&context, &events, from: frame, to: due.frame)
            act(&context, due.command)
            frame = due.frame
        }
        play(&context, &events, from: frame, to: context.frameCount)
        var (most, stolen) = (0, 0)
        ensemble.with(&context) { ensemble, _ in (most, stolen) = (ensemble.mostVoices, ensemble.stolenCount) }
        self.most.store(most, ordering: .relaxed)
        self.stolen.store(stolen, ordering: .relaxed)
    }

    /// Silence, at once, and all controllers as they were at first.
    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) {
        let patch = patch
        ensemble.with(&context) { ensemble, _ in ensemble.reset(patch) }
    }

    /// Renders frames with what the score and the keys have for them.
    @_noLocks @_noAllocation
    private func play(_ context: inout RenderContext, _ events: inout MIDIReader.Events, from first: Int, to end: Int) {
        var frame = first
        while let note = score.next(&context, upTo: end) {
            let until = max(note.frame, frame)
            playKeys(&context, &events, from: frame, to: until)
            act(&context, note.message)
            frame = until
        }
        playKeys(&context, &events, from: frame, to: end)
    }

    /// Renders frames with what the keys have for them.
    @_noLocks @_noAllocation
    private func playKeys(
        _ context: inout RenderContext, _ events: inout MIDIReader.Events, from first: Int, to end: Int
    ) {
        var frame = first
        while let event = events.next(context, upTo: end) {
            let until = max(event.frame, frame)
            render(&context, from: frame, to: until)
            act(&context, event.message)
            frame = until
        }
        render(&context, from: frame, to: end)
    }

    @_noLocks @_noAllocation
    private func act(_ context: inout RenderContext, _ message: MIDIMessage) {
        ensemble.with(&context) { ensemble, context in ensemble.act(message, sampleRate: context.sampleRate) }
    }

    @_noLocks @_noAllocation
    private func render(_ context: inout RenderContext, from first: Int, to end: Int) {
        ensemble.with(&context) { ensemble, context in ensemble.render(&context, from: first, to: end) }
    }
}
