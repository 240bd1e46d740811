internal import Composition
public import RenderCore
internal import Sharing

/// Another renderer, at a sample rate of its own: pushes its output, brought to the outer renderer's rate.
///
///     let tape = try Renderer(sampleRate: 44_100) { context in … }
///     let converter = RateConverter(tape, sampleRate: 44_100)
///     …
///     context.run(converter)              // pushes as many channels as `tape` has
///
/// Pushes 1. Latency: that of the inner renderer and the reach of the filter, 61 frames from 44.1 to 48 kHz. If the
/// rates are equal the filter has none, and every bit passes. `Resampler` says how clean it is.
///
/// The inner renderer has its own stack, sample clock, messages and events, and runs ahead by the latency: a job that
/// is scheduled in it by host time is heard at that time, by sample time on that sample of its own clock. It can be
/// exchanged while it runs. Its rate may be up to 256 times the outer one; one that is still higher plays slower.
///
/// The output's inputs, MIDI and transport reach the inner renderer. An `AudioInput` in it is resampled, which takes 64 frames more from
/// 48 to 44.1 kHz, and none where the rates are equal; its channels are found when the module is prepared, and within a tenth of a
/// second when the inner loop has changed.
///
/// Threads: control.
public final class RateConverter: Generator, SupplyPassing {
    /// Frames per second of the inner renderer.
    public let sampleRate: Double
    /// Channels that are pushed, unless the stack has fewer.
    public let channelCount: Int

    private let inner: ExchangeableRenderer
    private let inputs = CarriedInputs()
    private let resampler: RenderState<Resampler>

    /// Creates a module that renders with another renderer.
    ///
    /// - Parameters:
    ///   - renderer: The inner renderer. It is configured for the rate and the channels.
    ///   - sampleRate: Frames per second inside, 1…1,000,000. A number outside of its range becomes the nearest one, with a
    ///     notice of the inner renderer, here and below.
    ///   - channels: Channels inside, 1…64; by default those that the renderer has.
    public init(_ renderer: Renderer, sampleRate: Double, channels: Int? = nil) {
        renderer.configure(sampleRate: sampleRate, channels: channels)
        let count = renderer.channelCount
        self.sampleRate = renderer.sampleRate
        channelCount = count
        inner = ExchangeableRenderer(renderer, channels: count, sampleRate: renderer.sampleRate)
        resampler = RenderState(Resampler(channels: count, steps: 1...1))
    }

    /// The inner renderer. A new one is configured for the rate and the channels, and heard from the next slice on.
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
        let step = step(at: sampleRate)
        let own = Resampler.latency(at: step) + CarriedSupply.lag(for: RateConverter.paces(at: step))
        return renderer.latencies(from: source, at: self.sampleRate).map { inside in
            let ends = [inside.lowerBound, inside.upperBound].map {
                Int(min(Double($0) / step, 0x1p40).rounded()) + own
            }
            return ends[0]...ends[1]
        }
    }

    /// Returns the delay of the filter in frames of the outer renderer, and the latency of the inner renderer, as a
    /// sum.
    public func latency(at sampleRate: Double) -> Int {
        let step = step(at: sampleRate)
        let inner = Double(renderer.latency(at: self.sampleRate)) / step
        return Resampler.latency(at: step) + Int(min(inner, 0x1p40).rounded())
    }

    /// Returns the number of inner frames per frame of the outer renderer.
    private func step(at outerRate: Double) -> Double { min(sampleRate / outerRate.asSampleRate, 256) }

    /// Returns the outer frames for an inner one, as far as an input can be filtered for them: where the inner rate is below 1/256 of
    /// the outer one, it is heard in pieces.
    private static func paces(at step: Double) -> ClosedRange<Double> {
        let pace = min(1 / step, 256)
        return pace...pace
    }

    /// Makes the filter for the two rates.
    public func prepare(_ preparation: Preparation) {
        let step = step(at: preparation.sampleRate)
        let room = Int(Double(min(preparation.maximumFrameCount, 1_024)) * step) + 2
        var new = Resampler(
            channels: min(channelCount, preparation.maximumChannelCount), steps: step...step, room: room)
        new.reset(latency: new.latency(at: step), at: step)
        // The way of an input through both filters takes whole frames.
        let part = Double(new.latency(at: step)) - Double(new.lookAhead) / step
        resampler.replace(with: new)
        inputs.prepare(renderer) { inputs in
            CarriedSupply(
                inputs, steps: RateConverter.paces(at: step), part: part, rates: step,
                frames: preparation.maximumFrameCount)
        }
    }

    /// Pushes a slice of the inner renderer.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let rate = sampleRate
        var inner = InnerRenderer.Reference()
        self.inner.current.with(&context) { value, _ in inner = value.reference }
        var resets = self.inner.takeReset()
        var supply = CarriedInputs.Reference()
        inputs.state.with(&context) { place, _ in supply = place.reference }
        resampler.with(&context) { resampler, context in
            let step = Resampler.Step(resampler.steps.lowerBound)
            inner.push(
                through: &resampler, at: step, rate: rate, carrying: supply, resets: &resets, &context)
        }
        if resets { self.inner.reset() }
    }

    /// Empties the filter, and resets the modules of the inner renderer before it renders next. Its clock goes on.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        inner.reset()
        resampler.with(&context) { resampler, _ in
            let step = resampler.steps.lowerBound
            resampler.reset(latency: resampler.latency(at: step), at: step)
        }
    }
}
