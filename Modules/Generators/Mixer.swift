public import RenderCore
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
///     music.append(bass).isSolo = true            // while it plays, from any thread
///     music.remove(drums)                         // fades out, then is let go of
///     master.append(music)                        // a mixer is a source too
///
/// A source is any generator: of any number of channels (mono goes to every channel, into a mono mixer everything sums,
/// else channel goes to channel), of another sample rate through a `RateConverter`. One that is not active costs a few
/// loads and is passed over.
///
/// **Who joins** fades in for 5 ms, unless it is said not to, or was there from the start; who leaves, is muted, or has no
/// solo where others have, fades out for 5 ms, and on the way back in. Who moves to another mixer sounds on without a
/// fade. Volume and pan glide for 10 ms. Sources that stay go on as they are, in whatever order they are put. Inside
/// `Renderer.transaction` all of this happens in one cycle, together with the rest.
public final class Mixer: Generator {
    /// Channels of the sum.
    public let channels: Int
    /// What faults and statistics call it.
    public let name: String

    private let strips = ManagedArray<ObjectIdentifier, MixerStrip>()
    private let control: Lock<Control>
    /// Held from a change to what the render thread sees of it, so that the last change is what is heard.
    private let changing = Lock(0)
    private let number = Mixer.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    private static let numbers = Atomic<UInt64>(0)

    private struct Control {
        var sources: [MixerSource] = []
        /// Those that fade out.
        var leaving: [Leaver] = []
        /// Which change they come from, and how many there have been.
        var version = 0
        var changes = 0
        /// What older lists hold that may still be running.
        var older: [Int: [MixerSource]] = [:]
        var attached = AttachedRenderers()
    }

    private struct Leaver {
        let source: MixerSource
        var turns: UInt64
        /// Since when nobody has run it, by the host clock.
        var idleSince = HostClock.now
    }

    /// A mixer.
    ///
    /// - Parameters:
    ///   - channels: channels of the sum, 1…64; silent where nobody plays.
    ///   - sources: who is there from the start, and does not fade in.
    ///   - name: what faults and statistics call it.
    public init(channels: Int = 2, _ sources: [MixerSource] = [], name: String = "Mixer") {
        self.channels = channels
        self.name = name
        control = Lock(Control())
        for source in sources { insert(source, at: .max, fadesIn: false) }
    }

    // MARK: Control side

    /// Who is heard, in order. Those that are leaving are not counted.
    public var sources: [MixerSource] { control.withLock { $0.sources } }

    /// The strip of a generator; `nil` if it is not here.
    public func source(of generator: any Generator) -> MixerSource? { sources.first { $0.generator === generator } }

    /// Adds a source at the end. One that is in another mixer moves; one that is here goes to the end.
    @discardableResult
    public func append(_ source: MixerSource, fadesIn: Bool = true) -> MixerSource {
        insert(source, at: .max, fadesIn: fadesIn)
        return source
    }

    /// Adds a generator at the end, in a strip of its own.
    ///
    /// - Parameters:
    ///   - generator: what is to be heard.
    ///   - panning: what the strip's pan does.
    ///   - fadesIn: `false` if it begins by itself, so that its attack is kept.
    /// - Returns: its strip; the one that it has if it is here.
    @discardableResult
    public func append(
        _ generator: any Generator, panning: MixerSource.Panning = .balance, fadesIn: Bool = true
    ) -> MixerSource {
        append(source(of: generator) ?? MixerSource(generator, panning: panning), fadesIn: fadesIn)
    }

    /// Adds a source at a place, or brings it there. The order makes no difference to the sum but for its rounding.
    public func insert(_ source: MixerSource, at index: Int, fadesIn: Bool = true) {
        let old = source.move(to: self)
        if old == nil { source.begin(faded: fadesIn) }
        source.setPresent(true)
        change(undo: { [weak old] in _ = source.move(to: old) }) { sources, leaving in
            sources.removeAll { $0 === source }
            leaving.removeAll { $0.source === source }
            sources.insert(source, at: max(0, min(index, sources.count)))
        }
        if let old, old !== self { old.forget(source) }
    }

    /// Removes a source: it fades out first.
    public func remove(_ source: MixerSource) {
        guard sources.contains(where: { $0 === source }) else { return }
        source.setPresent(false)
        change { sources, leaving in
            sources.removeAll { $0 === source }
            leaving.append(Leaver(source: source, turns: source.lastPass))
        }
        Collector.shared.add(self)
    }

    /// Removes a generator, if it is here.
    public func remove(_ generator: any Generator) { if let source = source(of: generator) { remove(source) } }

    /// Removes all sources.
    public func removeAll() { for source in sources { remove(source) } }

    /// Puts a source in the place of another: the one fades out while the other fades in.
    public func replace(_ old: MixerSource, with new: MixerSource) {
        guard let index = sources.firstIndex(where: { $0 === old }), old !== new else { return }
        insert(new, at: index)
        remove(old)
    }

    /// Lets go of a source at once: another mixer has it.
    private func forget(_ source: MixerSource) {
        change { sources, leaving in
            sources.removeAll { $0 === source }
            leaving.removeAll { $0.source === source }
        }
    }

    private func change(
        undo undone: (@Sendable () -> Void)? = nil, _ edit: (inout [MixerSource], inout [Leaver]) -> Void
    ) {
        let retire = changing.withLock { _ in
            let (old, new, number, renderers) = control.withLock { control in
                let old = control
                edit(&control.sources, &control.leaving)
                // Also here, so that a mixer that is never left in peace does not grow.
                for leaver in control.leaving where leaver.source.isGone { leaver.source.leaveHome(self) }
                control.leaving.removeAll { $0.source.isGone }
                control.changes += 1
                control.version = control.changes
                control.older[control.version] = old.sources + old.leaving.map(\.source)
                return (old, control, control.version, control.attached.renderers)
            }
            // First the renderers learn of the new sources, then they are heard, then the old ones are let go of.
            for renderer in renderers { renderer.refreshModules() }
            let all = new.sources + new.leaving.map(\.source)
            return strips.exchange(
                all.map(ObjectIdentifier.init), whenOldIsReleased: { [weak self] in self?.release(number) },
                undo: { [weak self] in
                    self?.control.withLock { control in
                        // Whoever has changed the list since has built on this.
                        if control.version == number {
                            (control.sources, control.leaving) = (old.sources, old.leaving)
                            control.version = old.version
                        }
                    }
                    undone?()
                    self?.release(number)
                },
                make: { _, index in MixerStrip(all[index]) })
        }
        retire()
    }

    /// An older list is no longer in use.
    private func release(_ number: Int) {
        let (released, renderers) = control.withLock { control in
            (control.older.removeValue(forKey: number), control.attached.renderers)
        }
        for renderer in renderers { renderer.refreshModulesSoon() }
        _ = released
    }

    // MARK: Render thread

    /// Runs the sources.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.push(channels: channels)
        let (channels, number) = (channels, number)
        var someHaveSolo = false
        strips.forEach(&context) { strip, context in
            if strip.hasSolo(context) { someHaveSolo = true }
        }
        strips.forEach(&context) { strip, context in
            strip.mix(&context, into: channels, othersHaveSolo: someHaveSolo, mixer: number)
        }
    }

    /// Resets the sources.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        strips.forEach(&context) { strip, context in strip.reset(&context) }
    }
}

extension Mixer: CompositeModule {
    package var members: [any Module] {
        control.withLock { control in
            let current = control.sources + control.leaving.map(\.source)
            return control.older.values.reduce(current, +).map(\.generator)
        }
    }

    package func dryRun(_ context: inout RenderContext) {
        func show(_ generator: some Generator, _ context: inout RenderContext) { context.run(generator) }
        context.push(channels: channels)
        for source in sources {
            show(source.generator, &context)
            context.addTopToNext()
        }
    }

    package func attach(_ renderer: Renderer) { control.withLock { $0.attached.attach(renderer) } }
}

extension Mixer: Collectable {
    /// How long a source that leaves may stay when nobody renders it, so that it is let go of with the engine stopped.
    private static let patience: Int64 = 2_000_000_000

    /// Lets go of who has faded out.
    package func collect() -> Bool {
        let now = HostClock.now
        let (gone, isWaiting) = control.withLock { control in
            for index in control.leaving.indices {
                let turns = control.leaving[index].source.lastPass
                if turns != control.leaving[index].turns {
                    control.leaving[index].turns = turns
                    control.leaving[index].idleSince = now
                }
            }
            // A change that the render thread has not seen yet is not to be hurried.
            let gone =
                control.older.isEmpty
                ? control.leaving.filter { $0.source.isGone || now - $0.idleSince > Self.patience }.map(\.source) : []
            return (gone, !control.leaving.isEmpty)
        }
        if !gone.isEmpty {
            change { _, leaving in leaving.removeAll { leaver in gone.contains { $0 === leaver.source } } }
            for source in gone { source.leaveHome(self) }
        }
        return isWaiting
    }
}
