internal import Mixing
internal import RenderCore
internal import Sharing

/// Runs a source's generator, and pushes the environment's channels and one for the reverb.
final class PlacedGenerator: Generator, PlacedModule {
    let generator: any Module
    private let handle: ModuleHandle
    let numbers: SourceNumbers
    private let range: Double
    private let surroundings: ManagedValue<Surroundings>
    private let state: RenderState<SpatialPair>
    private let lateness = Lateness()
    private let entries = Lock(0, .leaf)

    /// Stands for the frames by which it is late itself. It does not run.
    private final class Lateness: Effect {
        func latency(at sampleRate: Double) -> Int { Int(SpatialSignal.shortest) }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {}
    }

    init(_ generator: any Module, numbers: consuming SourceNumbers, range: Double) {
        self.generator = generator
        handle = ModuleHandle(generator, as: .generates)
        self.numbers = numbers
        self.range = range
        surroundings = ManagedValue(
            Surroundings(
                SharedState(ListenerMotion()), .stereo, sends: false, SharedState(HeadHolder()), SharedWords(),
                entry: 0, fadesIn: false))
        state = RenderState(SpatialPair(sampleRate: 48_000, longest: 8))
    }

    var name: String { generator.name }

    /// Enters an environment.
    func enter(
        _ listener: borrowing SharedState<ListenerMotion>, _ layout: SpatialLayout, sends: Bool,
        _ head: borrowing SharedState<HeadHolder>, _ around: borrowing SharedWords, flat: Int = 0, fadesIn: Bool
    ) {
        let entry = entries.withLock { entries in
            entries += 1
            return entries
        }
        surroundings.set(
            Surroundings(listener, layout, sends: sends, head, around, flat: flat, entry: entry, fadesIn: fadesIn))
    }

    /// Enters a mixer, where it plays as it is; what was heard at its place fades out there.
    func enter(_ mixer: Mixer, from old: Mixer?) {
        if mixer.owner is Environment || mixer === old { return }
        if let environment = old?.owner as? Environment {
            environment.leave(self, for: mixer)
        } else {
            enter(
                SharedState(ListenerMotion()), .stereo, sends: false, SharedState(HeadHolder()), SharedWords(),
                flat: mixer.channels, fadesIn: false)
        }
    }

    func latency(at sampleRate: Double) -> Int { latencyOfArrangement(at: sampleRate) }

    func prepare(_ preparation: Preparation) {
        let longest = min(range / 343 * preparation.sampleRate, 16_000_000)
        let rate = preparation.sampleRate
        state.replace(with: SpatialPair(sampleRate: rate, longest: Int(longest) + 16))
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let changes = numbers.changes.value
        var (versions, channels) = (SIMD4<Int>(repeating: 0), 2)
        surroundings.with(&context) { room, _ in
            channels = room.channels
            versions = room.versions(changes)
        }
        var (isAsBefore, isAudible) = (false, false)
        state.with(&context) { state, context in
            isAsBefore = state.main.glance.isOf(versions)
            isAudible = state.main.isAudible
            if isAudible { state.main.fetch(context) }
        }
        // The states and the lines of many sources have no room in the cache. The source sounds while they come there.
        if isAudible { state.fetch(bytes: SpatialState.evenBytes) }
        if !isAsBefore { look(&context, versions) }
        var hasInput = false
        if case .ran = handle.run(&context, waits: true) { hasInput = true }
        context.pushUninitialized(channels: channels)
        let isHeard = hasInput
        state.with(&context) { state, context in state.process(&context, hasInput: isHeard) }
        if hasInput {
            context.swap()
            context.pop()
        }
    }

    /// Reads what was set.
    @_noLocks @_noAllocation
    @inline(never) private func look(_ context: inout RenderContext, _ versions: SIMD4<Int>) {
        var (glance, settings) = (SpatialGlance(), SpatialSettings())
        state.with(&context) { state, _ in glance = state.main.glance }
        let hasChanged = glance.read(numbers, versions, context)
        if hasChanged { surroundings.with(&context) { room, context in settings.take(glance, room, &context) } }
        state.with(&context) { state, _ in
            if hasChanged { state.main.take(settings, glance) } else { state.main.keep(glance) }
        }
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { state.with(&context) { state, _ in state.reset() } }
}

extension PlacedGenerator: CompositeModule {
    var members: [any Module] { [generator] }

    package var arrangement: ModuleArrangement { .chain([generator, lateness]) }

    package func dryRun(_ context: inout RenderContext) {
        context.show(generator, as: .generates)
        var channels = 0
        surroundings.with(&context) { room, _ in channels = room.channels }
        context.push(channels: channels)
        context.swap()
        context.pop()
    }

    package func attach(_ renderer: Renderer) {}
}
