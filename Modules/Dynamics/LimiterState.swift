internal import RenderCore

/// The memory of a limiter, on the render thread.
struct LimiterState: ~Copyable, Sendable {
    /// The frames around a peak for which the gain stays, because a peak between samples is made of those around it.
    private static var hold: Int { @_noLocks @_noAllocation get { 8 } }
    /// The limiter turns a true peak down to this many decibels below the ceiling, because the peaks that it finds have
    /// an error.
    private static var margin: Float { @_noLocks @_noAllocation get { 0.1 } }

    /// The lowest gain of the last slice.
    private(set) var lowestGain: Float = 1
    /// Buffers: the tracks, and the mix of them.
    private let bufferCount: Int
    /// Channels of a buffer.
    private let channelLimit: Int
    private let delay: Int
    private let isTruePeak: Bool
    /// The samples of all buffers, the mix first.
    private var history: SampleHistory
    /// The number of channels that have a past, for each buffer.
    private var used: RenderMemory<Int>
    private var finder: TruePeakFinder
    private var unseen: UnseenPeaks
    /// The peaks of a slice, then the gains that they demand.
    private var peaks: RenderMemory<Float>
    private var gains: RenderMemory<Float>
    private var floor: SlidingMinimum
    private var smoother: TrapezoidSmoother
    private let lookAhead: Int
    private var smoothing: Int { @_noLocks @_noAllocation get { lookAhead &+ 1 } }
    private var level = 1.0
    /// Frames in a row in which nothing was turned down: after as many as are smoothed all gains are 1.
    private var restingFrames: Int

    /// Returns the frames in which the gain goes down. A gain that changes faster would make new peaks between the
    /// samples.
    static func framesAhead(_ seconds: Double, sampleRate: Double, isTruePeak: Bool) -> Int {
        max(shortest(isTruePeak), Int((sampleRate.asSampleRate * seconds).rounded()))
    }

    @_noLocks @_noAllocation
    private static func shortest(_ isTruePeak: Bool) -> Int { isTruePeak ? 64 : 1 }

    /// Returns by how many frames the sound comes out late.
    static func delay(lookAhead: Int, isTruePeak: Bool) -> Int {
        isTruePeak ? lookAhead + TruePeakFinder.delay + hold - 1 : lookAhead - 1
    }

    /// - Parameters:
    ///   - tracks: Buffers besides the mix.
    ///   - channels: The most channels of a buffer.
    ///   - frames: The longest slice.
    ///   - lookAhead: The frames in which the gain goes down, 1 or more.
    init(tracks: Int, channels: Int, frames: Int, lookAhead: Int, isTruePeak: Bool) {
        bufferCount = tracks + 1
        channelLimit = channels
        self.isTruePeak = isTruePeak
        delay = Self.delay(lookAhead: lookAhead, isTruePeak: isTruePeak)
        let past = max(delay, isTruePeak ? TruePeakFinder.past + TruePeakFinder.delay : 0)
        history = SampleHistory(
            channels: channels * (tracks + 1), past: past, maximumFrameCount: frames, slack: 64)
        used = RenderMemory(repeating: 0, count: tracks + 1)
        finder = TruePeakFinder(maximumFrameCount: isTruePeak ? frames : 0)
        unseen = UnseenPeaks(channels: isTruePeak ? channels : 0, maximumFrameCount: isTruePeak ? frames : 0)
        peaks = RenderMemory(repeating: 0, count: frames)
        gains = RenderMemory(repeating: 1, count: frames)
        // A peak between two samples belongs to both.
        floor = SlidingMinimum(count: isTruePeak ? lookAhead + 2 * Self.hold + 1 : lookAhead, rest: 1)
        // Two boxes, together as long as the attack: the gain has no corners.
        smoother = TrapezoidSmoother(window: lookAhead, rest: Self.whole)
        self.lookAhead = lookAhead
        restingFrames = lookAhead + 1
    }

    /// A gain of 1 as the smoother has it.
    private static var whole: Int64 { @_noLocks @_noAllocation get { 1 << 36 } }

    /// Goes back to silence.
    @_noLocks @_noAllocation
    mutating func reset() {
        history.reset()
        unseen.reset()
        for buffer in 0..<bufferCount { used[buffer] = 0 }
        floor.reset()
        smoother.reset()
        level = 1
        restingFrames = smoothing
        lowestGain = 1
    }

    /// Turns buffers down, from the top to the lowest track, as the top demands.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, _ settings: Settings) {
        let frames = min(context.frameCount, gains.count)
        history.makeRoom(frames)
        for buffer in 0..<bufferCount { take(context, buffer, frames) }
        let isIdle = follow(settings, frames)
        for buffer in 0..<bufferCount {
            var samples = context.buffer(at: buffer)
            for channel in 0..<min(samples.channelCount, channelLimit) {
                var output = samples[channel]
                give(&output, row: buffer &* channelLimit &+ channel, frames, isIdle: isIdle)
            }
        }
        history.advance(frames)
    }

    /// Notes the sound of a buffer. A channel that is no more becomes silent.
    @_noLocks @_noAllocation
    private mutating func take(_ context: borrowing RenderContext, _ buffer: Int, _ frames: Int) {
        let channels = min(context.channelCount(at: buffer), channelLimit)
        for channel in 0..<channels {
            history.write(
                context.samples(channel, at: buffer), count: frames, in: buffer &* channelLimit &+ channel)
        }
        for channel in channels..<max(channels, used[buffer]) {
            history.writeSilence(count: frames, in: buffer &* channelLimit &+ channel)
        }
        used[buffer] = max(used[buffer], channels)
    }

    @_noLocks @_noAllocation
    private func give(_ output: inout MutableSpan<Float>, row: Int, _ frames: Int, isIdle: Bool) {
        let samples = history.samples(row)
        let start = history.position &- delay
        if isIdle {
            for i in 0..<frames { output[i] = samples[start &+ i] }
        } else {
            for i in 0..<frames { output[i] = samples[start &+ i] * gains[i] }
        }
    }

    // MARK: Gains

    /// Computes the gains of a slice; `true`: all are 1, and have not been written.
    @_noLocks @_noAllocation
    private mutating func follow(_ settings: Settings, _ frames: Int) -> Bool {
        var low = amplitude(settings.ceiling.start)
        if !settings.ceiling.isFlat { for i in 0..<frames { low = min(low, amplitude(settings.ceiling[i])) } }
        let isLoud = measure(frames, low)
        if restingFrames >= smoothing && !isLoud {
            lowestGain = 1
            return true
        }
        want(settings.ceiling, frames, isLoud: isLoud)
        let (release, sampleRate) = (settings.release, settings.sampleRate)
        var rise = rise(release.end, sampleRate)
        var shape = shape(settings.attack.end, settings)
        var lowest: Float = 1
        for i in 0..<frames {
            if !settings.attack.isFlat { shape = self.shape(settings.attack[i], settings) }
            if !release.isFlat { rise = self.rise(release[i], sampleRate) }
            // To a little more than 1, so that it arrives.
            let risen = level * (1 - rise) + 1.001 * rise
            let held = Double(floor.add(peaks[i]))
            level = risen < held ? risen : held
            restingFrames = level < 1 ? 0 : min(restingFrames &+ 1, smoothing)
            let gain = Float(Double(smoother.add(Int64(level * 0x1p36), shape)) * (0x1p-36 * shape.scale))
            gains[i] = gain
            lowest = gain < lowest ? gain : lowest
        }
        lowestGain = lowest
        return false
    }

    /// Makes of the peaks the gains that they demand.
    @_noLocks @_noAllocation
    private mutating func want(_ ceiling: Glide, _ frames: Int, isLoud: Bool) {
        // A little less than the ceiling, for what rounding adds.
        let less: Float = 1 - 0x1p-21
        if !isLoud {
            for i in 0..<frames { peaks[i] = 1 }
        } else if ceiling.isFlat {
            let limit = amplitude(ceiling.end)
            for i in 0..<frames { peaks[i] = peaks[i] > limit ? limit * less / peaks[i] : 1 }
        } else {
            for i in 0..<frames {
                let limit = amplitude(ceiling[i])
                peaks[i] = peaks[i] > limit ? limit * less / peaks[i] : 1
            }
        }
    }

    /// Finds the peaks of the mix; `false`: none is above an amplitude, and they may not have been written.
    @_noLocks @_noAllocation
    private mutating func measure(_ frames: Int, _ low: Float) -> Bool {
        // The peaks of samples need no more than the present ones.
        let first = history.position &- (isTruePeak ? TruePeakFinder.delay : 0)
        var isQuiet = true
        let unseenLevel = isTruePeak ? unseen.listen(history, channels: used[0], frames: frames) : 0
        for channel in 0..<used[0] {
            if isTruePeak
                && !finder.mayExceed(history, channel, from: first, count: frames, level: low - unseenLevel)
            {
                continue
            }
            if isQuiet {
                for i in 0..<frames { peaks[i] = 0 }
                isQuiet = false
            }
            if isTruePeak {
                finder.find(history, channel, from: first, count: frames, into: &peaks)
            } else {
                lift(&peaks, to: history, channel, from: first, count: frames)
            }
        }
        if isQuiet { return false }
        if isTruePeak { unseen.add(to: &peaks, frames: frames) }
        var highest: Float = 0
        for i in 0..<frames { highest = peaks[i] > highest ? peaks[i] : highest }
        return highest > low
    }

    @_noLocks @_noAllocation
    private func amplitude(_ decibels: Float) -> Float {
        RenderMath.amplitude(decibels: isTruePeak ? decibels - LimiterState.margin : decibels)
    }

    /// Returns the way in which the gain goes down: within the attack, right before the peak.
    @_noLocks @_noAllocation
    private func shape(_ attack: Float, _ settings: Settings) -> TrapezoidSmoother.Shape {
        // The look-ahead itself may lie between two numbers of a Float.
        if attack >= Float(settings.lookAhead) { return TrapezoidSmoother.Shape(lookAhead, of: lookAhead) }
        let frames = max(Self.shortest(isTruePeak), Int(Double(attack) * settings.sampleRate + 0.5))
        return TrapezoidSmoother.Shape(min(frames, lookAhead), of: lookAhead)
    }

    /// Returns which part of the way back is gone in a frame.
    @_noLocks @_noAllocation
    private func rise(_ seconds: Float, _ sampleRate: Double) -> Double {
        1 - RenderMath.exp(-1 / (Double(seconds) * sampleRate))
    }
}

/// Lifts peaks to the magnitudes of samples.
@_noLocks @_noAllocation
private func lift(
    _ peaks: inout RenderMemory<Float>, to history: borrowing SampleHistory, _ channel: Int, from first: Int, count: Int
) {
    let row = history.samples(channel)
    for i in 0..<count {
        let magnitude = abs(row[first &+ i])
        peaks[i] = magnitude > peaks[i] ? magnitude : peaks[i]
    }
}
