internal import Composition
public import RenderCore
internal import Sharing

/// Another renderer at another tempo, another pitch, or both, each by itself.
///
///     let player = TimePitch(try Renderer { context in … })
///     …
///     context.run(player)                 // pushes as many channels as the inner renderer has
///     …
///     player.rate.value = 1.25            // a quarter faster, at the same pitch
///     player.pitch.value = -300           // three semitones down, at the same tempo
///
/// Pushes 1. Latency: that of the inner renderer and 7,972 frames at 48 kHz (166 ms) at a rate of 1 and a pitch of 0: a block
/// and a quarter of a phase vocoder, and 292 frames. It changes with the rate, because half of it is time of the inner
/// renderer. Changes of the rate and of the pitch are heard about 100 ms later.
///
/// The channels stay in phase with each other: equal ones stay equal, bit for bit. The work on a block is spread over the
/// cycles. At a rate of 1 and a pitch of 0 the sound is the inner renderer's, delayed; see `TimeStretch` for what is done
/// else, and <doc:ChangingTempoAndPitch> for how good it is.
///
/// The inner renderer has the outer one's sample rate, its own stack, sample clock, messages and events. It is called for
/// as many frames as the rate needs (at a rate of 32 for 2,048 in each 64, which takes as much longer), and can be exchanged while it
/// runs.
///
/// Rates of 0.5…2 keep tones, attacks and levels. Below 0.25 attacks smear more and more; above 4 a share of 4 / rate of the sound is
/// heard, and the rest is skipped. Single tones stay pure from 1/32 to 32.
///
/// The output's inputs, MIDI and transport reach the inner renderer. An `AudioInput` in it is heard at the pitch of the module, 253 frames
/// later than other sound. What comes in live cannot be sped up: at another rate the input keeps real time, and its pitch goes down as the
/// rate goes up; below a quarter it is heard in pieces.
///
/// Threads: control.
public final class TimePitch: Generator, SupplyPassing {
    /// The tempo of the inner renderer: 1/32…32, 2 is twice as fast. Glides in 20 ms, by the same ratio in each frame.
    public let rate = Parameter(1, in: 0.03125...32, glide: .exponential(.milliseconds(20)))
    /// The pitch in hundredths of a semitone: -2,400…2,400. Glides in 20 ms.
    public let pitch = Parameter(0, in: -2_400...2_400, unit: .cents, glide: .linear(.milliseconds(20)))
    /// Indicates whether formants stay where they are while the pitch changes: one voice keeps its vowels, and of all else the
    /// averaged spectrum stays (<doc:ChangingTempoAndPitch>). Off at first. A change is heard from the next block on.
    public let keepsFormants = Switch()
    /// Channels that are pushed, unless the stack has fewer.
    public let channelCount: Int

    private let inner: ExchangeableRenderer
    private let inputs = CarriedInputs()
    private let stretch: RenderState<TimeStretch>

    /// Creates a module that renders with another renderer.
    ///
    /// - Parameter renderer: The inner renderer. It is configured for the outer one's rate.
    public init(_ renderer: Renderer) {
        let count = renderer.channelCount
        channelCount = count
        inner = ExchangeableRenderer(renderer, channels: count)
        // A small one, until the rate is known.
        stretch = RenderState(TimeStretch(sampleRate: 1_000, channels: count))
    }

    /// The inner renderer. A new one is heard from the next slice on.
    public var renderer: Renderer {
        get { inner.renderer }
        set {
            inner.renderer = newValue
            lookAtInputs()
        }
    }

    package var innerRenderers: [Renderer] { [renderer] }
    package var carriesInputs: Bool { true }
    package func lookAtInputs() { inputs.look(at: renderer) }

    package func latencies(fromInside source: any Module, at sampleRate: Double) -> ClosedRange<Int>? {
        let own =
            TimeStretch.latency(sampleRate: TimePitch.inRange(sampleRate))
            + CarriedSupply.lagInBlocks(for: TimePitch.paces)
        return renderer.latencies(from: source, at: sampleRate).map { $0.lowerBound + own...$0.upperBound + own }
    }

    /// The paces of an input: at rates below a quarter its sound is heard in pieces.
    private static let paces = 0.03125...4.0

    /// Returns the delay at a rate of 1 and a pitch of 0, and the latency of the inner renderer, as a sum.
    public func latency(at sampleRate: Double) -> Int {
        renderer.latency(at: sampleRate) + TimeStretch.latency(sampleRate: TimePitch.inRange(sampleRate))
    }

    private static func inRange(_ sampleRate: Double) -> Double { max(1_000, sampleRate.asSampleRate) }

    /// Gives the inner renderer the sample rate of the outer one.
    public func prepare(_ preparation: Preparation) {
        inner.prepare(preparation)
        var new = TimeStretch(
            sampleRate: TimePitch.inRange(preparation.sampleRate),
            channels: min(channelCount, preparation.maximumChannelCount), spreads: true)
        new.reset(inputDelay: new.inputDelay())
        stretch.replace(with: new)
        inputs.prepare(renderer) { inputs in
            CarriedSupply(inputs, steps: TimePitch.paces, frames: preparation.maximumFrameCount)
        }
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [rate.named("rate"), pitch.named("pitch"), keepsFormants.named("keepsFormants")]
    }

    /// Pushes a slice of the inner renderer.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        guard stretch.belongs(to: context) else { return }
        let settings = TimeStretch.Settings(
            rate: rate.glide(context), cents: pitch.glide(context), keepsFormants: keepsFormants.isOn(context))
        var inner = InnerRenderer.Reference()
        self.inner.current.with(&context) { value, _ in inner = value.reference }
        var resets = self.inner.takeReset()
        var supply = CarriedInputs.Reference()
        inputs.state.with(&context) { place, _ in supply = place.reference }
        stretch.with(&context) { stretch, context in
            inner.push(through: &stretch, with: settings, carrying: supply, resets: &resets, &context)
        }
        if resets { self.inner.reset() }
    }

    /// Forgets the sound, and resets the modules of the inner renderer before it renders next. Its clock goes on.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        inner.reset()
        stretch.with(&context) { stretch, _ in stretch.reset(inputDelay: stretch.inputDelay()) }
    }
}
