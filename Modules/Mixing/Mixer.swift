internal import Composition
public import RenderCore
internal import Sharing
internal import Synchronization

/// The sum of any number of sources that come and go. Pushes one buffer.
///
///     let music = Mixer()
///     let drums = music.append(drumLoop)          // a `MixerSource`: the strip
///     drums.volume.value = 0.8
///     drums.pan.value = -0.3
///     …
///     context.run(music)
///     …
///     music.append(bass).isSolo = true            // while it plays
///     music.remove(drums)                         // fades out, and is then released
///     master.append(music)                        // a mixer is a source too
///     music.append(applause, removesWhenFinished: true)       // a player that goes when it has ended
///
/// A source is any generator, or another module that pushes one buffer, such as a `ClosureModule(.generates)`. It may
/// have any number of channels (mono goes to every channel, a mono mixer gets the sum of all channels, and otherwise
/// channel 0 goes to channel 0 and so on), and another sample rate through a `RateConverter`. The mixer skips a source
/// that is not active, at the cost of a few loads.
///
/// **Joining and leaving.** A source that joins fades in for 5 ms, unless the caller chooses otherwise, or it was there
/// from the start. A source that leaves, is muted, or has no solo while others have, fades out for 5 ms, and fades in
/// again when it is back. A source that moves to another mixer sounds on without a fade. Volume and pan glide for 10
/// ms. Sources that stay go on as they are, in whatever order they are put. Inside `Renderer.transaction` all of this
/// happens in one cycle, together with the other changes.
///
/// Threads: control.
public final class Mixer: Generator {
    /// Channels of the sum.
    public let channels: Int
    /// The name of the mixer in faults and statistics.
    public let name: String

    /// Indicates whether sources are held back until the latest of them, so that all are heard at the same time.
    public let alignsLatencies: Bool

    private let strips = ManagedArray<ObjectIdentifier, MixerStrip>()
    private let control: Lock<Control>
    /// The lock is held from a change until the render thread can see it, so that the last change is heard.
    private let changing = Lock(0, .module)
    private let owned = Lock(Owner(), .leaf)
    private struct Owner { weak var module: (any Module)? }
    /// The settings for which the mixer was prepared last.
    private let prepared = Lock(Preparation?.none, .part)
    /// The number that no other mixer has.
    let number = Mixer.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    private static let numbers = Atomic<UInt64>(0)

    private struct Control {
        var sources: [MixerSource] = []
        /// The sources that the renderers learn of, before they are heard.
        var coming: [MixerSource] = []
        /// The sources that fade out.
        var leaving: [Leaver] = []
        /// The change that the lists come from, and the number of changes so far.
        var version = 0
        var changes = 0
        /// Sources of older lists that may still be running.
        var older: [Int: [MixerSource]] = [:]
        /// Changes of transactions that have not been applied yet.
        var staged: Set<Int> = []
        /// The renderers that have it.
        var attached = WeakList<Renderer>()
    }

    private struct Leaver {
        let source: MixerSource
        var turns: UInt64
        /// The host time since which the mixer has not been run.
        var idleSince = HostClock.now
    }

    /// Creates a mixer.
    ///
    /// - Parameters:
    ///   - channels: The channels of the sum, 1…64; it is silent while no source plays.
    ///   - alignsLatencies: `true` to hold sources back until the latest of them (`Module.latency(at:)`), so that all
    ///     are heard at the same time.
    ///   - sources: The sources that are there from the start, and do not fade in.
    ///   - name: The name in faults and statistics.
    public init(
        channels: Int = 2, alignsLatencies: Bool = false, _ sources: [MixerSource] = [], name: String = "Mixer"
    ) {
        self.channels = channels
        self.alignsLatencies = alignsLatencies
        self.name = name
        control = Lock(Control(), .part)
        for source in sources { insert(source, at: .max, fadesIn: false) }
    }

    // MARK: Control side

    /// The sources, in order. Those that are leaving are not counted.
    public var sources: [MixerSource] { control.withLock { $0.sources } }

    /// The module that has this mixer as a part of itself, which keeps it alive.
    package var owner: (any Module)? {
        get { owned.withLock { $0.module } }
        set { owned.withLock { $0.module = newValue } }
    }

    /// The parameters by name: that of the first source begins with `source 1`.
    public var parameters: [ParameterReference] {
        sources.enumerated().flatMap { index, source in source.parameters.inside("source \(index + 1)") }
    }

    /// Returns the largest latency of a source.
    public func latency(at sampleRate: Double) -> Int { latencyOfArrangement(at: sampleRate) }

    /// Returns the strip of a generator; `nil` if it is not in this mixer.
    public func source(of generator: any Module) -> MixerSource? { sources.first { $0.generator === generator } }

    /// Adds a source at the end. A source of another mixer moves; one of this mixer goes to the end.
    @discardableResult
    public func append(_ source: MixerSource, fadesIn: Bool = true) -> MixerSource {
        insert(source, at: .max, fadesIn: fadesIn)
        return source
    }

    /// Adds a generator at the end, in a strip of its own.
    ///
    /// - Parameters:
    ///   - generator: The module to hear: it pushes one buffer.
    ///   - panning: The way in which the strip's pan works.
    ///   - fadesIn: `false` if it begins by itself, so that its attack is kept.
    ///   - removesWhenFinished: `true` to have it removed when it has come to its end: see
    ///     ``MixerSource/removesWhenFinished``. What the strip of a generator in this mixer has, stays if this is `false`.
    /// - Returns: The generator's strip; the present one if it is in this mixer already.
    @discardableResult
    public func append(
        _ generator: any Module, panning: MixerSource.Panning = .balance, fadesIn: Bool = true,
        removesWhenFinished: Bool = false
    ) -> MixerSource {
        let source = source(of: generator) ?? MixerSource(generator, panning: panning)
        if removesWhenFinished { source.removesWhenFinished = true }
        return append(source, fadesIn: fadesIn)
    }

    /// Adds a source at a place, or moves it there. The order makes no difference to the sum but for its rounding.
    public func insert(_ source: MixerSource, at index: Int, fadesIn: Bool = true) {
        let old = source.move(to: self)
        if old == nil { source.begin(faded: fadesIn) }
        (source.generator as? any PlacedModule)?.enter(self, from: old)
        source.setPresent(true)
        let renderers = control.withLock { control in
            control.coming.append(source)
            return control.attached.living
        }
        for renderer in renderers { renderer.refreshModules() }
        change(undo: { [weak old] in _ = source.move(to: old) }) { control in
            // One that comes back while it leaves begins again.
            if control.leaving.contains(where: { $0.source === source }) { source.forgetFlags() }
            control.sources.removeAll { $0 === source }
            control.leaving.removeAll { $0.source === source }
            control.sources.insert(source, at: max(0, min(index, control.sources.count)))
            if let place = control.coming.firstIndex(where: { $0 === source }) { control.coming.remove(at: place) }
        }
        if let old, old !== self { old.forget(source) }
        // Another thread may have moved the source on before it was in this list, and could not remove it from here.
        forget(source)
        align([])
        if source.removesWhenFinished { Collector.shared.add(self) }
    }

    /// Removes a source: it fades out first.
    public func remove(_ source: MixerSource) { remove(source) { _ in true } }

    /// Removes a source, if it is still here and a condition holds.
    private func remove(_ source: MixerSource, if condition: (Control) -> Bool) {
        func isDue(_ control: Control) -> Bool {
            control.sources.contains { $0 === source } && condition(control)
        }
        guard control.withLock({ isDue($0) }) else { return }
        change { control in
            // Another thread may have been faster.
            guard isDue(control) else { return }
            source.setPresent(false)
            control.sources.removeAll { $0 === source }
            control.leaving.append(Leaver(source: source, turns: source.lastOuterSlice))
        }
        align([])
        Collector.shared.add(self)
    }

    /// Removes a generator, if it is in this mixer.
    public func remove(_ generator: any Module) { if let source = source(of: generator) { remove(source) } }

    /// Removes all sources.
    public func removeAll() { for source in sources { remove(source) } }

    /// Replaces a source by another: the one fades out while the other fades in.
    public func replace(_ old: MixerSource, with new: MixerSource) {
        guard let index = sources.firstIndex(where: { $0 === old }), old !== new else { return }
        insert(new, at: index)
        remove(old)
    }

    /// Forgets a source at once if another mixer has it; it may have come back meanwhile.
    private func forget(_ source: MixerSource) {
        if source.isIn(self) { return }
        change { control in
            if source.isIn(self) { return }
            control.sources.removeAll { $0 === source }
            control.leaving.removeAll { $0.source === source }
        }
        align([])
    }

    private func change(undo undone: (@Sendable () -> Void)? = nil, _ edit: (inout Control) -> Void) {
        let left = changing.withLock { _ in
            let (old, new, number) = control.withLock { control in
                let old = control
                edit(&control)
                // The mixer releases leavers here too, so that one that changes all the time does not grow.
                for leaver in control.leaving where leaver.source.isGone { leaver.source.leaveHome(self) }
                control.leaving.removeAll { $0.source.isGone }
                control.changes += 1
                control.version = control.changes
                control.older[control.version] = old.sources + old.leaving.map(\.source)
                if OpenTransaction.exists { control.staged.insert(control.version) }
                return (old, control, control.version)
            }
            let all = new.sources + new.leaving.map(\.source)
            strips.update(all.map(ObjectIdentifier.init)) { _, index in
                MixerStrip(all[index], isAligned: alignsLatencies)
            }
            OpenTransaction.afterCycles(
                { [weak self] in self?.release(number) },
                ifCalledOff: { [weak self] in
                    self?.control.change { control in
                        // A change since has built on this one.
                        if control.version == number {
                            (control.sources, control.leaving) = (old.sources, old.leaving)
                            control.version = old.version
                        }
                    }
                    undone?()
                    self?.release(number)
                })
            return (old, all)
        }
        // Here sources may go, with no lock held: the old list may be released already.
        withExtendedLifetime(left) {}
    }

    /// Releases the sources of an older list that is no longer in use.
    private func release(_ number: Int) {
        let (released, renderers) = control.withLock { control in
            control.staged.remove(number)
            return (control.older.removeValue(forKey: number), control.attached.living)
        }
        for renderer in renderers { renderer.refreshModulesSoon() }
        _ = released
    }

    // MARK: Render thread

    /// Runs the sources.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.push(channels: channels)
        guard strips.belongs(to: context), context.goInside() else { return }
        let (channels, number) = (channels, number)
        var someHaveSolo = false
        strips.forEach(&context) { strip, context in
            if strip.hasSolo(context) { someHaveSolo = true }
        }
        strips.forEach(&context) { strip, context in
            strip.mix(&context, into: channels, othersHaveSolo: someHaveSolo, mixer: number)
        }
        context.comeOut()
    }
}

extension Mixer: CompositeModule {
    /// The generators of its sources, and those that it may still be running although they have left.
    public var members: [any Module] {
        control.withLock { control in
            let current = control.sources + control.coming + control.leaving.map(\.source)
            return control.older.values.reduce(current, +).map(\.generator)
        }
    }

    package var arrangement: ModuleArrangement {
        alignsLatencies ? .aligned(sources.map(\.generator)) : .parallel(members)
    }

    package func dryRun(_ context: inout RenderContext) {
        context.push(channels: channels)
        for source in sources {
            context.show(source.generator, as: .generates)
            context.addTopToNext()
        }
    }

    package func attach(_ renderer: Renderer) {
        control.withLock { $0.attached.add(ObjectIdentifier(renderer)) { [weak renderer] in renderer } }
    }
}

extension Mixer: LatencyAligning {
    package var isAligning: Bool { alignsLatencies }

    /// Keeps the sizes of slices and buffers for new sources.
    public func prepare(_ preparation: Preparation) {
        prepared.withLock { $0 = preparation }
        align([])
    }

    /// Holds the sources back until the latest of them.
    package func align(_: [Int]) {
        guard alignsLatencies, let preparation = prepared.withLock({ $0 }) else { return }
        let sources = self.sources
        let latencies = sources.map { latency(of: $0.generator, at: preparation.sampleRate) }
        let latest = latencies.max() ?? 0
        for (source, latency) in zip(sources, latencies) { source.delay.hold(latest - latency, for: preparation) }
    }
}

extension Mixer: Collectable {
    /// The time in nanoseconds that a source that leaves may stay when the mixer is not rendered, so that it is
    /// released with the engine stopped.
    private static let patience: Int64 = 2_000_000_000

    /// Removes sources that have finished, and releases those that have faded out.
    package func collect() -> Bool {
        let ending = sources.filter(\.removesWhenFinished)
        for source in ending where source.hasFinished {
            // Not while another thread's transaction waits: with this change its own would be seen before its time.
            remove(source) { control in control.staged.isEmpty && source.hasFinished }
        }
        let now = HostClock.now
        let (gone, isWaiting) = control.withLock { control in
            // As a whole, because others read copies.
            control.leaving = control.leaving.map { leaver in
                let turns = leaver.source.lastOuterSlice
                return turns == leaver.turns ? leaver : Leaver(source: leaver.source, turns: turns, idleSince: now)
            }
            // Sources stay as long as the render thread has not seen the change.
            let gone =
                control.older.isEmpty
                ? control.leaving.filter { $0.source.isGone || now - $0.idleSince > Self.patience }.map(\.source) : []
            return (gone, !control.leaving.isEmpty)
        }
        if !gone.isEmpty {
            change { control in control.leaving.removeAll { leaver in gone.contains { $0 === leaver.source } } }
            for source in gone { source.leaveHome(self) }
        }
        return isWaiting || ending.contains(where: \.hasPlayed)
    }
}
