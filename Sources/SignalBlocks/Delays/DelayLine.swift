internal import CKernels

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

    @usableFromInline var ring: DelayRing
    private let kernel = DelayKernel()
    /// The weights of the last delay that stood still.
    private var aimed = (delay: 0.0, weights: SIMD16<Float>(repeating: 0))
    /// A piece of a channel without the seam of the ring.
    private var window: RenderMemory<Float>

    /// The most frames that are read at once.
    @inlinable package static var blockLength: Int { @_noLocks @_noAllocation get { 512 } }

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
        ring = DelayRing(channels: channelCount, length: limit + 9)
        window = RenderMemory(repeating: 0, count: DelayLine.blockLength + 16)
    }

    /// Forgets everything, at no cost.
    @_noLocks @_noAllocation
    public mutating func reset() { ring.reset() }

    /// Returns the nearest delay that can be read.
    @_noLocks @_noAllocation
    public func clamp(_ delay: Double) -> Double { delay > 1 ? (delay < Double(limit) ? delay : Double(limit)) : 1 }

    /// Returns the number of frames that may be read before the first of them is written: 1 or more.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func reach(_ delay: Double) -> Int {
        let whole = Int(delay)
        return min(whole &- DelayKernel.half(whole) &+ 1, DelayLine.blockLength)
    }

    /// Writes a sample: `frame` frames after those that the line has advanced by. A channel that does not exist takes
    /// nothing.
    @_noLocks @_noAllocation
    @inlinable public mutating func write(_ sample: Float, channel: Int, frame: Int) {
        guard channel >= 0 && channel < channelCount && frame >= 0 && frame < ring.length else { return }
        ring.put(sample, in: channel, frame: frame)
    }

    /// Moves on by frames that were written: they become the past.
    @_noLocks @_noAllocation
    @inlinable public mutating func advance(by frames: Int) { ring.advance(by: frames) }

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
    package func aim(_ delay: Double) -> DelayKernel.Aim { kernel.aim(delay) }

    @_noLocks @_noAllocation
    @inlinable package func read(_ channel: Int, _ aim: DelayKernel.Aim, frame: Int) -> Float {
        let oldest = aim.whole &+ aim.half &- frame
        let index = ring.wrapped(ring.position &- oldest)
        // All taps at once if they do not cross the seam and the time before the reset; otherwise one by one.
        let taps = 2 &* aim.half
        var sum: Float = 0
        var tap = 0
        if oldest <= ring.filled && oldest >= taps && index &+ taps <= ring.length {
            let newest = ring.start(channel) &+ index &+ taps &- 1
            while tap < taps {
                sum += aim.weights[tap] * ring.samples.value(at: newest &- tap)
                tap &+= 1
            }
            return sum
        }
        while tap < taps {
            // A frame that is yet to be written is silence.
            let age = oldest &- taps &+ 1 &+ tap
            sum += aim.weights[tap] * (age < 1 ? 0 : ring.value(channel, delay: age))
            tap &+= 1
        }
        return sum
    }

    /// Reads frames in a row with one delay, into `output` from `start` on.
    @_noLocks @_noAllocation
    package mutating func read(
        _ channel: Int, delay: Double, count: Int, into output: inout RenderMemory<Float>, at start: Int
    ) {
        precondition(start >= 0 && count >= 0 && count <= output.count &- start && count <= DelayLine.blockLength)
        let target = unsafe output.memory.base + start
        let whole = Int(delay)
        let fraction = Float(delay - Double(whole))
        if fraction == 0 { return unsafe ring.copy(channel, delay: whole, to: target, count: count) }
        let half = DelayKernel.half(whole)
        let taps = 2 &* half
        if delay != aimed.delay { aimed = (delay, kernel.weights(half, fraction)) }
        let (oldest, length) = (whole &+ half, count &+ taps &- 1)
        let index = ring.wrapped(ring.position &- oldest)
        if oldest <= ring.filled && index <= ring.length &- length {
            // The frames lie in one piece.
            unsafe combine(taps, ring.samples.memory.base + (ring.start(channel) &+ index), target, count)
        } else {
            unsafe ring.copy(channel, delay: oldest, to: window.memory.base, count: length)
            unsafe combine(taps, window.memory.base, target, count)
        }
    }

    /// Sums of neighbouring samples, the oldest with the last weight.
    @_noLocks @_noAllocation
    private func combine(
        _ taps: Int, _ past: UnsafePointer<Float>, _ output: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        var weights = aimed.weights
        unsafe withUnsafeMutableBytes(of: &weights) { bytes in
            if let weights = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                unsafe kernel_combine(weights, taps, past, output, count)
            }
        }
    }

    /// Feeds frames in a row into a channel, and replaces the samples by those that are heard.
    ///
    /// - Parameters:
    ///   - echo: The samples that have come out of the channel, from `start` on.
    ///   - round: Those samples, after they have passed the filter of the loop; not used if that is open.
    ///   - numbers: The feedback of each frame, and from `mixes` on its mix.
    ///   - samples: The samples that come in, from `first` on.
    @_noLocks @_noAllocation
    package mutating func feed(
        _ channel: Int, echo: borrowing RenderMemory<Float>, round: borrowing RenderMemory<Float>, isOpen: Bool,
        at start: Int, numbers: borrowing RenderMemory<Float>, mixes: Int, _ samples: inout MutableSpan<Float>,
        from first: Int, count: Int
    ) {
        precondition(start >= 0 && count >= 0 && start <= echo.count &- count && start <= round.count &- count)
        let heard = unsafe UnsafePointer(echo.memory.base + start)
        let passed = unsafe isOpen ? heard : UnsafePointer(round.memory.base + start)
        unsafe feed(channel, heard, passed, numbers, mixes, &samples, first, count)
    }

    /// Returns where in each channel the frames of a delay lie, if it is a whole one and they lie in one piece; -1 if not.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func place(_ delay: Double, count: Int) -> Int {
        let whole = Int(delay)
        let index = ring.wrapped(ring.position &- whole)
        // What is written meanwhile must not lie among them.
        let isApart = count <= ring.length &- whole && index &+ count <= ring.length
        return Double(whole) == delay && whole <= ring.filled && isApart ? index : -1
    }

    /// Returns a sample that ``place(_:count:)`` has found.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func sample(_ channel: Int, at place: Int) -> Float {
        ring.samples.value(at: ring.start(channel) &+ place)
    }

    /// Feeds frames in a row into a channel as the other `feed` does, from samples that it holds from `echo` on.
    @_noLocks @_noAllocation
    package mutating func feed(
        _ channel: Int, echoAt echo: Int, numbers: borrowing RenderMemory<Float>, mixes: Int,
        _ samples: inout MutableSpan<Float>, from first: Int, count: Int
    ) {
        precondition(echo >= 0 && count >= 0 && echo <= ring.length &- count)
        let heard = unsafe UnsafePointer(ring.samples.memory.base + (ring.start(channel) &+ echo))
        unsafe feed(channel, heard, heard, numbers, mixes, &samples, first, count)
    }

    @_noLocks @_noAllocation
    private mutating func feed(
        _ channel: Int, _ echo: UnsafePointer<Float>, _ round: UnsafePointer<Float>,
        _ numbers: borrowing RenderMemory<Float>, _ mixes: Int, _ samples: inout MutableSpan<Float>, _ first: Int,
        _ count: Int
    ) {
        precondition(mixes >= 0 && count <= numbers.count &- mixes && count <= ring.length)
        precondition(first >= 0 && count <= samples.count &- first)
        guard let target = unsafe samples.address() else { return }
        let row = unsafe ring.samples.memory.base + ring.start(channel)
        let part = min(count, ring.length &- ring.position)
        var done = 0
        while done < count {
            let length = done == 0 ? part : count &- done
            let (feedback, mix) = unsafe (numbers.memory.base + done, numbers.memory.base + (mixes &+ done))
            let line = unsafe row + (done == 0 ? ring.position : 0)
            unsafe kernel_feed(
                echo + done, round + done, feedback, mix, target + (first &+ done), line,
                length)
            done &+= length
        }
    }
}
