public import RenderCore
internal import Sharing
internal import Synchronization

/// Shapes the loudness of the top: up when its gate is opened, down to silence when it is closed (attack, decay,
/// sustain, release). Edits the top, any number of channels; no latency.
///
///     let envelope = Envelope(attack: 0.005, decay: 0.2, sustain: 0.5, release: 0.4)
///     …
///     context.run(tone)
///     context.run(envelope)
///     …
///     envelope.open()                                     // also in the render loop
///     envelope.close(at: .now + .milliseconds(500))       // exact to the frame
///
/// Each segment takes its time from wherever it begins: a gate that is opened again goes up from the present level,
/// without a step. The curve is that of ``EnvelopeCore``. At the frame of an opening the level is still the old one;
/// `attack` later it is 1.
///
/// Threads: control.
public final class Envelope: Effect {
    /// Seconds from the opening of the gate to the full level.
    public let attack: Parameter
    /// Seconds from there to the sustain level.
    public let decay: Parameter
    /// The level that is held while the gate is open: an amplitude factor.
    public let sustain: Parameter
    /// Seconds from the closing of the gate to silence.
    public let release: Parameter
    /// The curve on which the level moves.
    public let curve: EnvelopeCore.Curve

    private let gates = CommandQueue<Bool>()
    private let core = RenderState(EnvelopeCore())
    /// The bits of the level after the last slice.
    private let shown = Atomic<UInt32>(0)
    private let isWorking = Atomic<Bool>(false)

    /// Creates an envelope at rest.
    ///
    /// - Parameters:
    ///   - attack: In seconds, 0.001…20: less would click.
    ///   - decay: In seconds, 0.001…60.
    ///   - sustain: An amplitude factor, 0…1. It follows a change in about 20 ms.
    ///   - release: In seconds, 0.001…60.
    ///   - curve: The curve on which the level moves.
    public init(
        attack: Float = 0.01, decay: Float = 0.1, sustain: Float = 0.7, release: Float = 0.2,
        curve: EnvelopeCore.Curve = .exponential
    ) {
        self.attack = Parameter(attack, in: 0.001...20, unit: .seconds, glide: .none)
        self.decay = Parameter(decay, in: 0.001...60, unit: .seconds, glide: .none)
        self.sustain = Parameter(sustain, in: 0...1, glide: .none)
        self.release = Parameter(release, in: 0.001...60, unit: .seconds, glide: .none)
        self.curve = curve
    }

    /// Opens the gate. If it is open, the attack begins again, from the present level.
    ///
    /// - Returns: `false` if 64 openings and closings are waiting for their time; then this one was not taken.
    ///
    /// Threads: any.
    @discardableResult
    public func open(at time: RenderTime = .immediately) -> Bool { gates.send(true, at: time) }

    /// Closes the gate. If it is closed, nothing changes.
    ///
    /// - Returns: `false` if 64 openings and closings are waiting for their time; then this one was not taken.
    ///
    /// Threads: any.
    @discardableResult
    public func close(at time: RenderTime = .immediately) -> Bool { gates.send(false, at: time) }

    /// The level after the last slice, 0 to 1.
    ///
    /// Threads: any.
    public var level: Float { Float(bitPattern: shown.load(ordering: .relaxed)) }

    /// Indicates whether the envelope is silent and nothing waits for its time.
    ///
    /// Threads: any.
    public var isIdle: Bool {
        @_noLocks @_noAllocation get {
            if isWorking.load(ordering: .relaxed) { return false }
            return gates.count == 0
        }
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [attack.named("attack"), decay.named("decay"), sustain.named("sustain"), release.named("release")]
    }

    /// Multiplies the top by the level.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let settings = EnvelopeCore.Settings(
            attack: attack.current(context), decay: decay.current(context), sustain: sustain.current(context),
            release: release.current(context), curve: curve, sampleRate: context.sampleRate)
        var core = core.read(context)
        var first = 0
        while let due = gates.next(&context, from: first) {
            core = multiply(&context, from: first, to: due.frame, with: settings, core)
            if due.command { core.open() } else { core.close() }
            first = due.frame
        }
        core = multiply(&context, from: first, to: context.frameCount, with: settings, core)
        shown.store(Float(core.level).bitPattern, ordering: .relaxed)
        isWorking.store(core.isActive, ordering: .relaxed)
        self.core.write(core, context)
    }

    /// Goes to rest: silence, at once. Openings and closings that wait for a later time stay.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        core.write(EnvelopeCore(), context)
        shown.store(0, ordering: .relaxed)
        isWorking.store(false, ordering: .relaxed)
    }

    /// Returns whether the envelope has to be run: not while it ``isIdle``.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool { !isIdle }

    /// Multiplies every channel by the same level.
    @_noLocks @_noAllocation
    private func multiply(
        _ context: inout RenderContext, from first: Int, to end: Int, with settings: EnvelopeCore.Settings,
        _ before: EnvelopeCore
    ) -> EnvelopeCore {
        var after = before
        var top = context.top
        var channel = 0
        while channel < top.channelCount {
            var samples = top[channel]
            after = before
            after.multiply(&samples, from: first, to: end, with: settings)
            channel &+= 1
        }
        return after
    }
}
