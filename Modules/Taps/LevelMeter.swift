public import RenderCore
internal import Synchronization

/// A meter of levels for the eye: peak with hold, and RMS, in dB of full scale. Reads the top, any number of channels.
///
///     let meter = LevelMeter()
///     …
///     context.run(meter)
///     …
///     meter.combined.peak                 // dB, -infinity in silence
///     meter.levels[0].rms                 // the first channel's
///
/// The peak is the largest sample; it is held for half a second, then falls by a factor of three (9.5 dB) a second. RMS
/// is that of the last 4096 frames at 48 kHz (85 ms): a full-scale sine has -3.01 dB. When the audio stops, the
/// readings fall to -infinity within a second.
///
/// One meter at several places of a render loop measures them one after the other, or, if it is `mixing`, their sum.
///
/// Threads: control.
public final class LevelMeter: Tap {
    /// The level of a channel, in dB of full scale; -infinity for silence.
    ///
    /// Threads: control.
    public struct Level: Sendable, Hashable {
        /// The largest sample, held for a while.
        public let peak: Float
        /// The root of the mean square.
        public let rms: Float

        /// The level of silence.
        public static var silence: Level { Level(peak: -.infinity, rms: -.infinity) }
    }

    private let hold: Double
    private let window: Double
    private let isMixing: Bool
    private let isLazy: Bool
    private let meter = RenderState(LevelState(sampleRate: 48_000, frames: 1, channels: 0, hold: 0, window: 0))

    // The levels that were measured last: amplitudes and mean squares, as the bits of floats.
    private let peaks = InlineArray<64, Atomic<UInt32>> { _ in Atomic(0) }
    private let meanSquares = InlineArray<64, Atomic<UInt32>> { _ in Atomic(0) }
    private let channelCount = Atomic<Int>(0)
    /// The host time at which the last measured frame is over; `.max` if time does not count, `.min` for never.
    private let end = Atomic<Int64>(.min)
    /// The host time at which a program read the levels last.
    private let lastLook = Atomic<Int64>(.min)

    /// Creates a meter.
    ///
    /// - Parameters:
    ///   - hold: The time for which a peak is held before it falls, in seconds; `.infinity` holds it for good.
    ///   - window: The time over which RMS is taken, in seconds: 0…10.
    ///   - mixing: `true` to add up buffers that the meter hears in the same slice, sample by sample, before they are
    ///     measured. It then shows the sound up to the slice before.
    ///   - isLazy: `true` to stop measuring when the levels have not been read for half a second. The next reading then
    ///     shows silence first.
    public init(hold: Double = 0.5, window: Double = 4096.0 / 48_000, mixing: Bool = false, isLazy: Bool = false) {
        // A value that is not a number becomes the default.
        self.hold = hold.isNaN ? 0.5 : max(0, hold)
        self.window = window.isNaN ? 4096.0 / 48_000 : max(0, min(window, 10))
        isMixing = mixing
        self.isLazy = isLazy
    }

    // MARK: Reading

    /// The levels of all channels of the buffer that was heard last.
    public var levels: [Level] { levels(at: HostClock.now) }

    /// Returns the level of one channel; silence if it does not exist.
    public func level(_ channel: Int) -> Level {
        let fall = look(at: HostClock.now)
        return channel >= 0 && channel < channelCount.load(ordering: .relaxed)
            ? level(channel, fall) : .silence
    }

    /// The levels of left and right: of a mono buffer both are the same.
    public var stereo: (left: Level, right: Level) {
        let levels = self.levels
        let left = levels.first ?? .silence
        return (left, levels.count > 1 ? levels[1] : left)
    }

    /// The loudest channel's peak, and the loudest channel's RMS.
    public var combined: Level { combined(at: HostClock.now) }

    /// Returns the levels of a reader at a host time.
    private func levels(at now: Int64) -> [Level] {
        let fall = look(at: now)
        return (0..<channelCount.load(ordering: .relaxed)).map { level($0, fall) }
    }

    /// Returns the loudest levels for a reader at a host time.
    func combined(at now: Int64) -> Level {
        levels(at: now).reduce(.silence) {
            Level(peak: max($0.peak, $1.peak), rms: max($0.rms, $1.rms))
        }
    }

    /// Notes that the levels are read. Returns the factor by which they have fallen since the audio stopped: after 50
    /// ms they do, for a second.
    private func look(at now: Int64) -> Float {
        lastLook.store(now, ordering: .relaxed)
        let end = end.load(ordering: .relaxed)
        if end == .min { return 0 }
        let silence = end == .max ? 0 : Double(now &- end) * 1e-9
        return Float(max(0, min(1, 1.05 - silence)))
    }

    private func level(_ channel: Int, _ fall: Float) -> Level {
        let peak = Float(bitPattern: peaks[channel].load(ordering: .relaxed))
        let square = Float(bitPattern: meanSquares[channel].load(ordering: .relaxed))
        return Level(
            peak: RenderMath.decibels(amplitude: peak * fall),
            rms: RenderMath.decibels(amplitude: square.squareRoot() * fall))
    }

    // MARK: Measuring

    /// `true` for a meter that is `mixing`, which measures the sum of what it hears in a slice.
    public var isRepeatable: Bool { isMixing }

    /// Makes memory for the window.
    public func prepare(_ preparation: Preparation) {
        meter.replace(
            with: LevelState(
                sampleRate: preparation.sampleRate, frames: isMixing ? preparation.maximumFrameCount : 0,
                channels: min(64, preparation.maximumChannelCount), hold: hold, window: window))
    }

    /// Measures the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        guard meter.belongs(to: context) else { return }
        if isUnseen(context) {
            if end.load(ordering: .relaxed) != .min { forget(&context) }
            return
        }
        if isMixing {
            meter.with(&context) { meter, context in meter.add(context) }
        } else {
            meter.with(&context) { meter, context in meter.measure(context) }
        }
        publish(&context)
        let length = Int64(Double(context.frameCount) * 1e9 / context.sampleRate)
        end.store(context.isOffline ? .max : context.hostTime &+ length, ordering: .relaxed)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { forget(&context) }

    /// Returns whether measuring would be in vain, because the levels are not read. Never offline, where no program can
    /// read them in time.
    @_noLocks @_noAllocation
    private func isUnseen(_ context: borrowing RenderContext) -> Bool {
        if !isLazy { return false }
        if context.isOffline { return false }
        let last = lastLook.load(ordering: .relaxed)
        return last == .min ? true : context.hostTime &- last > 500_000_000
    }

    @_noLocks @_noAllocation
    private func forget(_ context: inout RenderContext) {
        guard meter.belongs(to: context) else { return }
        meter.with(&context) { meter, context in meter.forget() }
        publish(&context)
        end.store(.min, ordering: .relaxed)
    }

    @_noLocks @_noAllocation
    private func publish(_ context: inout RenderContext) {
        var count = 0
        meter.with(&context) { meter, context in count = meter.channelCount }
        for channel in 0..<count {
            var (peak, square) = (Float(0), Float(0))
            meter.with(&context) { meter, context in
                peak = meter.peak(channel)
                square = meter.meanSquare(channel)
            }
            peaks[channel].store(peak.bitPattern, ordering: .relaxed)
            meanSquares[channel].store(square.bitPattern, ordering: .relaxed)
        }
        channelCount.store(count, ordering: .relaxed)
    }
}
