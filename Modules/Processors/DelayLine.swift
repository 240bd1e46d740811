import RenderCore

/// The last samples of several channels, to be read at any distance: the memory of a delay, a chorus, a comb.
///
///     let old = line.read(0, delay: 100.25)
///     line.write(sample, channel: 0, frame: 0)
///     line.advance(by: 1)
///
/// Between two samples it interpolates: over 16 of them with a sinc in a Kaiser window (β = 7) if the delay is 8 frames
/// or longer, else over 8, 4 or 2 by Lagrange's polynomial. At whole frames all of them give the sample itself, so that
/// a delay may move through them without a step; nowhere is a frequency louder than it was. The article <doc:Filters>
/// says how flat they are.
///
/// Threads: any.
public struct DelayLine: ~Copyable, Sendable {
    /// The number of channels.
    public let channelCount: Int
    /// The longest delay in frames.
    public let limit: Int

    private let length: Int
    private var samples: RenderMemory<Float>
    private var kernel: DelayKernel
    /// The weights of the last delay that stood still.
    private var aimed = (delay: 0.0, weights: SIMD16<Float>(repeating: 0))
    /// A piece of a channel without the seam of the ring.
    private var window: RenderMemory<Float>
    /// The position at which the next frame is written.
    private var position = 0
    /// The number of frames that were written since the reset: older frames are silence, whatever the memory holds.
    private var filled = 0

    /// The most frames that are read at once.
    static var blockLength: Int { @_noLocks @_noAllocation get { 512 } }

    /// Creates a silent line. On the control side: it allocates.
    ///
    /// - Parameters:
    ///   - channels: 1 or more.
    ///   - frames: The longest delay, 1 or more.
    ///
    /// Threads: control.
    public init(channels: Int, frames: Int) {
        demand(
            channels <= 65_536 && frames <= 1 << 40,
            "DelayLine: \(channels) channels of \(frames) frames are more than memory holds")
        channelCount = max(channels, 1)
        limit = max(frames, 1)
        length = limit + 9
        samples = RenderMemory(repeating: 0, count: channelCount * length)
        window = RenderMemory(repeating: 0, count: DelayLine.blockLength + 16)
        kernel = DelayKernel()
    }

    /// Forgets everything, at no cost.
    @_noLocks @_noAllocation
    public mutating func reset() { filled = 0 }

    /// Returns the nearest delay that can be read.
    @_noLocks @_noAllocation
    public func clamp(_ delay: Double) -> Double { delay > 1 ? (delay < Double(limit) ? delay : Double(limit)) : 1 }

    /// Returns the number of frames that may be read before the first of them is written: 1 or more.
    @_noLocks @_noAllocation
    func reach(_ delay: Double) -> Int {
        let whole = Int(delay)
        return min(whole &- DelayKernel.half(whole) &+ 1, DelayLine.blockLength)
    }

    /// Writes a sample: `frame` frames after those that the line has advanced by. A channel that does not exist takes
    /// nothing.
    @_noLocks @_noAllocation
    public mutating func write(_ sample: Float, channel: Int, frame: Int) {
        guard channel >= 0 && channel < channelCount && frame >= 0 && frame < length else { return }
        var index = position &+ frame
        if index >= length { index &-= length }
        samples[channel &* length &+ index] = sample
    }

    /// Moves on by frames that were written: they become the past.
    @_noLocks @_noAllocation
    public mutating func advance(by frames: Int) {
        let frames = max(0, min(frames, length))
        position &+= frames
        if position >= length { position &-= length }
        filled = min(filled &+ frames, length)
    }

    /// Returns the sample that a channel held `delay` frames before a frame that is yet to be written.
    ///
    /// - Parameters:
    ///   - channel: The number of the channel.
    ///   - delay: The delay, 1…``limit`` frames; held to that.
    ///   - frame: The number of frames after the next, less than 512. Frames that are not written yet count as silence:
    ///     a delay that is 8 frames longer than `frame` does not touch them.
    @_noLocks @_noAllocation
    public mutating func read(_ channel: Int, delay: Double, frame: Int = 0) -> Float {
        guard channel >= 0 && channel < channelCount && frame >= 0 && frame < DelayLine.blockLength else { return 0 }
        return read(channel, kernel.aim(clamp(delay)), frame: frame)
    }

    /// Returns the place of a delay between two samples, the same for all channels.
    @_noLocks @_noAllocation
    mutating func aim(_ delay: Double) -> DelayKernel.Aim { kernel.aim(delay) }

    @_noLocks @_noAllocation
    func read(_ channel: Int, _ aim: DelayKernel.Aim, frame: Int) -> Float {
        let oldest = aim.whole &+ aim.half &- frame
        let first = channel &* length
        var index = position &- oldest
        if index < 0 { index &+= length }
        // All taps at once if they do not cross the seam and the time before the reset; otherwise one by one.
        let taps = 2 &* aim.half
        var sum: Float = 0
        var tap = taps &- 1
        if oldest <= filled && oldest >= taps && index &+ taps <= length {
            let newest = first &+ index &+ taps &- 1
            tap = 0
            while tap < taps {
                sum += aim.weights[tap] * samples[newest &- tap]
                tap &+= 1
            }
            return sum
        }
        tap = 0
        while tap < taps {
            sum += aim.weights[tap] * past(channel, oldest &- taps &+ 1 &+ tap)
            tap &+= 1
        }
        return sum
    }

    /// Reads frames in a row with one delay, into `output` from `start` on.
    @_noLocks @_noAllocation
    mutating func read(
        _ channel: Int, delay: Double, count: Int, into output: inout RenderMemory<Float>, at start: Int
    ) {
        let whole = Int(delay)
        let fraction = Float(delay - Double(whole))
        let ring = Ring(first: channel &* length, length: length, position: position, filled: filled)
        if fraction == 0 {
            DelayLine.copy(&samples, ring, age: whole, into: &output, at: start, count: count)
        } else {
            let half = DelayKernel.half(whole)
            let taps = 2 &* half
            if delay != aimed.delay { aimed = (delay, kernel.weights(half, fraction)) }
            let (oldest, length) = (whole &+ half, count &+ taps &- 1)
            let index = position < oldest ? position &- oldest &+ self.length : position &- oldest
            if oldest <= filled && index <= self.length &- length {
                // The frames lie in one piece.
                DelayLine.combine(
                    aimed.weights, taps, &samples, from: ring.first &+ index, into: &output, at: start, count: count)
                return
            }
            DelayLine.copy(&samples, ring, age: oldest, into: &window, at: 0, count: length)
            DelayLine.combine(aimed.weights, taps, &window, from: 0, into: &output, at: start, count: count)
        }
    }

    /// Returns the sample that was written `age` frames ago; 1 is the last.
    @_noLocks @_noAllocation
    private func past(_ channel: Int, _ age: Int) -> Float {
        if age > filled || age < 1 { return 0 }
        let index = position &- age
        return samples[channel &* length &+ (index < 0 ? index &+ length : index)]
    }

    /// The place of a channel in the memory, the position of its next frame, and the number of frames that were
    /// written.
    private struct Ring: Sendable, BitwiseCopyable {
        var first: Int
        var length: Int
        var position: Int
        var filled: Int

        @_noLocks @_noAllocation
        init(first: Int, length: Int, position: Int, filled: Int) {
            self.first = first
            self.length = length
            self.position = position
            self.filled = filled
        }
    }

    /// Copies samples from `age` frames ago on.
    @_noLocks @_noAllocation
    private static func copy(
        _ samples: inout RenderMemory<Float>, _ ring: Ring, age: Int, into target: inout RenderMemory<Float>,
        at start: Int, count: Int
    ) {
        let unknown = min(max(age &- ring.filled, 0), count)
        var index = ring.position &- age &+ unknown
        if index < 0 { index &+= ring.length }
        let part = min(count &- unknown, ring.length &- index)
        for i in 0..<unknown { target[start &+ i] = 0 }
        var past = samples.span
        var output = target.span
        let input = past.samples
        let (first, done) = (ring.first &+ index, unknown &+ part)
        Signal.copy(input, from: first, into: &output, at: start &+ unknown, count: part)
        Signal.copy(input, from: ring.first, into: &output, at: start &+ done, count: count &- done)
    }

    /// Sums of neighbouring samples, the oldest with the last weight.
    @_noLocks @_noAllocation
    private static func combine(
        _ weights: SIMD16<Float>, _ taps: Int, _ past: inout RenderMemory<Float>, from first: Int,
        into target: inout RenderMemory<Float>, at start: Int, count: Int
    ) {
        var span = past.span
        var output = target.span
        Signal.combine(weights, taps: taps, span.samples, from: first, into: &output, at: start, count: count)
    }

    /// Feeds frames in a row into a channel, and replaces the samples by those that are heard: see `Signal.feed`.
    ///
    /// - Parameters:
    ///   - echo: The samples that have come out of the channel, from `start` on.
    ///   - round: Those samples, after they have passed the filter of the loop; not used if that is open.
    ///   - numbers: The feedback of each frame, and from `mixes` on its mix.
    @_noLocks @_noAllocation
    mutating func feed(
        _ channel: Int, echo: inout RenderMemory<Float>, round: inout RenderMemory<Float>, isOpen: Bool, at start: Int,
        numbers: inout RenderMemory<Float>, mixes: Int, _ top: inout MutableSpan<Float>, from first: Int, count: Int
    ) {
        let part = min(count, length &- position)
        let place = channel &* length
        DelayLine.feed(
            &echo, &round, isOpen, at: start, &numbers, feedback: 0, mix: mixes, &top, from: first, &samples,
            at: place &+ position, count: part)
        DelayLine.feed(
            &echo, &round, isOpen, at: start &+ part, &numbers, feedback: part, mix: mixes &+ part, &top,
            from: first &+ part, &samples, at: place, count: count &- part)
    }

    /// Returns where in each channel the frames of a delay lie, if it is a whole one and they lie in one piece; -1 if not.
    @_noLocks @_noAllocation
    func place(_ delay: Double, count: Int) -> Int {
        let whole = Int(delay)
        let index = position < whole ? position &- whole &+ length : position &- whole
        // What is written meanwhile must not lie among them.
        let isApart = count <= length &- whole && index &+ count <= length
        return Double(whole) == delay && whole <= filled && isApart ? index : -1
    }

    /// Returns a sample that ``place(_:count:)`` has found.
    @_noLocks @_noAllocation
    func sample(_ channel: Int, at place: Int) -> Float { samples[channel &* length &+ place] }

    /// Feeds frames in a row into a channel as the other `feed` does, from samples that it holds from `echo` on.
    @_noLocks @_noAllocation
    mutating func feed(
        _ channel: Int, echoAt echo: Int, numbers: inout RenderMemory<Float>, mixes: Int,
        _ top: inout MutableSpan<Float>, from first: Int, count: Int
    ) {
        let part = min(count, length &- position)
        let start = channel &* length
        let place = start &+ position
        var gains = numbers.span
        var line = samples.span
        Signal.feed(
            echoAt: start &+ echo, gains.samples, feedback: 0, mix: mixes, &top, from: first, &line, at: place,
            count: part)
        if part == count { return }
        Signal.feed(
            echoAt: start &+ echo &+ part, gains.samples, feedback: part, mix: mixes &+ part, &top,
            from: first &+ part, &line, at: start, count: count &- part)
    }

    @_noLocks @_noAllocation
    private static func feed(
        _ echo: inout RenderMemory<Float>, _ round: inout RenderMemory<Float>, _ isOpen: Bool, at start: Int,
        _ numbers: inout RenderMemory<Float>, feedback: Int, mix: Int, _ top: inout MutableSpan<Float>, from first: Int,
        _ samples: inout RenderMemory<Float>, at place: Int, count: Int
    ) {
        var echoes = echo.span
        var rounds = round.span
        var gains = numbers.span
        var line = samples.span
        let heard = echoes.samples
        if isOpen {
            Signal.feed(
                heard, heard, at: start, gains.samples, feedback: feedback, mix: mix, &top,
                from: first, &line, at: place, count: count)
        } else {
            Signal.feed(
                heard, rounds.samples, at: start, gains.samples, feedback: feedback, mix: mix, &top,
                from: first, &line, at: place, count: count)
        }
    }
}

/// The way in which a delay line reads between two samples: weights for 257 fractions, in memory.
package struct DelayKernel: ~Copyable, Sendable {
    private static var fractions: Int { @_noLocks @_noAllocation get { 256 } }
    private var table: RenderMemory<Float>

    /// A delay as whole frames, samples on either side, and their weights.
    package struct Aim: Sendable, BitwiseCopyable {
        package var whole: Int
        var half: Int
        package var weights: SIMD16<Float>
    }

    /// Returns the number of samples on either side that are used at a delay: as many as there are, up to eight.
    @_noLocks @_noAllocation
    static func half(_ whole: Int) -> Int { whole >= 8 ? 8 : (whole >= 4 ? 4 : (whole >= 2 ? 2 : 1)) }

    /// Rows of 2, then 4, 8 and 16 weights: those of `half` begin at row `2 half - 2` of width one.
    package init() {
        table = RenderMemory(repeating: 0, count: (DelayKernel.fractions + 1) * 30)
        var table = table.span
        for half in [1, 2, 4, 8] {
            for row in 0...DelayKernel.fractions {
                let fraction = Double(row) / Double(DelayKernel.fractions)
                let weights = (0..<2 * half).map { tap in
                    DelayKernel.weight(tap, of: half, fraction)
                }
                // The weights are scaled so that no frequency comes out louder than it went in: with full feedback it
                // would grow.
                let sum = weights.reduce(0, +) * (half == 8 ? 1 + 0.00066 * 4 * fraction * (1 - fraction) : 1)
                for tap in 0..<2 * half {
                    table[(DelayKernel.fractions + 1) * (2 * half - 2) + row * 2 * half + tap] = Float(
                        weights[tap] / sum)
                }
            }
        }
    }

    @_noLocks @_noAllocation
    package mutating func aim(_ delay: Double) -> Aim {
        let whole = Int(delay)
        let half = DelayKernel.half(whole)
        return Aim(whole: whole, half: half, weights: weights(half, Float(delay - Double(whole))))
    }

    /// Returns the weights at a fraction, on a straight line between two rows: 1e-5 off at most.
    @_noLocks @_noAllocation
    mutating func weights(_ half: Int, _ fraction: Float) -> SIMD16<Float> {
        let place = fraction * Float(DelayKernel.fractions)
        let row = min(Int(place), DelayKernel.fractions &- 1)
        let between = place - Float(row)
        let first = (DelayKernel.fractions &+ 1) &* (2 &* half &- 2) &+ row &* 2 &* half
        if half == 8 {
            var span = table.span
            let rows = span.samples
            let low = SIMD16(lowHalf: rows.vector8(at: first), highHalf: rows.vector8(at: first &+ 8))
            let high = SIMD16(lowHalf: rows.vector8(at: first &+ 16), highHalf: rows.vector8(at: first &+ 24))
            return low * (1 - between) + high * between
        }
        var weights = SIMD16<Float>(repeating: 0)
        for tap in 0..<2 &* half {
            let (low, high) = (table[first &+ tap], table[first &+ tap &+ 2 &* half])
            weights[tap] = low * (1 - between) + high * between
        }
        return weights
    }

    private static func weight(_ tap: Int, of half: Int, _ fraction: Double) -> Double {
        let place = Double(half - 1) + fraction
        guard half == 8 else {
            return (0..<2 * half).reduce(1) {
                $1 == tap ? $0 : $0 * (place - Double($1)) / Double(tap - $1)
            }
        }
        let x = Double(tap) - place
        if x == 0 || fraction == 0 || fraction == 1 { return x == 0 ? 1 : 0 }
        let edge = 1 - x * x / 64
        let sinc = RenderMath.sin(.pi * x) / (.pi * x)
        return edge > 0 ? sinc * RenderMath.bessel(7 * edge.squareRoot()) : 0
    }
}
