internal import RenderCore
internal import Sharing
internal import Supply
internal import Voices

/// The part of a ``Polyphony`` that does not depend on the type of its voices: the compiler checks it as it stands.
struct VoicePlayer: ~Copyable, Sendable {
    let feed: VoiceFeed
    let notes: RenderState<PlayedNotes>
    let tuned = TunedKeys()
    /// The voices that sound, the most that did, those that were stolen, and those that broke.
    let sounding = SharedCount()
    let most = SharedCount()
    let stolen = SharedCount()
    let broken = SharedCount()
    private let own: InlineArray<16, Parameter>

    init(
        _ keys: MIDIInput, makeNotes: @escaping @Sendable () -> PlayedNotes, parameter: (Int) -> Parameter
    ) {
        own = InlineArray { parameter($0) }
        feed = VoiceFeed(keys)
        notes = RenderState(makeNotes())
    }

    /// References to the parameters of the voice, which have these names.
    borrowing func references(_ names: [String]) -> [ParameterReference] {
        names.indices.map { own[$0].named(names[$0]) }
    }

    /// Pushes the sum of the voices.
    @_noLocks @_noAllocation
    borrowing func process(_ context: inout RenderContext) {
        var channels = 1
        notes.with(&context) { notes, _ in channels = notes.channelCount }
        context.push(channels: channels)
        var glides = InlineArray<16, Glide>(repeating: Glide(0))
        for index in 0..<16 { glides[index] = own[index].glide(context) }
        var (place, frame) = (feed.begin(), 0)
        while let due = feed.next(&context, &place) {
            render(&context, from: frame, to: due.frame, glides)
            frame = due.frame
            // A note that sounds keeps its pitch: the tuning is asked for where one begins.
            let key = due.command.key
            var note = key
            if key == key { tuned.table.with(&context) { table, _ in note = table.note(ofKey: key) } }
            notes.with(&context) { notes, _ in notes.act(due.command, note: note, glides, at: frame) }
        }
        render(&context, from: frame, to: context.frameCount, glides)
        var counts = (0, 0, 0, 0)
        notes.with(&context) { notes, _ in counts = (notes.sounding, notes.most, notes.stolen, notes.broken) }
        sounding.set(counts.0)
        most.set(counts.1)
        stolen.set(counts.2)
        broken.set(counts.3)
    }

    /// Ends all voices, at once, and puts pedals and wheels back.
    @_noLocks @_noAllocation
    borrowing func reset(_ context: inout RenderContext) { notes.with(&context) { notes, _ in notes.reset() } }

    @_noLocks @_noAllocation
    private borrowing func render(
        _ context: inout RenderContext, from first: Int, to end: Int, _ glides: InlineArray<16, Glide>
    ) {
        if first >= end { return }
        notes.withTop(&context) { notes, top in notes.render(&top, from: first, to: end, glides) }
    }
}
