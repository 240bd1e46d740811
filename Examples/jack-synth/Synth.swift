import RenderStack
import Synchronization

/// A synthesiser of many voices that is played by MIDI messages. Pushes one mono buffer; no latency.
///
/// Messages come from the render closure (``receive(_:_:)``) or from control code (``send(_:at:)``), and each acts in its
/// frame. Where more notes are wanted than there are voices, the one that has been dying away longest makes room, else
/// the oldest: it fades out in 5 ms beside the new one, which begins on its frame.
final class Synth: Generator {
    private let patch: Patch
    private let queue = CommandQueue<MIDIMessage>()
    private let ensemble: RenderState<Ensemble>
    private let inbox = SharedState(Inbox())
    private let most = Atomic<Int>(0)
    private let stolen = Atomic<Int>(0)

    /// What came in for this slice: from the closure, which is why it is shared.
    private struct Inbox: ~Copyable, Sendable {
        var events = RenderMemory(repeating: MIDIEvent(.activeSensing), count: 1_024)
        var count = 0
        var taken = 0
    }

    /// - Parameters:
    ///   - voices: how many notes may sound, those that fade out not counted; 1…1024.
    ///   - patch: what it sounds like.
    init(voices: Int, _ patch: Patch) {
        self.patch = patch
        ensemble = RenderState(Ensemble(voices: voices, patch))
    }

    /// How many voices sounded at once at most.
    var mostVoices: Int { most.load(ordering: .relaxed) }
    /// How many were stolen.
    var stolenCount: Int { stolen.load(ordering: .relaxed) }

    /// Has a message act in its frame. From any thread.
    ///
    /// - Returns: `false` if 64 wait for their time; then this one was not taken.
    @discardableResult
    func send(_ message: MIDIMessage, at time: RenderTime = .immediately) -> Bool { queue.send(message, at: time) }

    /// Takes an event of this slice: in the render closure, before the synthesiser is run, in the order of their frames.
    @_noLocks @_noAllocation
    func receive(_ event: MIDIEvent, _ context: inout RenderContext) {
        inbox.with(&context) { inbox, _ in
            if inbox.count < inbox.events.count {
                inbox.events[inbox.count] = event
                inbox.count &+= 1
            }
        }
    }

    /// Pushes the sum of the voices.
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        var frame = 0
        while let due = queue.next(&context, from: frame) {
            play(&context, from: frame, to: due.frame)
            ensemble.with(&context) { ensemble, context in ensemble.act(due.command, sampleRate: context.sampleRate) }
            frame = due.frame
        }
        play(&context, from: frame, to: context.frameCount)
        inbox.with(&context) { inbox, _ in (inbox.count, inbox.taken) = (0, 0) }
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

    /// Renders frames, and lets the events in them act.
    @_noLocks @_noAllocation
    private func play(_ context: inout RenderContext, from first: Int, to end: Int) {
        var frame = first
        while true {
            var next: MIDIEvent?
            inbox.with(&context) { inbox, _ in
                if inbox.taken < inbox.count && inbox.events[inbox.taken].frame <= end {
                    next = inbox.events[inbox.taken]
                    inbox.taken &+= 1
                }
            }
            guard let event = next else { break }
            let until = event.frame > frame ? event.frame : frame
            ensemble.with(&context) { ensemble, context in
                ensemble.render(&context, from: frame, to: until)
                ensemble.act(event.message, sampleRate: context.sampleRate)
            }
            frame = until
        }
        ensemble.with(&context) { ensemble, context in ensemble.render(&context, from: frame, to: end) }
    }
}
