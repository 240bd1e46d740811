public import RenderCore

/// A channel strip: a generator with its volume, pan, mute and solo. They belong to it and go with it from one
/// ``Mixer`` to another.
///
///     let strip = MixerSource(drums, panning: .equalPower)
///     strip.volume.value = 0.8
///     strip.pan.value = -0.3
///     rehearsal.append(strip)
///     …
///     concert.append(strip)           // leaves the one, joins the other, sounds on
public final class MixerSource: Sendable {
    /// What ``pan`` does.
    public enum Panning: Sendable, Hashable {
        /// The far side gets quieter, the near side stays: for stereo. In the middle nothing is changed.
        case balance
        /// Both sides have equal power, 0.707 each in the middle: for mono that is to have a place.
        case equalPower
    }

    /// What is heard.
    public let generator: any Generator
    /// An amplitude factor.
    public let volume: Parameter
    /// -1 (left) to 1 (right). It counts where the mixer has two channels and the source one or two.
    public let pan: Parameter
    /// What ``pan`` does.
    public let panning: Panning

    let mute = Parameter(0, in: 0...1, glide: .none)
    let solo = Parameter(0, in: 0...1, glide: .none)
    /// 0 while it fades out because it leaves.
    let presence = Parameter(1, in: 0...1, glide: .none)
    private let home = Lock(Home())

    private struct Home {
        weak var mixer: Mixer?
    }

    /// What mixers leave for each other and for the control side. Written on the render thread.
    let notes = SharedWords()
    enum Note {
        /// How far it has faded in: the bits of a float.
        static var gate: Int { @_noLocks @_noAllocation get { 0 } }
        /// Whether it has faded out because it leaves.
        static var hasLeft: Int { @_noLocks @_noAllocation get { 1 } }
        /// In which pass it was rendered last.
        static var pass: Int { @_noLocks @_noAllocation get { 2 } }
        /// And by which mixer.
        static var mixer: Int { @_noLocks @_noAllocation get { 3 } }
    }

    /// A strip.
    ///
    /// - Parameters:
    ///   - generator: what is heard.
    ///   - volume: an amplitude factor, 0…16.
    ///   - pan: -1 (left) to 1 (right).
    ///   - panning: what that does.
    public init(_ generator: any Generator, volume: Float = 1, pan: Float = 0, panning: Panning = .balance) {
        self.generator = generator
        self.volume = Parameter(volume, in: 0...16)
        self.pan = Parameter(pan, in: -1...1)
        self.panning = panning
    }

    /// Whether it is silent, whatever its volume. It goes on playing.
    public var isMuted: Bool {
        get { mute.value > 0.5 }
        set { mute.value = newValue ? 1 : 0 }
    }

    /// Whether only this is heard of the mixer that it is in, and others that have solo too.
    public var isSolo: Bool {
        get { solo.value > 0.5 }
        set { solo.value = newValue ? 1 : 0 }
    }

    /// The mixer that it is in, or that it is leaving.
    public var mixer: Mixer? { home.withLock { $0.mixer } }

    // MARK: Control side

    /// Enters a mixer. Returns the one that it was in.
    func move(to mixer: Mixer?) -> Mixer? {
        home.withLock { home in
            defer { home.mixer = mixer }
            return home.mixer
        }
    }

    /// Is in no mixer, if it was in this one.
    func leaveHome(_ mixer: Mixer) {
        home.withLock { home in if home.mixer === mixer { home.mixer = nil } }
    }

    func setPresent(_ isPresent: Bool) { presence.value = isPresent ? 1 : 0 }

    /// Where it begins when it is heard next.
    func begin(faded: Bool) {
        notes[Note.gate] = UInt64((faded ? 0 : 1 as Float).bitPattern)
        notes[Note.hasLeft] = 0
    }

    /// Whether it has faded out.
    var isGone: Bool { notes[Note.hasLeft] != 0 }

    /// Changes with every slice in which a mixer has it.
    var lastPass: UInt64 { notes[Note.pass] }
}

/// A source in a mixer, on the render thread. It holds what it needs of the source itself: loading a class would count.
struct MixerStrip: ~Copyable, Sendable {
    private let member: Member
    private let volume: Parameter
    private let pan: Parameter
    private let mute: Parameter
    private let solo: Parameter
    private let presence: Parameter
    private let hasEqualPower: Bool
    private let notes: SharedWords

    /// Fades in who joins and out who leaves, is muted, or has no solo where others have.
    private var gate = Signal.Fader(0)
    private var isNew = true

    init(_ source: MixerSource) {
        member = Member(source.generator)
        volume = Parameter(sharing: source.volume)
        pan = Parameter(sharing: source.pan)
        mute = Parameter(sharing: source.mute)
        solo = Parameter(sharing: source.solo)
        presence = Parameter(sharing: source.presence)
        hasEqualPower = source.panning == .equalPower
        notes = SharedWords(sharing: source.notes)
    }

    /// How long joining, leaving, muting and solo take.
    private static var fadeSeconds: Double { @_noLocks @_noAllocation get { 0.005 } }

    @_noLocks @_noAllocation
    borrowing func hasSolo(_ context: borrowing RenderContext) -> Bool { solo.current(context) > 0.5 }

    @_noLocks @_noAllocation
    borrowing func reset(_ context: inout RenderContext) { member.reset(&context) }

    /// Adds the source to the top.
    @_noLocks @_noAllocation
    mutating func mix(_ context: inout RenderContext, into channels: Int, othersHaveSolo: Bool, mixer: UInt64) {
        guard takesTurn(in: mixer, context) else { return }
        // Also while it is silent, so that it does not begin with an old glide.
        let (volume, pan) = (volume.glide(context), pan.glide(context))
        let isPresent = presence.current(context) > 0.5
        let isHeard = isHeard(context, othersHaveSolo)
        if isNew { gate = Signal.Fader(Float(bitPattern: UInt32(truncatingIfNeeded: notes[MixerSource.Note.gate]))) }
        gate.head(for: isHeard ? 1 : 0, frames: Int(context.sampleRate * MixerStrip.fadeSeconds))
        if isPresent || gate.framesLeft > 0 {
            switch member.run(&context) {
            case .unknown: return
            case .inactive: gate = Signal.Fader(isHeard ? 1 : 0)
            case .ran:
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
        notes[MixerSource.Note.hasLeft] = !isPresent && gate.framesLeft == 0 ? 1 : 0
    }

    /// Whether this mixer may run it in this slice: not if another one has, as may be while it moves.
    @_noLocks @_noAllocation
    private borrowing func takesTurn(in mixer: UInt64, _ context: borrowing RenderContext) -> Bool {
        let number = context.pass.number
        if notes[MixerSource.Note.pass] == number {
            if notes[MixerSource.Note.mixer] != mixer { return false }
        }
        notes[MixerSource.Note.pass] = number
        notes[MixerSource.Note.mixer] = mixer
        return true
    }

    @_noLocks @_noAllocation
    private borrowing func isHeard(_ context: borrowing RenderContext, _ othersHaveSolo: Bool) -> Bool {
        if presence.current(context) <= 0.5 { return false }
        if mute.current(context) > 0.5 { return false }
        return othersHaveSolo ? solo.current(context) > 0.5 : true
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

    /// Adds the top to the mix, with volume and pan.
    @_noLocks @_noAllocation
    private borrowing func add(_ context: inout RenderContext, _ volume: Glide, _ pan: Glide, _ channels: Int) {
        let hasSides = channels == 2 ? context.channelCount() <= 2 : false
        if !hasSides {
            context.gain(volume)
            context.addTopToNext()
        } else if volume.isFlat && pan.isFlat {
            addAtRest(&context, volume.end, pan.end)
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

    /// The same in one go where nothing glides, with the same products, so that the samples are the same.
    @_noLocks @_noAllocation
    private borrowing func addAtRest(_ context: inout RenderContext, _ volume: Float, _ pan: Float) {
        var (left, right) = (1 - (pan > 0 ? pan : 0), 1 + (pan < 0 ? pan : 0))
        if hasEqualPower {
            let turn = (1 + pan) * 0.125
            left = RenderMath.sin(turns: 0.25 - turn)
            right = RenderMath.sin(turns: turn)
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
