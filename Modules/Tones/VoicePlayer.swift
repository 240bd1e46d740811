internal import MIDIFiles
internal import RenderCore
internal import Sharing
internal import Supply
internal import Synchronization

/// The part of a ``Polyphony`` that does not depend on the type of its voices: the compiler checks it as it stands.
struct VoicePlayer: ~Copyable, Sendable {
    let commands = CommandQueue<VoiceCommand>()
    let band: RenderState<VoiceBand>
    /// The voices that sound, the most that did, those that were stolen, and those that broke.
    let sounding = Counter()
    let most = Counter()
    let stolen = Counter()
    let broken = Counter()
    private let own: InlineArray<16, Parameter>
    private let keys: MIDIReader
    private let score: MIDIScore

    init(
        _ keys: MIDIInput, _ score: consuming MIDIScore, makeBand: @escaping @Sendable () -> VoiceBand,
        parameter: (Int) -> Parameter
    ) {
        own = InlineArray { parameter($0) }
        self.keys = MIDIReader(keys)
        self.score = score
        band = RenderState(makeBand())
    }

    /// References to the parameters of the voice, which have these names.
    borrowing func references(_ names: [String]) -> [ParameterReference] {
        names.indices.map { own[$0].named(names[$0]) }
    }

    /// Pushes the sum of the voices.
    @_noLocks @_noAllocation
    borrowing func process(_ context: inout RenderContext) {
        var channels = 1
        band.with(&context) { band, _ in channels = band.channelCount }
        context.push(channels: channels)
        var glides = InlineArray<16, Glide>(repeating: Glide(0))
        for index in 0..<16 { glides[index] = own[index].glide(context) }
        var events = keys.events
        var frame = 0
        while let due = commands.next(&context, from: frame) {
            play(&context, &events, from: frame, to: due.frame, glides)
            band.with(&context) { band, _ in band.act(due.command, glides, at: due.frame) }
            frame = due.frame
        }
        play(&context, &events, from: frame, to: context.frameCount, glides)
        var counts = (0, 0, 0, 0)
        band.with(&context) { band, _ in counts = (band.sounding, band.most, band.stolen, band.broken) }
        sounding.set(counts.0)
        most.set(counts.1)
        stolen.set(counts.2)
        broken.set(counts.3)
    }

    /// Ends all voices, at once, and puts pedals and wheels back.
    @_noLocks @_noAllocation
    borrowing func reset(_ context: inout RenderContext) { band.with(&context) { band, _ in band.reset() } }

    /// Renders frames with what the score and the keys have for them.
    @_noLocks @_noAllocation
    private borrowing func play(
        _ context: inout RenderContext, _ events: inout MIDIReader.Events, from first: Int, to end: Int,
        _ glides: InlineArray<16, Glide>
    ) {
        var frame = first
        while let note = score.next(&context, upTo: end) {
            let until = max(note.frame, frame)
            playKeys(&context, &events, from: frame, to: until, glides)
            act(note.message, &context, at: until, glides)
            frame = until
        }
        playKeys(&context, &events, from: frame, to: end, glides)
    }

    /// Renders frames with what the keys have for them.
    @_noLocks @_noAllocation
    private borrowing func playKeys(
        _ context: inout RenderContext, _ events: inout MIDIReader.Events, from first: Int, to end: Int,
        _ glides: InlineArray<16, Glide>
    ) {
        var frame = first
        while let event = events.next(context, upTo: end) {
            let until = max(event.frame, frame)
            render(&context, from: frame, to: until, glides)
            act(event.message, &context, at: until, glides)
            frame = until
        }
        render(&context, from: frame, to: end, glides)
    }

    @_noLocks @_noAllocation
    private borrowing func act(
        _ message: MIDIMessage, _ context: inout RenderContext, at frame: Int,
        _ glides: InlineArray<16, Glide>
    ) {
        // A message that is due on the first frame after the slice acts in the next one, whose first it is.
        band.with(&context) { band, _ in band.act(message, glides, at: frame) }
    }

    @_noLocks @_noAllocation
    private borrowing func render(
        _ context: inout RenderContext, from first: Int, to end: Int, _ glides: InlineArray<16, Glide>
    ) {
        if first >= end { return }
        band.withTop(&context) { band, top in band.render(&top, from: first, to: end, glides) }
    }
}

/// A number that the render thread writes and any thread reads.
struct Counter: ~Copyable, Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .relaxed) }

    @_noLocks @_noAllocation
    func set(_ value: Int) { number.store(value, ordering: .relaxed) }
}
