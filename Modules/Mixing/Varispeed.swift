internal import Composition
internal import Glibc
public import RenderCore
internal import Sharing

/// Another renderer, faster or slower, as a tape machine does it: pitch and tempo change together.
///
///     let machine = Varispeed(try Renderer { context in … })
///     …
///     context.run(machine)                // pushes as many channels as the inner renderer has
///     …
///     machine.speed.value = 0.5           // an octave down
///
/// Pushes 1. Latency: that of the inner renderer and 224 frames at a speed of 1, fewer when it is faster, more when it
/// is slower. Frequencies that the speed lifts beyond what the rate can carry are removed: see `Resampler`.
///
/// The inner renderer has the outer one's sample rate, its own stack, sample clock, messages and events. It is called for
/// as many frames as the speed needs, and can be exchanged while it runs.
///
/// The output's inputs, MIDI and transport reach the inner renderer. What comes in live cannot be sped up: an `AudioInput` keeps real
/// time, and is heard through the module at its own pitch, 224 frames later. A player in the same loop changes its speed beside it.
///
/// Threads: control.
public final class Varispeed: Generator, SupplyPassing {
    /// The speed of the inner renderer's clock: 0.25 is two octaves down, 4 two octaves up. Glides in 20 ms, by the
    /// same ratio in each frame.
    public let speed = Parameter(1, in: 0.25...4, glide: .exponential(.milliseconds(20)))
    /// Channels that are pushed, unless the stack has fewer.
    public let channelCount: Int

    private let inner: ExchangeableRenderer
    private let inputs = CarriedInputs()
    private let resampler: RenderState<Resampler>

    private static let speeds = 0.25...4.0
    /// Frames of the filter's delay at a speed of 1.
    private let lookAhead: Int

    /// Creates a module that renders with another renderer.
    ///
    /// - Parameter renderer: The inner renderer. It is configured for the outer one's rate.
    public init(_ renderer: Renderer) {
        let count = renderer.channelCount
        channelCount = count
        inner = ExchangeableRenderer(renderer, channels: count)
        resampler = RenderState(Resampler(channels: count, steps: 1...1))
        lookAhead = Resampler.lookAhead(for: Varispeed.speeds)
    }

    /// The speed in hundredths of a semitone: -2400 to 2400, and 0 for a speed of 1.
    public var cents: Float {
        get { 1_200 * log2(speed.value) }
        set { speed.value = exp2(newValue / 1_200) }
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
        let own = lookAhead + CarriedSupply.lag(for: Varispeed.speeds)
        return renderer.latencies(from: source, at: sampleRate).map { $0.lowerBound + own...$0.upperBound + own }
    }

    /// Returns the delay of the filter in frames of the outer renderer, and the latency of the inner renderer, as a
    /// sum, at a speed of 1.
    public func latency(at sampleRate: Double) -> Int { renderer.latency(at: sampleRate) + lookAhead }

    /// Gives the inner renderer the sample rate of the outer one.
    public func prepare(_ preparation: Preparation) {
        inner.prepare(preparation)
        var new = Resampler(
            channels: min(channelCount, preparation.maximumChannelCount), steps: Varispeed.speeds, room: 4_096)
        new.reset(latency: lookAhead)
        resampler.replace(with: new)
        // The inverse of the speeds, which are the same.
        inputs.prepare(renderer) { inputs in
            CarriedSupply(inputs, steps: Varispeed.speeds, frames: preparation.maximumFrameCount)
        }
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [speed.named("speed")] }

    /// Pushes a slice of the inner renderer.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        guard resampler.belongs(to: context) else { return }
        let speed = speed.glide(context)
        let rate = context.sampleRate * Double(speed.end)
        var inner = InnerRenderer.Reference()
        self.inner.current.with(&context) { value, _ in inner = value.reference }
        var resets = self.inner.takeReset()
        var supply = CarriedInputs.Reference()
        inputs.state.with(&context) { place, _ in supply = place.reference }
        resampler.with(&context) { resampler, context in
            inner.push(
                through: &resampler, at: Resampler.Step(speed, times: 1), rate: rate, carrying: supply,
                resets: &resets, &context)
        }
        if resets { self.inner.reset() }
    }

    /// Empties the filter, and resets the modules of the inner renderer before it renders next. Its clock goes on.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        inner.reset()
        let lookAhead = lookAhead
        resampler.with(&context) { resampler, _ in resampler.reset(latency: lookAhead) }
    }
}
