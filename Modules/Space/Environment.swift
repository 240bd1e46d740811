internal import Mixing
public import RenderCore
public import SOFAFiles
internal import Sharing

/// A room with a listener and any number of sources around it. Pushes one buffer.
///
///     let environment = try Environment(hrtf: .kemar())
///     let bee = environment.append(SpatialSource(buzz, rendering: .hrtf()))
///     bee.position = SpatialPoint(0, 1, -5)
///     environment.listener.yaw.value = 30
///     …
///     context.run(environment)
///
/// You may add and remove sources while it plays, as in a `Mixer`: they fade for 5 ms, and all changes of a
/// `Renderer.transaction` happen in one cycle. A source that comes from another environment sounds on.
///
/// ``SpatialSource/send`` sends a part of each source, before it gets its direction, through one reverb, whose sound goes into the
/// first two channels (with ambisonics into the first). The `mix` of the reverb should be 1.
///
/// With a reverb, the stack needs a channel more than the layout has: 9 for 7.1.
/// Latency: 8 frames, besides the time that the sound needs through the air.
///
/// Threads: control.
public final class Environment: Generator {
    /// The listener: its place, its velocity and the turn of its head.
    public let listener = Listener()
    /// The speed of sound in metres per second: 50…2,000.
    public let speedOfSound: Parameter
    /// The channels.
    public let layout: SpatialLayout
    /// The module that the sends go through.
    public let reverb: (any Module)?
    /// The name of the module in faults and statistics.
    public let name: String

    private let mixer: Mixer
    private let mixerHandle: ModuleHandle
    private let reverbHandle: ModuleHandle
    private let hasReverb: Bool
    private let head: SharedState<HeadHolder>
    private let numbers: ListenerNumbers
    private let motion: SharedState<ListenerMotion>
    private let moves = ManagedValue(SpatialEnds.Move())
    private let ends = RenderState(SpatialEnds())
    /// The versions of the listener's motion and of the head, as sources look at them.
    private let versions = SharedWords()
    private let control: Lock<Control>

    private struct Control {
        var hrtf: HRTF?
        /// The sources by their strips, which the mixer lists: those that have left stay until the next one comes, so
        /// that a transaction that throws gives them back. Each has the version of the control in which it came.
        var known: [ObjectIdentifier: (source: SpatialSource, version: Int)] = [:]
        var version = 0
        var sampleRate = 0.0
        /// The number of sources that have gone elsewhere while they sounded.
        var moves = 0
        /// The number of times that the responses or the rate were set, and the one of them for which the table was made.
        var wantedHead = 0
        var madeHead = 0
    }

    /// Creates an environment.
    ///
    /// - Parameters:
    ///   - layout: The channels.
    ///   - hrtf: The responses of a head for sources that are rendered with them.
    ///   - reverb: An effect that the sends of all sources go through: a `Reverb`, a `ConvolutionReverb`. A module that
    ///     does not edit one buffer is silent there, and a `Fault`.
    ///   - name: The name in faults and statistics.
    public init(
        _ layout: SpatialLayout = .stereo, hrtf: HRTF? = nil, reverb: (any Module)? = nil, name: String = "Environment"
    ) {
        self.layout = layout
        self.reverb = reverb
        hasReverb = reverb != nil
        self.name = name
        speedOfSound = Parameter(343, in: 50...2_000, glide: .none)
        mixer = Mixer(channels: layout.channels + (reverb == nil ? 0 : 1), name: name)
        mixerHandle = ModuleHandle(mixer)
        let room: any Module = reverb ?? NoReverb()
        reverbHandle = ModuleHandle(room, as: .edits)
        head = SharedState(HeadHolder())
        numbers = ListenerNumbers(listener, speedOfSound: speedOfSound)
        motion = SharedState(ListenerMotion())
        control = Lock(Control(hrtf: hrtf), .leaf)
        mixer.owner = self
    }

    // MARK: Control side

    /// The sources, in order. Those that are leaving are not counted.
    public var sources: [SpatialSource] {
        let strips = mixer.sources
        return control.withLock { control in strips.compactMap { control.known[ObjectIdentifier($0)]?.source } }
    }

    /// Adds a source. A source of another environment moves.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - fadesIn: `false` if it begins by itself, so that its attack is kept.
    /// - Returns: The source.
    @discardableResult
    public func append(_ source: SpatialSource, fadesIn: Bool = true) -> SpatialSource {
        forgetThoseThatLeft()
        if let old = source.environment, old !== self {
            old.noteMove(from: min(old.layout.channels, layout.channels))
        }
        control.withLock { control in
            control.version += 1
            control.known[ObjectIdentifier(source.strip)] = (source, control.version)
        }
        source.placed.enter(motion, layout, sends: hasReverb, head, versions, fadesIn: fadesIn)
        mixer.append(source.strip, fadesIn: fadesIn)
        return source
    }

    /// Adds a generator as a source of its own.
    ///
    /// - Parameters:
    ///   - generator: The module to hear: a generator, or another module that pushes one buffer.
    ///   - rendering: The way in which it gets its direction.
    ///   - position: Its place.
    /// - Returns: The new source.
    @discardableResult
    public func append(
        _ generator: any Module, rendering: SpatialRendering = .equalPower, position: SpatialPoint = SpatialPoint()
    ) -> SpatialSource {
        append(SpatialSource(generator, rendering: rendering, position: position))
    }

    /// Has a source play in a mixer as it is, while its place here fades.
    func leave(_ placed: PlacedGenerator, for mixer: Mixer) {
        let fits = layout != .ambisonics && layout.channels <= max(2, mixer.channels)
        noteMove(from: fits ? layout.channels : 2)
        placed.enter(
            motion, fits ? layout : .stereo, sends: false, head, versions, flat: mixer.channels, fadesIn: false)
    }

    /// Notes that a source goes on elsewhere, but for its sound from a channel on, which falls.
    private func noteMove(from first: Int) {
        let number = control.withLock { control in
            control.moves += 1
            return control.moves
        }
        moves.set(SpatialEnds.Move(number: number, first: first))
    }

    /// Removes a source: it fades out first.
    ///
    /// - Parameter source: The source. One that is not in here stays where it is.
    public func remove(_ source: SpatialSource) { mixer.remove(source.strip) }

    /// Removes all sources.
    public func removeAll() { for source in sources { remove(source) } }

    private func forgetThoseThatLeft() {
        let known = control.withLock { control in control.known.map { $0 } }
        let gone = known.filter { !$0.value.source.strip.isIn(mixer) }
        control.withLock { control in
            // Unless one came back meanwhile.
            for (strip, entry) in gone where control.known[strip]?.version == entry.version {
                control.known[strip] = nil
            }
        }
        // Here they may go, with no lock held.
        withExtendedLifetime(gone) {}
    }

    /// The responses of the head; without any, sources are rendered by a spherical head. The thread that sets new ones brings
    /// them to the sample rate, which takes a part of a second, once for each rate; they are heard after that. A transaction
    /// does not hold them back.
    public var hrtf: HRTF? {
        get { control.withLock { $0.hrtf } }
        set {
            control.change { control in
                control.hrtf = newValue
                control.wantedHead += 1
            }
            makeHead()
        }
    }

    /// Brings the responses to the sample rate, if that has not been done.
    private func makeHead() {
        guard layout.isStereo else { return }
        var (hrtf, rate, wanted, made) = control.withLock { ($0.hrtf, $0.sampleRate, $0.wantedHead, $0.madeHead) }
        while rate > 0 && wanted != made {
            head.replace(with: hrtf?.table(sampleRate: rate).map { HeadHolder($0) } ?? HeadHolder())
            // Another thread may have set others meanwhile, which the ones from here must not stand in for.
            made = wanted
            (hrtf, rate, wanted) = control.withLock { control in
                if control.wantedHead == made { control.madeHead = made }
                return (control.hrtf, control.sampleRate, control.wantedHead)
            }
        }
    }

    /// Brings the responses to the sample rate.
    public func prepare(_ preparation: Preparation) {
        control.withLock { control in
            if control.sampleRate != preparation.sampleRate { control.wantedHead += 1 }
            control.sampleRate = preparation.sampleRate
        }
        makeHead()
    }

    /// The parameters by name: that of the first source begins with `source 1`.
    public var parameters: [ParameterReference] {
        [speedOfSound.named("speedOfSound")] + listener.parameters.inside("listener")
            + sources.enumerated().flatMap { index, source in source.parameters.inside("source \(index + 1)") }
    }

    /// Returns the largest latency of a source.
    public func latency(at sampleRate: Double) -> Int { latencyOfArrangement(at: sampleRate) }

    // MARK: Render thread

    /// Runs the sources.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let channels = layout.channels
        let settings = numbers.read(context)
        var (motionVersion, headVersion) = (0, 0)
        motion.with(&context) { motion, context in
            motion.take(settings, at: context.sampleTime, sampleRate: context.sampleRate)
            motionVersion = motion.version
        }
        head.with(&context) { head, _ in headVersion = head.version }
        versions[0] = UInt64(truncatingIfNeeded: motionVersion)
        versions[1] = UInt64(truncatingIfNeeded: headVersion)
        if !hasReverb {
            guard case .ran = mixerHandle.run(&context) else { return context.push(channels: channels) }
            if channels > 2 { end(&context) }
            return
        }
        context.push(channels: channels)
        guard case .ran = mixerHandle.run(&context) else { return }
        end(&context)
        context.withTop2 { mix, sum in
            for channel in 0..<sum.channelCount {
                let source = mix.samples(channel)
                var output = sum[channel]
                for i in output.indices { output[i] = source[i] }
            }
        }
        context.push(channels: layout.wetChannels)
        context.withTop2 { sent, mix in
            let source = mix.samples(mix.channelCount &- 1)
            for channel in 0..<sent.channelCount {
                var output = sent[channel]
                for i in output.indices { output[i] = source[i] }
            }
        }
        _ = reverbHandle.run(&context)
        context.swap()
        context.pop()
        context.withTop2 { sent, sum in
            let shown = sent.channelCount < sum.channelCount ? sent.channelCount : sum.channelCount
            for channel in 0..<shown {
                let source = sent.samples(channel)
                var output = sum[channel]
                for i in output.indices { output[i] += source[i] }
            }
        }
        context.pop()
    }

    /// Lets the sound fall that has gone elsewhere.
    @_noLocks @_noAllocation
    private func end(_ context: inout RenderContext) {
        var (number, first) = (0, 0)
        moves.with(&context) { move, _ in (number, first) = (move.number, move.first) }
        ends.with(&context) { ends, context in ends.process(&context, number, from: first) }
    }

    /// Forgets the sound that falls.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { ends.with(&context) { ends, _ in ends.reset() } }
}

/// Stands where there is no reverb. It does not run.
private final class NoReverb: Effect {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {}
}

extension Environment: CompositeModule {
    /// The mixer of its sources, and the reverb.
    public var members: [any Module] { reverb.map { [mixer, $0] } ?? [mixer] }

    package var arrangement: ModuleArrangement { .chain([mixer]) }

    package func dryRun(_ context: inout RenderContext) {
        guard let reverb else { return context.run(mixer) }
        context.push(channels: layout.channels)
        context.run(mixer)
        context.push(channels: layout.wetChannels)
        context.show(reverb, as: .edits)
        context.swap()
        context.pop()
        context.pop()
    }

    package func attach(_ renderer: Renderer) {}
}
