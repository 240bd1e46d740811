internal import CRender
public import RenderCore
internal import Sharing
internal import Synchronization

/// Puts a sound into a real room, or through any other response: it convolves it with an ``ImpulseResponse``. Edits the top.
///
///     let hall = try await ImpulseResponse.load(path: "hall.wav")
///     let reverb = try ConvolutionReverb(hall, mix: 0.3)
///     …
///     context.run(reverb)
///     …
///     try reverb.setResponse(chapel)              // faded in, while the hall rings out
///
/// A mono response goes to every channel, a stereo one to the left and right of each pair, and one of four channels, which
/// is called true stereo, leads from left to left and right, and from right to left and right. With the latter two, mono
/// becomes stereo. The response is brought to the renderer's rate.
///
/// The first 64 frames of the response are multiplied out, the next 4,000 are convolved in parts of 64 and 256 frames, and
/// the rest in parts of 2,048, 16,384 and 65,536. The long parts are computed beside the audio thread, as `BackgroundWork`,
/// each in the time of a block; on a machine with one processor the cycles share their work. All of it happens at frames
/// that are counted from the start, so that the sound has the same bits offline and live, in cycles of any length. If a job
/// is late in live rendering, its part is silent, and ``lateCount`` and ``events`` say so; offline rendering waits.
///
/// Latency: none. The error is below -130 dB of what the response makes of noise as loud as the sound (RMS). Samples above
/// +200 dB count as silence.
///
/// Threads: control.
public final class ConvolutionReverb: Effect, EventSource {
    /// The mix, from the unchanged sound (0, bit for bit and for free; the reverb is forgotten) to the reverb alone (1).
    /// When it leaves 0, the sound fades into the room in 10 ms.
    public let mix: Parameter
    /// The seconds in which a new response is faded in.
    public let fade: Double

    private let slots = ConvolutionSlots()
    private let played = RenderState(PlayedResponses())
    private let late = Atomic<Int>(0)
    private let hub = EventHub<ConvolutionReverbEvent>(limit: 64)
    private let plan: Lock<Plan>
    private let isSpread: Bool

    /// The state of control code.
    private struct Plan {
        var response: ImpulseResponse
        var settings: Settings
        var preparation: Preparation?
        var serial: UInt64 = 0
        var bytes = (0, 0, 0)
        var reported = 0
    }

    /// Creates a reverb.
    ///
    /// - Parameters:
    ///   - response: The response of a room, of 1, 2 or 4 channels.
    ///   - settings: The ways in which the response is changed before it is used.
    ///   - mix: 0…1.
    ///   - fade: The time in which a new response is faded in, in seconds: 0…10. A number outside becomes the nearest
    ///     one, with a notice on standard error.
    /// - Throws: ``ImpulseResponseError``, if the response is longer than ``Settings/maximumTime``.
    public convenience init(
        _ response: ImpulseResponse, settings: Settings = Settings(), mix: Float = 0.3, fade: Double = 0.05
    ) throws(ImpulseResponseError) {
        try self.init(
            response, settings: settings, mix: mix, fade: fade, isSpread: crender_processor_count() < 2)
    }

    /// - Parameter isSpread: `true` to compute the long parts in the cycles.
    package init(
        _ response: ImpulseResponse, settings: Settings, mix: Float, fade: Double, isSpread: Bool
    ) throws(ImpulseResponseError) {
        try settings.check(response)
        self.mix = Parameter(mix, in: 0...1)
        self.fade = nearest(to: fade, in: 0...10, "ConvolutionReverb: a fade of \(fade) s; it must be 0…10")
        self.isSpread = isSpread
        plan = Lock(Plan(response: response, settings: settings), .module)
    }

    /// Changes the response, or how it is used. The new one is faded in, while the one before rings out; what rings of the
    /// one before that fades out.
    ///
    /// It computes the spectra on the calling thread, which takes some 10 ms for two seconds of stereo.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - settings: The ways in which it is changed before it is used.
    /// - Throws: ``ImpulseResponseError``, if the response is longer than ``Settings/maximumTime``. Then nothing changes.
    public func setResponse(
        _ response: ImpulseResponse, settings: Settings = Settings()
    ) throws(ImpulseResponseError) {
        try settings.check(response)
        plan.withLock { plan in
            plan.response = response
            plan.settings = settings
            if plan.preparation != nil { install(&plan, isFirst: false) }
        }
    }

    /// The response that was set last.
    public var response: ImpulseResponse { plan.withLock { $0.response } }

    /// The settings of the response.
    public var settings: Settings { plan.withLock { $0.settings } }

    /// The bytes that the response takes, with those that ring out; 0 before a renderer has the module. A frame of response
    /// takes 8 for each of its channels, and 8 for each channel of the renderer's layout.
    public var memoryBytes: Int { plan.withLock { $0.bytes.0 + $0.bytes.1 + $0.bytes.2 } }

    /// The number of long parts that were silent because they were not computed in time, in live rendering.
    public var lateCount: Int { late.load(ordering: .relaxed) }

    /// Says when parts were late.
    public var events: AsyncStream<ConvolutionReverbEvent> {
        let stream = hub.subscribe()
        Collector.shared.add(self)
        return stream
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [mix.named("mix")] }

    /// Makes the memory, and the spectra of the response.
    public func prepare(_ preparation: Preparation) {
        plan.withLock { plan in
            if plan.preparation == preparation { return }
            plan.preparation = preparation
            install(&plan, isFirst: true)
        }
    }

    /// Makes an engine, in the place of the oldest.
    private func install(_ plan: inout Plan, isFirst: Bool) {
        guard let preparation = plan.preparation else { return }
        plan.serial += 1
        let channels = preparation.maximumChannelCount
        let response = plan.settings.shaped(plan.response, to: preparation.sampleRate, channels: channels)
        let engine = ConvolutionEngine(
            response, serial: plan.serial, isFirst: isFirst, channels: channels,
            frames: preparation.maximumFrameCount,
            fade: Int32(max(1, min(10 * preparation.sampleRate, fade * preparation.sampleRate))), isSpread: isSpread)
        let bytes = engine.memoryBytes
        if isFirst {
            // Engines that were made for another rate or layout do not ring on.
            plan.bytes = (0, 0, 0)
            if plan.serial % 3 != 0 { slots.first.set(ConvolutionEngine()) }
            if plan.serial % 3 != 1 { slots.second.set(ConvolutionEngine()) }
            if plan.serial % 3 != 2 { slots.third.set(ConvolutionEngine()) }
        }
        switch plan.serial % 3 {
        case 0:
            slots.first.set(engine)
            plan.bytes.0 = bytes
        case 1:
            slots.second.set(engine)
            plan.bytes.1 = bytes
        default:
            slots.third.set(engine)
            plan.bytes.2 = bytes
        }
    }

    // MARK: On the render thread

    /// Adds the reverb to the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let mix = mix.glide(context)
        let frames = mix.lastFrame(of: context.frameCount)
        if frames == 0 { return fallSilent(&context) }
        var played = played.read(context)
        slots.first.with(&context) { engine, _ in played.first.take(engine) }
        slots.second.with(&context) { engine, _ in played.second.take(engine) }
        slots.third.with(&context) { engine, _ in played.third.take(engine) }
        played.wake(context.sampleRate)
        if played.widens && context.channelCount() == 1 {
            context.push(channels: 2)
            context.mix(2)
        }
        let (first, second, third) = (played.first, played.second, played.third)
        let parts = (played.part(first), played.part(second), played.part(third))
        var missed = 0
        slots.first.with(&context) { engine, context in
            missed += answer(&context, engine, first, parts.0, frames)
        }
        slots.second.with(&context) { engine, context in
            missed += answer(&context, engine, second, parts.1, frames)
        }
        slots.third.with(&context) { engine, context in
            missed += answer(&context, engine, third, parts.2, frames)
        }
        if missed > 0 { late.wrappingAdd(missed, ordering: .relaxed) }
        fadeDry(&context, mix, frames)
        slots.first.with(&context) { engine, context in
            add(&context, engine, first, parts.0, frames, mix)
        }
        slots.second.with(&context) { engine, context in
            add(&context, engine, second, parts.1, frames, mix)
        }
        slots.third.with(&context) { engine, context in
            add(&context, engine, third, parts.2, frames, mix)
        }
        played.first.advance(frames, parts.0)
        played.second.advance(frames, parts.1)
        played.third.advance(frames, parts.2)
        self.played.write(played, context)
        if frames < context.frameCount { fallSilent(&context) }
    }

    /// Forgets the sound, once, while nothing of it is heard.
    @_noLocks @_noAllocation
    private func fallSilent(_ context: inout RenderContext) {
        var played = played.read(context)
        if played.rests { return }
        played.rest()
        self.played.write(played, context)
        forget(&context)
    }

    /// Forgets the sound, and ends all fades.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var played = played.read(context)
        played.settle()
        self.played.write(played, context)
        forget(&context)
    }

    @_noLocks @_noAllocation
    private func forget(_ context: inout RenderContext) {
        slots.first.with(&context) { engine, context in engine.reset(&context) }
        slots.second.with(&context) { engine, context in engine.reset(&context) }
        slots.third.with(&context) { engine, context in engine.reset(&context) }
    }
}

/// Computes the answer of an engine. Returns the number of late parts.
@_noLocks @_noAllocation
private func answer(
    _ context: inout RenderContext, _ engine: borrowing ConvolutionEngine, _ played: PlayedResponse,
    _ part: PlayedResponse.Part, _ frames: Int
) -> Int {
    // Control code may have put another engine there meanwhile.
    if !played.isHeard || played.serial != engine.serial { return 0 }
    return engine.process(&context, frames: frames, gain: played.input(part))
}

@_noLocks @_noAllocation
private func add(
    _ context: inout RenderContext, _ engine: borrowing ConvolutionEngine, _ played: PlayedResponse,
    _ part: PlayedResponse.Part, _ frames: Int, _ mix: Glide
) {
    if played.isHeard && played.serial == engine.serial {
        engine.add(&context, frames: min(frames, played.framesHeard(part)), mix: mix, gain: played.output(part))
    }
}

@_noLocks @_noAllocation
private func fadeDry(_ context: inout RenderContext, _ mix: Glide, _ frames: Int) {
    var top = context.top
    for channel in 0..<top.channelCount {
        var samples = top[channel]
        if mix.isFlat {
            let gain = 1 - mix.end
            for i in 0..<frames { samples[i] *= gain }
        } else {
            for i in 0..<frames { samples[i] *= 1 - mix[i] }
        }
    }
}

extension ConvolutionReverb: Collectable {
    /// Reports late parts.
    package func collect() -> Bool {
        let count = lateCount
        let new = plan.withLock { plan in
            let new = count - plan.reported
            plan.reported = count
            return new
        }
        if new > 0 { hub.send(.late(new)) }
        return new > 0
    }
}

/// An event of a ``ConvolutionReverb``.
///
/// Threads: control.
public enum ConvolutionReverbEvent: Sendable, Hashable, CustomStringConvertible {
    /// The number of parts of the response that were silent, because they were not computed in time.
    case late(Int)

    /// A sentence.
    public var description: String {
        switch self {
        case .late(let count):
            "\(count) parts of a response were silent, because the machine did not compute them in time: it is too busy, "
                + "or the response too long."
        }
    }
}

/// The places of three engines.
struct ConvolutionSlots: ~Copyable, Sendable {
    let first = ManagedValue(ConvolutionEngine())
    let second = ManagedValue(ConvolutionEngine())
    let third = ManagedValue(ConvolutionEngine())
}
