internal import Composition
public import RenderCore
internal import Sharing
internal import Supply

/// Runs an effect at 2, 4, 8 or 16 times the sample rate: what makes new frequencies folds back fewer of them. Edits the
/// top.
///
///     let clip = ClosureModule(.edits, name: "Clip") { context in … }
///     let clipper = Oversampled(clip, times: 4)
///     …
///     context.run(clipper)                // in the place of context.run(clip)
///
/// Inside, everything is at the higher rate: the module is prepared for it, and its `context` has it, with frame counts,
/// a sample time and glides that go with it. Filters of linear phase lead there and back, whose stop band is 120 dB down;
/// up to 20.7 kHz at 44.1 kHz, and to 22.6 kHz at 48 kHz, they change nothing by more than 0.001 dB.
///
/// Latency: that of the filters, 143, 155, 159 and 160 frames at 2, 4, 8 and 16 times, and that of the module, rounded up
/// to whole frames: the sound waits for the rest. Where so many times the rate would be more than 1,000,000 frames a
/// second, the factor is halved until it is not.
///
/// The buffer keeps its channels: if the module leaves another number of them, they are mixed into those. A sample that
/// goes in and is not a number is a fault here; one that the module makes is a fault of ``renderer``.
///
/// Threads: control.
public final class Oversampled: Effect {
    /// The factor of the sample rate.
    public let times: Int
    /// The module inside.
    public let module: any Module
    /// The renderer that runs the module, for its faults and events.
    public let renderer: Renderer

    private let input: AudioInput
    private let place: InputPlace
    private let inner: ManagedValue<InnerRenderer>
    private let line = RenderState(Line(channels: 1, times: 1, padding: 0))

    /// Creates an effect that runs another one at a higher rate.
    ///
    /// - Parameters:
    ///   - module: A module that takes one buffer and leaves one. It belongs to this one alone. Any other is silent, and
    ///     ``renderer`` sends a notice.
    ///   - times: The factor of the sample rate: 2, 4, 8 or 16; 1 runs the module as it is.
    /// - Precondition: The factor is one of those.
    public init(_ module: some Module, times: Int) {
        demand([1, 2, 4, 8, 16].contains(times), "Oversampled: \(times) times; it must be 1, 2, 4, 8 or 16")
        self.times = times
        self.module = module
        let input = AudioInput(channels: 1, name: "\(module.name)'s input")
        do {
            renderer = try Renderer(
                sampleRate: 48_000 * Double(times), layout: StackLayout(slots: 32, channels: 8, frames: 512)
            ) { context in
                context.run(input)
                // The dry run refuses a module of another kind.
                if context.isDryRun { context.show(module, as: .edits) } else { context.run(module) }
                context.output()
            }
        } catch {
            renderer = Renderer()
            renderer.tell("Oversampled: \(module.name) cannot be run, and is silent. \(error)")
        }
        self.input = input
        place = InputPlace(input)
        inner = ManagedValue(InnerRenderer(renderer))
    }

    /// The frames on their way up and down.
    fileprivate struct Line: ~Copyable, Sendable {
        var resampler: HalfBandResampler
        var source: AudioBlock
        var target: AudioBlock
        /// Indicates whether the module has yet to be reset.
        var resets = false

        init(channels: Int, times: Int, padding: Int) {
            resampler = HalfBandResampler(channels: channels, times: times, padding: padding)
            source = AudioBlock(channels: channels, frames: HalfBandResampler.room * times)
            target = AudioBlock(channels: channels, frames: HalfBandResampler.room * times)
        }
    }

    /// Returns the factor at a sample rate.
    private func times(at sampleRate: Double) -> Int {
        var times = times
        while times > 1 && sampleRate * Double(times) > 1_000_000 { times /= 2 }
        return times
    }

    /// Returns the delay without the padding, in frames of the higher rate.
    private func delay(_ times: Int, _ sampleRate: Double) -> Int {
        let inside = renderer.latencies(from: input, at: sampleRate * Double(times))?.upperBound ?? 0
        return HalfBandResampler.latency(times: times) + min(inside, 1 << 40)
    }

    /// Returns the latency of the filters and of the module, rounded up to whole frames.
    public func latency(at sampleRate: Double) -> Int {
        let sampleRate = sampleRate.asSampleRate
        let times = times(at: sampleRate)
        return (delay(times, sampleRate) + times - 1) / times
    }

    /// Prepares the module for the higher rate.
    public func prepare(_ preparation: Preparation) {
        let times = times(at: preparation.sampleRate)
        let channels = preparation.maximumChannelCount
        renderer.configure(
            sampleRate: preparation.sampleRate * Double(times), channels: channels,
            layout: StackLayout(slots: 32, channels: channels, frames: 512))
        let rest = delay(times, preparation.sampleRate) % times
        line.replace(with: Line(channels: channels, times: times, padding: rest == 0 ? 0 : times - rest))
    }

    /// The parameters of the module by name.
    public var parameters: [ParameterReference] { module.parameters }

    /// Runs the module on the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        var inner = InnerRenderer.Reference()
        self.inner.with(&context) { value, _ in inner = value.reference }
        let place = place
        line.with(&context) { line, context in
            var done = 0
            var isSpoilt = false
            while done < context.frameCount {
                let rest = context.frameCount &- done
                let count = rest < HalfBandResampler.room ? rest : HalfBandResampler.room
                if !line.raise(&context, from: done, count) { isSpoilt = true }
                line.edit(inner, place, &context, from: done, count)
                line.lower(&context, to: done, count)
                done &+= count
            }
            // The renderer around it finds that, and resets both.
            if isSpoilt { Line.spoil(&context) }
        }
    }

    /// Forgets the sound before, and resets the module before it runs again.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        line.with(&context) { line, _ in
            line.resampler.reset()
            line.resets = true
        }
    }
}

extension Oversampled.Line {
    /// Brings frames of the top to the higher rate. Returns `false` if one of them is not a number: then it is silence.
    @_noLocks @_noAllocation
    fileprivate mutating func raise(_ context: inout RenderContext, from first: Int, _ count: Int) -> Bool {
        var isGood = true
        let channels = min(context.channelCount(), resampler.channelCount)
        let times = resampler.times
        for channel in 0..<channels {
            let samples = context.samples(channel)
            // 0 as long as all are finite.
            var sum: Float = 0
            for i in 0..<count {
                let sample = samples[first &+ i]
                resampler.low[i] = sample
                sum += sample * 0
            }
            if !(sum == 0) {
                isGood = false
                for i in 0..<count { resampler.low[i] = 0 }
            }
            resampler.raise(channel, frames: count)
            for i in 0..<count &* times { source[channel, i] = resampler.high[i] }
        }
        return isGood
    }

    /// Runs the module.
    @_noLocks @_noAllocation
    fileprivate mutating func edit(
        _ inner: InnerRenderer.Reference, _ place: InputPlace, _ context: inout RenderContext, from first: Int,
        _ count: Int
    ) {
        let times = resampler.times
        let call = InnerCall(
            input: place, channels: min(context.channelCount(), resampler.channelCount), frames: count &* times,
            sampleTime: (context.sampleTime &+ Int64(first)) &* Int64(times), outerFrames: first, resets: resets)
        resets = false
        inner.edit(&source, into: &target, call, rate: context.sampleRate * Double(times), context)
    }

    /// Brings the frames back to the top.
    @_noLocks @_noAllocation
    fileprivate mutating func lower(_ context: inout RenderContext, to first: Int, _ count: Int) {
        let channels = min(context.channelCount(), resampler.channelCount)
        let times = resampler.times
        var top = context.top
        for channel in 0..<channels {
            for i in 0..<count &* times { resampler.high[i] = target[channel, i] }
            resampler.lower(channel, frames: count)
            var samples = top[channel]
            for i in 0..<count { samples[first &+ i] = resampler.low[i] }
        }
    }

    /// Shows the renderer that a sample was not a number.
    @_noLocks @_noAllocation
    fileprivate static func spoil(_ context: inout RenderContext) {
        let last = context.frameCount &- 1
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            samples[last] = .nan
        }
    }
}
