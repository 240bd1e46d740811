internal import Composition
public import RenderCore
internal import Synchronization

/// A channel strip: a generator with its volume, pan, mute and solo. The generator keeps these settings when it moves
/// from one ``Mixer`` to another.
///
///     let strip = MixerSource(drums, panning: .equalPower)
///     strip.volume.value = 0.8
///     strip.pan.value = -0.3
///     rehearsal.append(strip)
///     …
///     concert.append(strip)           // leaves the one, joins the other, sounds on
///
/// Threads: control.
public final class MixerSource: Sendable {
    /// The ways in which ``pan`` works.
    ///
    /// Threads: any.
    public enum Panning: Sendable, Hashable {
        /// The far side gets quieter, the near side stays: for stereo. In the middle nothing is changed.
        case balance
        /// Both sides have equal power, 0.707 each in the middle: to give a place to mono.
        case equalPower
    }

    /// The module that is heard.
    public let generator: any Module
    /// An amplitude factor.
    public let volume: Parameter
    /// The place from -1 (left) to 1 (right). It counts if the mixer has two channels and the source one or two.
    public let pan: Parameter
    /// The way in which ``pan`` works.
    public let panning: Panning
    /// `false` if the generator gives itself a place, and reads ``pan`` itself.
    let hasPan: Bool

    let mute = Switch()
    let solo = Switch()
    /// Holds it back until the latest source of a mixer that aligns them.
    let delay = LatencyDelay()
    /// 0 while it fades out because it leaves.
    let presence = Switch(true)
    private let home = Lock(Home())

    private struct Home {
        weak var mixer: Mixer?
        /// The number of that mixer: whoever compares mixers under the lock must not hold one, since it might be the last to do so.
        var number: UInt64 = 0
        var hasMoved = false
    }

    /// Notes that mixers leave for each other and for the control side. Written on the render thread.
    let notes = SharedWords()
    enum Note {
        /// The gate of the fade-in, 0 to 1: the bits of a float.
        static var gate: Int { @_noLocks @_noAllocation get { 0 } }
        /// The bits of `Flag`.
        static var flags: Int { @_noLocks @_noAllocation get { 1 } }
        /// The outer slice in which it was rendered last.
        static var outerSlice: Int { @_noLocks @_noAllocation get { 2 } }
        /// The mixer that rendered it then.
        static var mixer: Int { @_noLocks @_noAllocation get { 3 } }
    }

    enum Flag {
        /// The source has faded out because it leaves.
        static var hasLeft: UInt64 { @_noLocks @_noAllocation get { 1 } }
        /// The generator has been active since the source joined.
        static var hasPlayed: UInt64 { @_noLocks @_noAllocation get { 2 } }
        /// It was active, and is not any more.
        static var hasFinished: UInt64 { @_noLocks @_noAllocation get { 4 } }
    }
    private let leavesAlone = Atomic<Bool>(false)

    /// Creates a strip.
    ///
    /// - Parameters:
    ///   - generator: The module to hear: a generator, or another module that takes nothing from the stack and pushes
    ///     one buffer. Any other is silent, and a `Fault`.
    ///   - volume: An amplitude factor, 0…16.
    ///   - pan: -1 (left) to 1 (right).
    ///   - panning: The way in which that works.
    public init(_ generator: any Module, volume: Float = 1, pan: Float = 0, panning: Panning = .balance) {
        self.generator = generator
        self.volume = Parameter(volume, in: 0...16)
        self.pan = Parameter(pan, in: -1...1)
        self.panning = panning
        hasPan = true
    }

    /// Creates a strip that leaves its pan to the generator, which gives itself a place.
    package init(placed generator: any PlacedModule, pan: borrowing Parameter) {
        self.generator = generator
        volume = Parameter(1, in: 0...16)
        self.pan = Parameter(sharing: pan)
        panning = .balance
        hasPan = false
    }

    /// Indicates whether the source is silent, whatever its volume. It goes on playing.
    public var isMuted: Bool {
        get { mute.isOn }
        set { mute.isOn = newValue }
    }

    /// Indicates whether only this source of its mixer is heard, and others that have solo too.
    public var isSolo: Bool {
        get { solo.isOn }
        set { solo.isOn = newValue }
    }

    /// Indicates whether the mixer removes the source when its generator has finished: when a player has come to its end, or was
    /// stopped. By default it does not.
    ///
    ///     takes.append(player, removesWhenFinished: true)
    ///     player.play()                           // and no more is to be done
    ///
    /// A generator has finished when it was active since it joined, and is not active any more (`Module.isActive`), and the last of
    /// its sound has been heard. A player that has not been started yet, waits for its time, or rests, has not finished; a module
    /// that is always active never does. The mixer removes it on a thread of RenderStack's own within some milliseconds, once; while a
    /// transaction with a change of the mixer's sources waits for its time, behind that. A player that is started again before the
    /// removal stays; one inside of another generator, a `RateConverter` say, stays if a cycle has seen the start.
    public var removesWhenFinished: Bool {
        get { leavesAlone.load(ordering: .acquiring) }
        set {
            leavesAlone.store(newValue, ordering: .releasing)
            if newValue, let mixer { Collector.shared.add(mixer) }
        }
    }

    /// Indicates whether the generator has finished, and no start is under way.
    var hasFinished: Bool {
        let isAtRest = (generator as? any EndingModule)?.isAtRest ?? true
        // In this order: a cycle takes the flag back before it looks for a start.
        return isAtRest && notes[Note.flags] & Flag.hasFinished != 0
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [volume.named("volume"), pan.named("pan"), mute.named("mute"), solo.named("solo")]
    }

    /// The mixer that it is in, or that it is leaving.
    public var mixer: Mixer? { home.withLock { $0.mixer } }

    // MARK: Control side

    /// Enters a mixer. Returns the one that it was in.
    func move(to mixer: Mixer?) -> Mixer? {
        home.withLock { home in
            let old = home.mixer
            if old !== mixer { home.hasMoved = old != nil }
            (home.mixer, home.number) = (mixer, mixer?.number ?? 0)
            return old
        }
    }

    /// Indicates whether the source comes from another mixer, whose renderer may have it still.
    var hasMoved: Bool { home.withLock { $0.hasMoved } }

    /// Returns whether the source is in this mixer, or is leaving it.
    package func isIn(_ mixer: Mixer) -> Bool { home.withLock { $0.number == mixer.number } }

    /// Leaves its mixer, if that is this one.
    func leaveHome(_ mixer: Mixer) {
        home.withLock { home in if home.number == mixer.number { (home.mixer, home.number) = (nil, 0) } }
    }

    func setPresent(_ isPresent: Bool) { presence.isOn = isPresent }

    /// Sets the gate at which the source begins when it is heard next.
    func begin(faded: Bool) {
        notes[Note.gate] = UInt64((faded ? 0 : 1 as Float).bitPattern)
        notes[Note.flags] = 0
    }

    /// Forgets what its generator has done so far.
    func forgetFlags() { notes[Note.flags] = 0 }

    /// Indicates whether the generator has been active since the source joined.
    var hasPlayed: Bool { notes[Note.flags] & Flag.hasPlayed != 0 }

    /// Indicates whether the source has faded out.
    var isGone: Bool { notes[Note.flags] & Flag.hasLeft != 0 }

    /// Changes with every slice in which a mixer has it.
    var lastOuterSlice: UInt64 { notes[Note.outerSlice] }
}

/// A generator that gives itself a place: it is told in which mixer it is.
package protocol PlacedModule: Module {
    /// Enters a mixer, by which it is run from now on.
    func enter(_ mixer: Mixer, from old: Mixer?)
}

/// A source in a mixer, on the render thread. It holds the parts of the source that it needs: loading a class would
/// count.
struct MixerStrip: ~Copyable, Sendable {
    private let generator: ModuleHandle
    private let volume: Parameter
    private let pan: Parameter
    private let mute: Switch
    private let solo: Switch
    private let presence: Switch
    private let hasEqualPower: Bool
    private let hasPan: Bool
    private let hasMoved: Bool
    private let notes: SharedWords
    private let delay: LatencyDelay
    private let isAligned: Bool

    /// Fades in a source that joins, and out one that leaves, is muted, or has no solo while others have.
    private var gate = Signal.Fader(0)
    private var isNew = true
    /// The host time since which the source waits until another renderer releases it; 0 if it does not wait.
    private var waitsSince: Int64 = 0

    init(_ source: MixerSource, isAligned: Bool) {
        delay = LatencyDelay(sharing: source.delay)
        self.isAligned = isAligned
        generator = ModuleHandle(source.generator, as: .generates)
        volume = Parameter(sharing: source.volume)
        pan = Parameter(sharing: source.pan)
        mute = Switch(sharing: source.mute)
        solo = Switch(sharing: source.solo)
        presence = Switch(sharing: source.presence)
        hasEqualPower = source.panning == .equalPower
        hasPan = source.hasPan
        hasMoved = source.hasMoved
        notes = SharedWords(sharing: source.notes)
    }

    /// The time that joining, leaving, muting and solo take.
    private static var fadeSeconds: Double { @_noLocks @_noAllocation get { 0.005 } }

    @_noLocks @_noAllocation
    borrowing func hasSolo(_ context: borrowing RenderContext) -> Bool { solo.isOn(context) }

    /// Adds the source to the top.
    @_noLocks @_noAllocation
    mutating func mix(_ context: inout RenderContext, into channels: Int, othersHaveSolo: Bool, mixer: UInt64) {
        guard takesTurn(in: mixer, context) else { return }
        // Also while it is silent, so that it does not begin with an old glide.
        let (volume, pan) = (volume.glide(context), hasPan ? pan.glide(context) : Glide(0))
        let isPresent = presence.isOn(context)
        let isHeard = isHeard(context, othersHaveSolo)
        if isNew && isAligned && !hasMoved { delay.reset(context) }
        if isNew { gate = Signal.Fader(Float(bitPattern: UInt32(truncatingIfNeeded: notes[MixerSource.Note.gate]))) }
        gate.head(for: isHeard ? 1 : 0, frames: Int(context.sampleRate * MixerStrip.fadeSeconds))
        var flags = notes[MixerSource.Note.flags] & MixerSource.Flag.hasPlayed
        if isPresent || gate.framesLeft > 0 {
            notes[MixerSource.Note.flags] = flags
            switch generator.run(&context, waits: mayWait()) {
            case .unknown: return
            case .elsewhere:
                if waitsSince == 0 { waitsSince = HostClock.now }
                return
            case .inactive:
                let isOver = !isAligned || delay.channelsLeft(context) == 0
                if isOver && flags != 0 { flags |= MixerSource.Flag.hasFinished }
                gate = Signal.Fader(isHeard ? 1 : 0)
                if isAligned { addRest(&context, volume, pan, channels, isHeard: isHeard) }
            case .ran:
                flags = MixerSource.Flag.hasPlayed
                if isAligned { delay.process(&context) }
                if gate.framesLeft > 0 || isHeard {
                    applyGate(&context)
                    add(&context, volume, pan, channels)
                } else {
                    context.pop()
                }
            }
        }
        isNew = false
        notes[MixerSource.Note.gate] = UInt64(gate.value.bitPattern)
        if !isPresent && gate.framesLeft == 0 { flags |= MixerSource.Flag.hasLeft }
        notes[MixerSource.Note.flags] = flags
    }

    /// Returns whether this mixer may run the source in this slice: not if another mixer has run it, as may be while it
    /// moves.
    @_noLocks @_noAllocation
    private borrowing func takesTurn(in mixer: UInt64, _ context: borrowing RenderContext) -> Bool {
        let number = context.outerSlice.number
        if notes[MixerSource.Note.outerSlice] == number {
            if notes[MixerSource.Note.mixer] != mixer { return false }
        }
        notes[MixerSource.Note.outerSlice] = number
        notes[MixerSource.Note.mixer] = mixer
        return true
    }

    /// Returns whether the source may still be on its way from another renderer, which takes that one a few cycles of
    /// its own; a busy machine may keep its thread waiting for a second or two.
    @_noLocks @_noAllocation
    private borrowing func mayWait() -> Bool {
        guard isNew && hasMoved else { return false }
        return waitsSince == 0 || HostClock.now &- waitsSince < 5_000_000_000
    }

    @_noLocks @_noAllocation
    private borrowing func isHeard(_ context: borrowing RenderContext, _ othersHaveSolo: Bool) -> Bool {
        if !presence.isOn(context) { return false }
        if mute.isOn(context) { return false }
        return othersHaveSolo ? solo.isOn(context) : true
    }

    @_noLocks @_noAllocation
    private mutating func applyGate(_ context: inout RenderContext) {
        guard gate.framesLeft > 0 else { return }
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            Signal.applyGain(along: gate, to: &samples)
        }
        gate.advance(by: top.frameCount)
    }

    /// Adds the sound that is still held back of a source that has ended.
    @_noLocks @_noAllocation
    private borrowing func addRest(
        _ context: inout RenderContext, _ volume: Glide, _ pan: Glide, _ channels: Int, isHeard: Bool
    ) {
        let left = delay.channelsLeft(context)
        if left == 0 { return }
        context.push(channels: left)
        delay.process(&context, hasEnded: true)
        if isHeard { add(&context, volume, pan, channels) } else { context.pop() }
    }

    /// Adds the top to the mix, with volume and pan.
    @_noLocks @_noAllocation
    private borrowing func add(_ context: inout RenderContext, _ volume: Glide, _ pan: Glide, _ channels: Int) {
        let hasSides = channels == 2 ? context.channelCount() <= 2 : false
        if !hasPan && volume.isFlat && volume.end == 1 {
            context.addTopToNext()
        } else if hasSides && volume.isFlat && (pan.isFlat || !hasPan) {
            addAtRest(&context, volume.end, hasPan ? pan.end : 0)
        } else if !hasSides || !hasPan {
            context.gain(volume)
            context.addTopToNext()
        } else {
            if hasEqualPower {
                context.gain(volume)
                context.pan(pan)
            } else {
                context.fade(volume: volume, balance: pan)
            }
            context.addTopToNext()
        }
    }

    /// Adds the source in one go while nothing glides, with the same products, so that the samples are the same.
    @_noLocks @_noAllocation
    private borrowing func addAtRest(_ context: inout RenderContext, _ volume: Float, _ pan: Float) {
        var (left, right) = (1 - (pan > 0 ? pan : 0), 1 + (pan < 0 ? pan : 0))
        if hasEqualPower {
            let sides = PanGains(pan)
            (left, right) = (sides.left, sides.right)
        }
        context.withTop2 { source, sum in
            let first = source.samples(0)
            var sumLeft = sum[0]
            for i in first.indices { sumLeft[i] += first[i] * volume * left }
            let second = source.samples(source.channelCount &- 1)
            var sumRight = sum[1]
            for i in second.indices { sumRight[i] += second[i] * volume * right }
        }
        context.pop()
    }
}
