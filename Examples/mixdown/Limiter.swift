import RenderStack

/// Mixes tracks, and turns everything down before a peak and up again behind it, so that the mix stays under a ceiling,
/// between its samples too.
///
/// It takes the tracks that are on top, and leaves them with the mix above them: each is turned down as the mix is, so
/// that together they still are the mix. Latency: the 5 ms that it looks ahead, and eight frames.
final class Limiter: Module {
    private let trackCount: Int
    private let ceiling: Float
    private let line: RenderState<Line>

    /// - Parameters:
    ///   - tracks: The number of tracks, mono or stereo.
    ///   - ceiling: An amplitude.
    init(tracks: Int, ceiling: Float) {
        trackCount = tracks
        self.ceiling = ceiling
        line = RenderState(Line(tracks: tracks, ahead: 1, frames: 0, ceiling: ceiling))
    }

    func latency(at sampleRate: Double) -> Int { Self.framesAhead(sampleRate) - 1 + PeakFinder.delay }
    var stackEffect: StackEffect { StackEffect(pops: trackCount, pushes: trackCount + 1) }

    private static func framesAhead(_ sampleRate: Double) -> Int { max(1, Int(sampleRate * 0.005)) }

    func prepare(_ preparation: Preparation) {
        line.replace(
            with: Line(
                tracks: trackCount, ahead: Self.framesAhead(preparation.sampleRate),
                frames: preparation.maximumFrameCount, ceiling: ceiling))
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(1, channels: 2)
        line.with(&context) { line, context in
            let frames = context.frameCount < line.gains.count ? context.frameCount : line.gains.count
            // The mix, and from it the gains.
            for channel in 0..<2 {
                for track in 1...line.tracks {
                    let channels = context.channelCount(at: track)
                    for i in 0..<frames {
                        let sample = context.samples(channel < channels ? channel : channels - 1, at: track)[i]
                        var mix = context.top
                        var samples = mix[channel]
                        samples[i] += sample
                    }
                }
            }
            for i in 0..<frames {
                line.follow(context.samples(0)[i], context.samples(1)[i], at: i)
            }
            // Everything later, and as loud as that.
            let start = line.position
            for index in 0...line.tracks {
                var buffer = context.buffer(at: index)
                for channel in 0..<buffer.channelCount where channel < 2 {
                    var samples = buffer[channel]
                    line.position = start
                    for i in 0..<frames { samples[i] = line.delayed(samples[i], 2 * index + channel, at: i) }
                }
            }
            line.position = (start + frames) % line.delay
        }
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { line.with(&context) { line, _ in line.reset() } }
}

/// The memory of a limiter.
private struct Line: ~Copyable, Sendable {
    let tracks: Int
    /// Frames of delay.
    let delay: Int
    let ceiling: Float
    /// Of this slice.
    var gains: RenderMemory<Float>
    /// The position of the delayed samples.
    var position = 0
    private var delays: RenderMemory<Float>
    private var finder = PeakFinder()
    private var floor: SlidingMinimum
    private var mean: SlidingMean
    private var level: Float = 1
    /// A twentieth of a second back to two thirds.
    private let rise: Float

    init(tracks: Int, ahead: Int, frames: Int, ceiling: Float) {
        self.tracks = tracks
        self.ceiling = ceiling
        delay = ahead - 1 + PeakFinder.delay
        gains = RenderMemory(repeating: 1, count: frames)
        delays = RenderMemory(repeating: 0, count: 2 * (tracks + 1) * delay)
        // Two frames more than the mean: a peak between two samples belongs to both.
        floor = SlidingMinimum(count: ahead + 2)
        mean = SlidingMean(count: ahead)
        rise = 1 / Float(10 * ahead)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        for i in 0..<delays.count { delays[i] = 0 }
        finder.reset()
        floor.reset()
        mean.reset()
        level = 1
        position = 0
    }

    /// Notes the gain of a frame.
    @_noLocks @_noAllocation
    mutating func follow(_ left: Float, _ right: Float, at frame: Int) {
        let peak = finder.peak(left, right)
        let lowest = floor.add(peak > ceiling ? ceiling / peak : 1)
        level = lowest < level ? lowest : level + (lowest - level) * rise
        gains[frame] = mean.add(level)
    }

    /// Takes a sample, and gives back what is heard now.
    @_noLocks @_noAllocation
    mutating func delayed(_ sample: Float, _ channel: Int, at frame: Int) -> Float {
        let place = channel * delay + position
        let old = delays[place]
        delays[place] = sample
        position = position + 1 == delay ? 0 : position + 1
        return old * gains[frame]
    }
}

/// Finds the peak of a signal, between its samples too: it looks at four places for each, as ITU-R BS.1770 has it.
private struct PeakFinder: ~Copyable, Sendable {
    /// Frames after which a place is looked at.
    static var delay: Int { @_noLocks @_noAllocation get { 8 } }
    /// Three windowed sincs, for a quarter, a half and three quarters of the way from one sample to the next.
    private var taps: RenderMemory<Float>
    private var history = RenderMemory<Float>(repeating: 0, count: 64)
    private var position = 0

    init() {
        taps = RenderMemory(repeating: 0, count: 48)
        for place in 0..<3 {
            let weights = (0..<16).map { tap -> Double in
                let x = Double(tap - 8) + Double(place + 1) / 4
                let window = 0.5 + 0.5 * RenderMath.cos(.pi * x / 8.5)
                return window * RenderMath.sin(.pi * x) / (.pi * x)
            }
            let sum = weights.reduce(0, +)
            for tap in 0..<16 { taps[16 * place + tap] = Float(weights[tap] / sum) }
        }
    }

    @_noLocks @_noAllocation
    mutating func reset() { for i in 0..<64 { history[i] = 0 } }

    /// Takes a frame, and looks at the one of eight frames ago and what is behind it.
    @_noLocks @_noAllocation
    mutating func peak(_ left: Float, _ right: Float) -> Float {
        var highest: Float = 0
        for channel in 0..<2 {
            // Twice, so that sixteen in a row are always there: the newest first.
            let first = 32 * channel + position
            let sample = channel == 0 ? left : right
            history[first] = sample
            history[first + 16] = sample
            let here = abs(history[first + 8])
            highest = here > highest ? here : highest
            for place in 0..<3 {
                var sum: Float = 0
                for tap in 0..<16 { sum += taps[16 * place + tap] * history[first + tap] }
                sum = abs(sum)
                highest = sum > highest ? sum : highest
            }
        }
        position = position == 0 ? 15 : position - 1
        return highest
    }
}

/// The lowest of the last numbers: a queue of those that may still become it (Lemire 2006).
private struct SlidingMinimum: ~Copyable, Sendable {
    private var values: RenderMemory<Float>
    private var times: RenderMemory<Int>
    private var first = 0
    private var count = 0
    private var now = 0

    init(count: Int) {
        values = RenderMemory(repeating: 1, count: count)
        times = RenderMemory(repeating: 0, count: count)
    }

    @_noLocks @_noAllocation
    mutating func reset() { (first, count, now) = (0, 0, 0) }

    @_noLocks @_noAllocation
    mutating func add(_ value: Float) -> Float {
        let size = values.count
        if count > 0 && times[first] <= now - size {
            first = first + 1 == size ? 0 : first + 1
            count -= 1
        }
        while count > 0 && values[(first + count - 1) % size] >= value { count -= 1 }
        values[(first + count) % size] = value
        times[(first + count) % size] = now
        count += 1
        now += 1
        return values[first]
    }
}

/// The mean of the last numbers.
private struct SlidingMean: ~Copyable, Sendable {
    private var values: RenderMemory<Double>
    private var sum: Double
    private var position = 0

    init(count: Int) {
        values = RenderMemory(repeating: 1, count: count)
        sum = Double(count)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        for i in 0..<values.count { values[i] = 1 }
        sum = Double(values.count)
        position = 0
    }

    @_noLocks @_noAllocation
    mutating func add(_ value: Float) -> Float {
        sum += Double(value) - values[position]
        values[position] = Double(value)
        position = position + 1 == values.count ? 0 : position + 1
        return Float(sum / Double(values.count))
    }
}
