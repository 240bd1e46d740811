import RenderCore

/// The last samples of several channels, read at distances that move from frame to frame: the memory of a chorus or a
/// flanger.
///
/// Between two samples it interpolates by Lagrange's polynomial, over six of them for voices and over four in a loop: exact at
/// whole frames, nowhere louder, and -0.4 dB (over four -1.1 dB) at a quarter of the sample rate where it lies midway. (A
/// ``DelayLine`` is flatter, at several times the cost.)
struct SweptLine: ~Copyable, Sendable {
    /// The number of channels.
    let channelCount: Int
    /// The longest delay in frames.
    let limit: Int

    private var ring: DelayRing
    /// The delay of each column at each frame of a block, less the anchor of the frame.
    private var delays: RenderMemory<Float>
    private var anchors: RenderMemory<Int32>
    /// The sums that ``sum(_:column:count:level:frames:)`` has computed.
    var wet = RenderMemory<Float>(repeating: 0, count: SlowWave.block)
    /// The anchor of all frames of a block, if they have one; else -1.
    private var anchor: Int32 = -1
    /// That of the sound that goes in.
    private(set) var fadeIn = FadeIn()

    /// The shortest delay in frames.
    static var shortest: Double { @_noLocks @_noAllocation get { 2 } }

    /// Creates a silent line. On the control side: it allocates.
    ///
    /// - Parameters:
    ///   - channels: The number of channels.
    ///   - frames: The longest delay.
    ///   - columns: The number of delays at a frame.
    init(channels: Int, frames: Int, columns: Int) {
        channelCount = channels
        limit = frames
        // Six samples in a row are read without a seam.
        ring = DelayRing(
            channels: channels, length: DelayRing.length(frames + SlowWave.block + 8, from: 256), behind: 5)
        delays = RenderMemory(repeating: 0, count: columns * SlowWave.block)
        anchors = RenderMemory(repeating: 0, count: SlowWave.block)
    }

    /// Forgets everything, at no cost.
    @_noLocks @_noAllocation
    mutating func reset() {
        ring.reset()
        fadeIn = FadeIn()
    }

    /// Forgets everything while its output is not heard. The sound that comes next fades in.
    @_noLocks @_noAllocation
    private mutating func rest(_ rate: Double) {
        ring.reset()
        fadeIn.begin(sampleRate: rate)
    }

    // MARK: Delays

    /// The delays of a frame: the first wave's at rest, and how far the waves carry them.
    struct Place: Sendable, BitwiseCopyable {
        /// Whole frames that are in every delay, so that the rest is a small number.
        var anchor: Int32
        var middle: Float
        var swing: Float

        /// - Parameters:
        ///   - delay: In frames.
        ///   - swing: In frames; held so that no delay is too short or too long.
        ///   - isSoft: `true` for a hold without a corner, which begins where the delay is less than twice the swing: for a
        ///     delay that glides past it.
        @_noLocks @_noAllocation
        init(delay: Double, swing wanted: Double, isSoft: Bool, limit: Int) {
            let delay = max(SweptLine.shortest, min(delay, Double(limit)))
            let most = min(delay - SweptLine.shortest, Double(limit) - delay)
            var swing = min(wanted, most)
            let nearness = wanted - abs(wanted - most)
            if isSoft && nearness > 0 {
                let share = nearness / wanted
                swing -= share * share * share * wanted * (1 / 6.0)
            }
            swing = max(0, min(swing, most))
            anchor = Int32(delay - swing) &- 1
            middle = Float(delay - Double(anchor))
            // A trifle less, so that rounding makes no delay shorter than it may be.
            self.swing = Float(swing) * 0.999999
        }
    }

    /// The delay in a slice, and how far the waves carry it.
    struct Sweep: Sendable, BitwiseCopyable {
        /// In seconds.
        var delay: Glide
        /// In seconds, or as a share of the delay.
        var depth: Glide
        var isShare: Bool
        var sampleRate: Double

        @_noLocks @_noAllocation
        init(delay: Glide, depth: Glide, isShare: Bool = false, sampleRate: Double) {
            self.delay = delay
            self.depth = depth
            self.isShare = isShare
            self.sampleRate = sampleRate
        }

        @_noLocks @_noAllocation
        func place(_ frame: Int, limit: Int) -> Place {
            // With all digits: a `Float` of 50 ms has steps of some 2e-4 frames, which are noise.
            let delay = delay.fine(frame) * sampleRate
            let depth = depth.fine(frame)
            let swing = isShare ? delay * depth : depth * sampleRate
            return Place(delay: delay, swing: swing, isSoft: !isShare, limit: limit)
        }
    }

    /// Sets the delays of the first columns for a block of frames.
    @_noLocks @_noAllocation
    mutating func place(_ sweep: Sweep, columns: Int, along wave: borrowing SlowWave, from first: Int, count: Int) {
        if sweep.delay.isFlat && sweep.depth.isFlat {
            place(sweep.place(first, limit: limit), columns: columns, along: wave)
        } else {
            for i in 0..<count {
                place(sweep.place(first &+ i, limit: limit), columns: columns, along: wave, frame: i)
            }
        }
    }

    /// Sets the delays of the first columns for a block of frames that have one place.
    @_noLocks @_noAllocation
    private mutating func place(_ place: Place, columns: Int, along wave: borrowing SlowWave) {
        if anchor != place.anchor {
            anchor = place.anchor
            for i in 0..<SlowWave.block { anchors[i] = anchor }
        }
        for column in 0..<columns {
            var i = 0
            while i < SlowWave.block {
                delays.store(
                    place.middle + place.swing * wave.vector8(column, i), at: column &* SlowWave.block &+ i)
                i &+= 8
            }
        }
    }

    /// Sets the delays of the first columns at one frame of a block.
    @_noLocks @_noAllocation
    private mutating func place(_ place: Place, columns: Int, along wave: borrowing SlowWave, frame: Int) {
        anchor = -1
        anchors[frame] = place.anchor
        for column in 0..<columns {
            delays[column &* SlowWave.block &+ frame] = place.middle + place.swing * wave[column, frame]
        }
    }

    /// Renders the first frames of a slice, a block at a time: `body` gets each channel of a block, with the first column of its
    /// side, and the first frame and the number of frames. In the frames behind them the line rests.
    @_noLocks @_noAllocation @inline(__always)
    mutating func process(
        _ top: inout AudioBuffer, _ pace: SlowWave.Pace, _ sweep: Sweep, spread: Glide, _ wave: inout SlowWave,
        frames: Int, _ body: (inout SweptLine, inout AudioBuffer, Int, Int, Int, Int) -> Void
    ) {
        wave.begin(pace)
        let channels = min(top.channelCount, channelCount)
        // A ring that was not in use becomes silent.
        if frames > 0 { ring.use(channels) }
        let isAlike = channels < 2 || (spread.isFlat && spread.end == 0)
        let side = wave.columns / 2
        let columns = isAlike ? side : wave.columns
        var done = 0
        while done < frames {
            let count = min(frames &- done, SlowWave.block)
            wave.render(pace, spread: spread, from: done, count: count, columns: columns)
            place(sweep, columns: columns, along: wave, from: done, count: count)
            for channel in 0..<channels {
                body(&self, &top, channel, isAlike || channel & 1 == 0 ? 0 : side, done, count)
            }
            // Channels in use that the slice has not.
            for channel in channels..<max(channels, ring.used) { ring.writeSilence(count: count, in: channel) }
            ring.advance(by: count)
            fadeIn.advance(by: count)
            done &+= count
        }
        if frames < top.frameCount {
            wave.skip(pace, from: frames, count: top.frameCount &- frames)
            rest(pace.sampleRate)
        }
    }

    // MARK: Samples

    /// Writes a block of a channel: the newest frames for those that read.
    @_noLocks @_noAllocation
    mutating func write(_ channel: Int, _ input: inout MutableSpan<Float>, from first: Int, count: Int) {
        if fadeIn.isOver { return ring.write(input.samples, from: first, count: count, in: channel) }
        for i in 0..<count { ring.put(input[first &+ i] * fadeIn.gain(i), in: channel, frame: i) }
    }

    /// Writes one sample of a channel.
    @_noLocks @_noAllocation @inline(__always)
    mutating func write(_ channel: Int, frame: Int, _ sample: Float) { ring.put(sample, in: channel, frame: frame) }

    /// Returns the sample of a channel at the delay of a column, over four samples.
    @_noLocks @_noAllocation @inline(__always)
    func read(_ channel: Int, column: Int, frame: Int) -> Float {
        let delay = delays.value(at: column &* SlowWave.block &+ frame)
        let whole = Int32(truncatingIfNeeded: Int(delay))
        let t = delay - Float(whole)
        // The oldest first.
        let oldest = ring.samples.vector4(at: ring.place(channel, frame &- Int(anchors[frame] &+ whole) &- 2))
        var weights = SIMD4<Float>(1 / 6, -0.5, 0.5, -1 / 6) * t + SIMD4<Float>(0, 0.5, -1, 0.5)
        weights = weights * t + SIMD4<Float>(-1 / 6, 1, -0.5, -1 / 3)
        weights = weights * t + SIMD4<Float>(0, 0, 1, 0)
        let taps = weights * oldest
        return (taps[0] + taps[1]) + (taps[2] + taps[3])
    }

    /// Computes the sum of a channel at the delays of some columns, over six samples, into a block that ``wet`` has then.
    @_noLocks @_noAllocation
    mutating func sum(_ channel: Int, column: Int, count columns: Int, level: Float, frames: Int) {
        ring.sweep(
            channel, delays, from: column &* SlowWave.block, voices: columns, anchors: anchors, level: level,
            into: &wet,
            count: frames)
    }
}
