public import RenderCore
internal import Synchronization

/// Another renderer, at a sample rate of its own: pushes what it puts out, brought to this one's rate.
///
///     let tape = try Renderer(sampleRate: 44_100) { context in … }
///     let converter = RateConverter(tape, sampleRate: 44_100)
///     …
///     context.run(converter)              // pushes as many channels as `tape` has
///
/// Pushes 1. ``latency``: the reach of the filter, 61 frames from 44.1 to 48 kHz, none where the rates are equal; then
/// it passes on every bit. `Resampler` says how clean it is.
///
/// The inner renderer has its own stack, sample clock, messages and events, and runs ahead by the latency: what is
/// scheduled in it by host time is heard at that time, by sample time on that sample of its own clock. It can be
/// exchanged while it runs. Its rate may be up to 256 times the outer one; one that is still higher plays slower.
public final class RateConverter: Generator {
    /// Frames per second of the inner renderer.
    public let sampleRate: Double
    /// Channels that are pushed, unless the stack has fewer.
    public let channelCount: Int

    private let inner: ManagedValue<InnerRenderer>
    private let resampler: RenderState<Resampler>
    private let newest: Lock<Renderer>
    private let delay = Atomic<Int>(0)

    /// A module that renders with another renderer.
    ///
    /// - Parameters:
    ///   - renderer: the inner renderer. It is configured for the rate and the channels.
    ///   - sampleRate: frames per second inside, 1…1,000,000.
    ///   - channels: channels inside, 1…64; those that the renderer has if nothing is said.
    /// - Precondition: the numbers are in range.
    public init(_ renderer: Renderer, sampleRate: Double, channels: Int? = nil) {
        renderer.configure(sampleRate: sampleRate, channels: channels)
        let count = renderer.channelCount
        self.sampleRate = sampleRate
        channelCount = count
        newest = Lock(renderer)
        inner = ManagedValue(InnerRenderer(renderer))
        resampler = RenderState(Resampler(channels: count, steps: 1...1))
    }

    /// The inner renderer. A new one is configured for the rate and the channels, and heard from the next slice on.
    public var renderer: Renderer {
        get { newest.withLock { $0 } }
        set {
            newValue.configure(sampleRate: sampleRate, channels: channelCount)
            newest.withLock { $0 = newValue }
            inner.set(InnerRenderer(newValue))
        }
    }

    /// How many frames of the outer renderer the filter delays by.
    public var latency: Int { delay.load(ordering: .relaxed) }

    /// Makes the filter for the two rates.
    public func prepare(_ preparation: Preparation) {
        let step = min(sampleRate / preparation.sampleRate, 256)
        let room = Int(Double(min(preparation.maximumFrameCount, 1_024)) * step) + 2
        var new = Resampler(
            channels: min(channelCount, preparation.maximumChannelCount), steps: step...step, room: room)
        let latency = new.latency(at: step)
        new.reset(latency: latency, at: step)
        delay.store(latency, ordering: .relaxed)
        resampler.replace(with: new)
    }

    /// Pushes a slice of the inner renderer.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let rate = sampleRate
        var inner = InnerRenderer.Reference()
        self.inner.with(&context) { value, _ in inner = value.reference }
        resampler.with(&context) { resampler, context in
            let step = Resampler.Step(resampler.steps.lowerBound)
            inner.push(through: &resampler, at: step, rate: rate, &context)
        }
    }

    /// Forgets what is in the filter. The inner renderer's modules go on as they are.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        resampler.with(&context) { resampler, _ in
            let step = resampler.steps.lowerBound
            resampler.reset(latency: resampler.latency(at: step), at: step)
        }
    }
}
