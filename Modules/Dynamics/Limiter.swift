public import RenderCore

/// Keeps the peaks of a sound below a ceiling, between its samples too: it looks ahead, turns the sound down before a
/// peak, and up again after it. Edits the top, all channels alike.
///
///     let limiter = Limiter(ceiling: -1)
///     …
///     context.run(limiter)
///     …
///     limiter.gainReduction                       // dB
///
/// A true peak, as meters and broadcasters mean it, exceeds the ceiling by 0.1 dB at most, measured at 16 times the rate. A sound that
/// stays 0.3 dB below the ceiling comes out bit for bit. Between the two the limiter may turn the sound down by up to 0.3 dB. White
/// noise, which is as loud just below half of the sample rate as anywhere, may be turned down by some 0.5 dB more, because the
/// limiter sees too little of the peaks that are made there.
///
/// With tracks it is the end of a mix that is also wanted in parts, as stems: it takes the tracks that are on top, and
/// leaves them with their mix above them. Each is turned down as the mix is, so that together they still are the mix.
///
///     let limiter = Limiter(tracks: 3)            // pops 3, pushes 4
///
/// Latency: the look-ahead and 137 frames, together 7.9 ms by default at 48 kHz; for peaks of samples the look-ahead
/// less one frame.
///
/// Threads: control.
public final class Limiter: Module {
    /// The highest peak, in dB of full scale: -60…20. It counts for the sound that comes in.
    public let ceiling: Parameter
    /// The gain before the limiter, in decibels: -60…60. At 0 the samples stay as they are.
    public let gain: Parameter
    /// The time in seconds in which 63 % of a reduction is gone when its peak has passed: 0.001…10. After seven times
    /// as long it is gone altogether.
    public let release: Parameter
    /// The time in seconds in which the sound is turned down, right before a peak: 0…0.02, and at most the look-ahead. For true
    /// peaks it is at least 64 frames. A short attack leaves more of the sound before a peak as it is; behind the peak the
    /// reduction stays for the rest of the look-ahead. The ceiling holds with each attack, also while it moves.
    public let attack: Parameter
    /// The time in seconds by which the limiter knows the sound before it is heard. For true peaks it is at least 64 frames.
    public let lookAhead: Double
    /// Indicates whether peaks between the samples count.
    public let isTruePeak: Bool
    /// The number of tracks below the mix; 0: it limits the top.
    public let trackCount: Int

    private let state = RenderState(LimiterState(tracks: 0, channels: 1, frames: 0, lookAhead: 1, isTruePeak: false))
    private let reduction = GainReduction()

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - ceiling: The highest peak, in dB of full scale: -60…20.
    ///   - gain: The gain before it, in decibels: -60…60.
    ///   - release: The time in which 63 % of a reduction is gone, in seconds: 0.001…10.
    ///   - lookAhead: The time by which the limiter knows the sound before it is heard, in seconds: 0…0.02. For true peaks it
    ///     is at least 64 frames.
    ///   - attack: The time in which the sound is turned down before a peak, in seconds; by default the look-ahead. The
    ///     longer, the softer.
    ///   - isTruePeak: `false` to limit the samples alone, which is faster and comes out 137 frames earlier.
    ///   - tracks: The number of buffers to mix, 0…1023; 0 to limit the top.
    /// - Precondition: The look-ahead and the number of tracks are in their ranges.
    public init(
        ceiling: Float = -1, gain: Float = 0, release: Float = 0.05, lookAhead: Double = 0.005, attack: Float? = nil,
        isTruePeak: Bool = true, tracks: Int = 0
    ) {
        demand(
            lookAhead >= 0 && lookAhead <= 0.02, "Limiter: a look-ahead of \(lookAhead) s; it must be 0…0.02")
        demand(tracks >= 0 && tracks <= 1_023, "Limiter: \(tracks) tracks; there must be 0…1023")
        self.ceiling = Parameter(ceiling, in: -60...20, unit: .decibels, glide: .smooth(.milliseconds(50)))
        self.gain = Parameter(gain, in: -60...60, unit: .decibels, glide: .smooth(.milliseconds(50)))
        self.release = Parameter(release, in: 0.001...10, unit: .seconds, glide: .smooth(.milliseconds(20)))
        self.attack = Parameter(
            attack ?? Float(lookAhead), in: 0...0.02, unit: .seconds, glide: .smooth(.milliseconds(20)))
        self.lookAhead = lookAhead
        self.isTruePeak = isTruePeak
        trackCount = tracks
    }

    /// The decibels by which the sound is turned down at the moment: 0 or more, and 0 within a second after the audio
    /// stops.
    public var gainReduction: Float { reduction.largest }

    /// The top, or the tracks and above them their mix.
    public var stackEffect: StackEffect {
        trackCount == 0 ? .edits : StackEffect(pops: trackCount, pushes: trackCount + 1)
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [ceiling.named("ceiling"), gain.named("gain"), release.named("release"), attack.named("attack")]
    }

    /// Returns the look-ahead, and the frames in which a true peak is found.
    public func latency(at sampleRate: Double) -> Int {
        LimiterState.delay(lookAhead: framesAhead(sampleRate), isTruePeak: isTruePeak)
    }

    private func framesAhead(_ sampleRate: Double) -> Int {
        LimiterState.framesAhead(lookAhead, sampleRate: sampleRate, isTruePeak: isTruePeak)
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        state.replace(
            with: LimiterState(
                tracks: trackCount, channels: preparation.maximumChannelCount, frames: preparation.maximumFrameCount,
                lookAhead: framesAhead(preparation.sampleRate), isTruePeak: isTruePeak))
    }

    /// Limits the top, or mixes the tracks and limits all.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let settings = LimiterState.Settings(
            gain: gain.glide(context), ceiling: ceiling.glide(context), release: release.glide(context),
            attack: attack.glide(context), lookAhead: lookAhead, sampleRate: context.sampleRate)
        for buffer in 0..<max(1, trackCount) { amplify(&context, at: buffer, settings.gain) }
        if trackCount > 0 { mix(&context, trackCount) }
        var gain: Float = 1
        state.with(&context) { state, context in
            state.process(&context, settings)
            gain = state.lowestGain
        }
        let decibels = RenderMath.decibels(amplitude: gain)
        reduction.show(decibels < 0 ? -decibels : 0, at: 0)
        reduction.finish(1, context)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        state.with(&context) { state, _ in state.reset() }
        reduction.forget()
    }
}

extension LimiterState {
    /// The parameters in a slice.
    struct Settings: Sendable, BitwiseCopyable {
        var gain: Glide
        var ceiling: Glide
        var release: Glide
        var attack: Glide
        /// In seconds.
        var lookAhead: Double
        var sampleRate: Double
    }
}

/// Multiplies a buffer by a gain in decibels.
@_noLocks @_noAllocation
private func amplify(_ context: inout RenderContext, at index: Int, _ gain: Glide) {
    if gain.isFlat && gain.end == 0 { return }
    var buffer = context.buffer(at: index)
    for channel in 0..<buffer.channelCount {
        var samples = buffer[channel]
        if gain.isFlat {
            let factor = RenderMath.amplitude(decibels: gain.end)
            Signal.applyGain(factor, to: &samples)
        } else {
            for i in samples.indices {
                samples[i] *= Float(RenderMath.exp2(gain.fine(i) * 0.166_096_404_744_368_1))
            }
        }
    }
}

/// Pushes the sum of the tracks that are on top. A track of one channel goes to all.
@_noLocks @_noAllocation
private func mix(_ context: inout RenderContext, _ tracks: Int) {
    var channels = 1
    for track in 0..<tracks { channels = max(channels, context.channelCount(at: track)) }
    context.push(1, channels: channels)
    for track in 1...tracks {
        let count = context.channelCount(at: track)
        context.withBuffers(at: 0, track) { mix, track in
            for channel in 0..<(count == 1 ? channels : min(count, channels)) {
                var sum = mix[channel]
                let samples = track.samples(count == 1 ? 0 : channel)
                for i in sum.indices { sum[i] += samples[i] }
            }
        }
    }
}
