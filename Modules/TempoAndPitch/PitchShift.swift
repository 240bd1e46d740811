public import RenderCore

/// Changes the pitch of a live sound. Edits the top.
///
///     let harmony = PitchShift(cents: 400)                     // a third higher
///     let voice = PitchShift(.fast, cents: -200)               // for one voice, at once
///
/// Latency: with ``Mode/quality`` 7,016 frames at 48 kHz (146 ms), and at most 150 ms at 11,025 Hz and more; with
/// ``Mode/fast`` 20 ms.
///
/// At a pitch of 0 since the last reset the sound is the delayed input: with `fast` bit for bit, with `quality` within
/// -120 dB. All channels are changed alike, so that equal ones stay equal, bit for bit. A sample that goes in and is not a
/// number is a fault here.
///
/// Threads: control.
public final class PitchShift: Effect {
    /// The pitch in hundredths of a semitone: -1,200…1,200. Glides in 20 ms.
    public let pitch: Parameter
    /// Indicates whether formants stay where they are while the pitch changes: one voice keeps its vowels, and of all else the
    /// averaged spectrum stays (<doc:ChangingTempoAndPitch>). With ``Mode/fast`` they always move.
    public let keepsFormants: Switch
    /// The way in which it changes the pitch.
    public let mode: Mode

    private let slow = RenderState(Slow(channels: 1, sampleRate: 1_000))
    private let fast = RenderState(Fast(channels: 1, sampleRate: 1_000))

    /// The ways in which the pitch is changed.
    ///
    /// Threads: any.
    public enum Mode: Sendable, Hashable, CaseIterable {
        /// A phase vocoder with blocks of 65 to 80 ms: for every sound. See `TimeStretch`.
        case quality
        /// Pieces of some periods of the sound, put together where they are most alike: for one voice or one instrument
        /// that plays one note at a time, from 100 Hz on. See `PeriodShifter`.
        case fast
    }

    /// Creates an effect.
    ///
    /// - Parameters:
    ///   - mode: The way in which it changes the pitch.
    ///   - cents: The pitch in hundredths of a semitone, -1,200…1,200.
    ///   - keepsFormants: Indicates whether formants stay.
    public init(_ mode: Mode = .quality, cents: Float = 0, keepsFormants: Bool = false) {
        self.mode = mode
        pitch = Parameter(cents, in: -1_200...1_200, unit: .cents, glide: .linear(.milliseconds(20)))
        self.keepsFormants = Switch(keepsFormants)
    }

    /// Returns the length of a block in seconds: the longest with which the sound is late by 150 ms at most.
    fileprivate static func block(_ sampleRate: Double) -> Double {
        for block in [0.08, 0.07, 0.06] {
            let latency = TimeStretch.latency(sampleRate: sampleRate, block: block, cents: 1_200)
            if Double(latency) <= 0.15 * sampleRate { return block }
        }
        return 0.05
    }

    private static func inRange(_ sampleRate: Double) -> Double { max(1_000, sampleRate.asSampleRate) }

    /// Returns the latency, which is the same for every pitch.
    public func latency(at sampleRate: Double) -> Int {
        let rate = PitchShift.inRange(sampleRate)
        switch mode {
        case .quality:
            return TimeStretch.latency(
                sampleRate: rate, block: PitchShift.block(rate), cents: 1_200)
        case .fast: return PeriodShifter.latency(sampleRate: rate)
        }
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        let rate = PitchShift.inRange(preparation.sampleRate)
        switch mode {
        case .quality: slow.replace(with: Slow(channels: preparation.maximumChannelCount, sampleRate: rate))
        case .fast: fast.replace(with: Fast(channels: preparation.maximumChannelCount, sampleRate: rate))
        }
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        mode == .quality
            ? [pitch.named("pitch"), keepsFormants.named("keepsFormants")] : [pitch.named("pitch")]
    }

    /// Changes the pitch of the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let cents = pitch.glide(context)
        let keepsFormants = keepsFormants.isOn(context)
        if mode == .quality {
            slow.with(&context) { slow, context in slow.process(&context, cents, keepsFormants) }
        } else {
            fast.with(&context) { fast, context in fast.process(&context, cents) }
        }
    }

    /// Forgets the sound.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        if mode == .quality {
            slow.with(&context) { slow, _ in slow.reset() }
        } else {
            fast.with(&context) { fast, _ in fast.shifter.reset() }
        }
    }
}

extension PitchShift {
    /// The frames of the top on their way through the phase vocoder.
    fileprivate struct Slow: ~Copyable, Sendable {
        var stretch: TimeStretch
        var frames: PitchShiftFrames

        init(channels: Int, sampleRate: Double) {
            stretch = TimeStretch(
                sampleRate: sampleRate, channels: min(max(channels, 1), 64), block: PitchShift.block(sampleRate),
                spreads: true)
            frames = PitchShiftFrames(channels: channels)
            reset()
        }

        @_noLocks @_noAllocation
        mutating func reset() { stretch.reset(inputDelay: stretch.inputDelay(cents: 1_200)) }

        @_noLocks @_noAllocation
        mutating func process(_ context: inout RenderContext, _ cents: Glide, _ keepsFormants: Bool) {
            let settings = TimeStretch.Settings(rate: Glide(1), cents: cents, keepsFormants: keepsFormants)
            var (done, isSpoilt) = (0, false)
            while done < context.frameCount {
                let count = min(PitchShiftFrames.room, context.frameCount &- done)
                if !frames.take(context, from: done, count) { isSpoilt = true }
                stretch.push(frames.input, frames: count)
                var made = 0
                while made < count {
                    // The settings are those of the slice; the block begins at its frame 0.
                    let more = stretch.pull(
                        count &- made, settings, into: &frames.output, from: made, at: done &+ made)
                    if more == 0 { break }
                    made &+= more
                }
                frames.give(&context, to: done, count)
                done &+= count
            }
            if isSpoilt { frames.spoil(&context) }
        }
    }

    /// The frames of the top on their way through the other one.
    fileprivate struct Fast: ~Copyable, Sendable {
        var shifter: PeriodShifter
        var frames: PitchShiftFrames

        init(channels: Int, sampleRate: Double) {
            shifter = PeriodShifter(sampleRate: sampleRate, channels: min(max(channels, 1), 64))
            frames = PitchShiftFrames(channels: channels)
        }

        @_noLocks @_noAllocation
        mutating func process(_ context: inout RenderContext, _ cents: Glide) {
            var (done, isSpoilt) = (0, false)
            while done < context.frameCount {
                let count = min(PitchShiftFrames.room, context.frameCount &- done)
                if !frames.take(context, from: done, count) { isSpoilt = true }
                shifter.process(frames.input, into: &frames.output, frames: count, cents: cents, from: done)
                frames.give(&context, to: done, count)
                done &+= count
            }
            if isSpoilt { frames.spoil(&context) }
        }
    }
}

/// Frames of the top, and what becomes of them.
private struct PitchShiftFrames: ~Copyable, Sendable {
    static var room: Int { @_noLocks @_noAllocation get { 64 } }
    var input: AudioBlock
    var output: AudioBlock

    init(channels: Int) {
        input = AudioBlock(channels: min(max(channels, 1), 64), frames: PitchShiftFrames.room)
        output = AudioBlock(channels: min(max(channels, 1), 64), frames: PitchShiftFrames.room)
    }

    /// Copies frames of the top; channels that it lacks are silent. Returns `false` if one is not a number: it is silence then.
    @_noLocks @_noAllocation
    mutating func take(_ context: borrowing RenderContext, from first: Int, _ count: Int) -> Bool {
        var isGood = true
        let channels = min(context.channelCount(), input.channelCount)
        for channel in 0..<input.channelCount {
            if channel >= channels {
                for i in 0..<count { input[channel, i] = 0 }
                continue
            }
            let samples = context.samples(channel)
            // 0 as long as all are finite.
            var sum: Float = 0
            for i in 0..<count {
                let sample = samples[first &+ i]
                input[channel, i] = sample
                sum += sample * 0
            }
            if !(sum == 0) {
                isGood = false
                for i in 0..<count { input[channel, i] = 0 }
            }
        }
        return isGood
    }

    /// Copies frames into the top.
    @_noLocks @_noAllocation
    borrowing func give(_ context: inout RenderContext, to first: Int, _ count: Int) {
        var top = context.top
        let channels = min(top.channelCount, output.channelCount)
        for channel in 0..<channels {
            var samples = top[channel]
            for i in 0..<count { samples[first &+ i] = output[channel, i] }
        }
    }

    /// Shows the renderer that a sample was not a number.
    @_noLocks @_noAllocation
    borrowing func spoil(_ context: inout RenderContext) {
        let last = context.frameCount &- 1
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            samples[last] = .nan
        }
    }
}
