internal import CKernels

/// A number that goes in a straight line through the 64 frames of a block.
package struct Ramp: Sendable, BitwiseCopyable {
    /// The value at the first frame.
    package var start: Float
    /// The change from frame to frame.
    package var slope: Float

    /// Creates a number that stays.
    @_noLocks @_noAllocation
    package init(_ value: Float) {
        start = value
        slope = 0
    }

    /// Creates a number that reaches another at the first frame of the next block.
    @_noLocks @_noAllocation
    package init(from start: Float, to end: Float) {
        self.start = start
        slope = (end - start) * (1 / Float(DelayRing.block))
    }

    /// Goes on from where it ends to another value, or is there at once.
    @_noLocks @_noAllocation
    package mutating func lead(to value: Float, isJump: Bool) {
        self = isJump ? Ramp(value) : Ramp(from: self.value(at: DelayRing.block), to: value)
    }

    /// The value at a frame of the block.
    @_noLocks @_noAllocation
    package func value(at frame: Int) -> Float { start + slope * Float(Int32(truncatingIfNeeded: frame)) }
}

/// The last samples of several channels, read at whole frames, at most ``block`` at a time.
///
/// The caller counts the frames since the ring was new or emptied: what lies before the first is silent. A piece that is
/// written or read must not cross a multiple of ``block``.
package struct DelayRing: ~Copyable, Sendable {
    /// The largest number of frames at once.
    package static var block: Int { @_noLocks @_noAllocation get { 64 } }

    /// Behind each channel: its first block once more, and what vectors of eight write behind that.
    private static var room: Int { @_noLocks @_noAllocation get { 80 } }
    private let length: Int
    private var memory: RenderMemory<Float>
    private let channelCount: Int

    /// Creates a silent ring. It allocates.
    ///
    /// - Parameters:
    ///   - channels: The number of channels.
    ///   - frames: The longest delay.
    package init(channels: Int, frames: Int) {
        length = DelayRing.length(frames: frames)
        channelCount = channels
        memory = RenderMemory(repeating: 0, count: channels * (length + DelayRing.room))
    }

    /// Returns the length of a ring for a delay: a power of two.
    static func length(frames: Int) -> Int {
        var length = 2 * DelayRing.block
        while length < frames + DelayRing.block { length *= 2 }
        return length
    }

    /// Returns what the kernels take for the number of frames since the beginning.
    @_noLocks @_noAllocation
    static func age(_ position: Int) -> Int32 { Int32(truncatingIfNeeded: min(position, 1 << 30)) }

    @_noLocks @_noAllocation
    private func start(_ channel: Int) -> Int {
        precondition(channel >= 0 && channel < channelCount)
        return channel &* (length &+ DelayRing.room)
    }

    /// Writes samples. What is tiny, huge or no number becomes zero.
    @_noLocks @_noAllocation
    package mutating func remember(
        _ samples: borrowing RenderMemory<Float>, from first: Int, channel: Int, position: Int, count: Int
    ) {
        precondition(first >= 0 && count >= 0 && count <= samples.count &- first)
        precondition((position & (DelayRing.block &- 1)) &+ count <= DelayRing.block)
        unsafe kernel_remember(
            memory.memory.base + start(channel), mask, Int32(truncatingIfNeeded: position & (length &- 1)),
            samples.memory.base + first, count)
    }

    /// Writes samples of a buffer, in the same way.
    @_noLocks @_noAllocation
    package mutating func remember(
        _ samples: borrowing Samples, from first: Int, channel: Int, position: Int, count: Int
    ) {
        precondition(first >= 0 && count >= 0 && count <= samples.count &- first)
        precondition((position & (DelayRing.block &- 1)) &+ count <= DelayRing.block)
        unsafe kernel_remember(
            memory.memory.base + start(channel), mask, Int32(truncatingIfNeeded: position & (length &- 1)),
            samples.base + first, count)
    }

    /// Adds what was written before to a row of 64 samples: several taps, each times its gain, and all times another.
    ///
    /// - Parameters:
    ///   - sum: The row from `first` on; `count` samples of it are used.
    ///   - taps: The taps; at most 16 of them, from `tap` on, are heard.
    @_noLocks @_noAllocation
    package borrowing func add(
        _ taps: borrowing DelayTaps, from tap: Int, tapCount: Int, to sum: inout RenderMemory<Float>, at first: Int,
        gain: Ramp, position: Int, count: Int
    ) {
        precondition(first >= 0 && first <= sum.count &- DelayRing.block && count >= 0 && count <= DelayRing.block)
        precondition(tap >= 0 && tapCount >= 0 && tapCount <= min(16, taps.count &- tap))
        precondition(Int(taps.longest) <= length &- DelayRing.block && Int(taps.last) < channelCount)
        unsafe kernel_add_past(
            memory.memory.base, length &+ DelayRing.room, mask, Int32(truncatingIfNeeded: position & (length &- 1)),
            DelayRing.age(position), taps.lines.memory.base + tap, taps.delays.memory.base + tap,
            taps.gains.memory.base + tap, tapCount, gain.start, gain.slope,
            Int32(truncatingIfNeeded: position & (DelayRing.block &- 1)), sum.memory.base + first, count)
    }

    /// Sends samples through all-pass filters of Schroeder's, one after the other, whose lines are channels of this ring.
    ///
    /// - Parameters:
    ///   - samples: A row of 64 samples from `first` on; `count` of them are used.
    ///   - channel: The first of at most four channels.
    ///   - delays: In frames, one for each channel of the ring: `count` or more.
    @_noLocks @_noAllocation
    package mutating func diffuse(
        _ samples: inout RenderMemory<Float>, at first: Int, channel: Int, stages: Int,
        delays: borrowing RenderMemory<Int32>, gain: Ramp, position: Int, count: Int
    ) {
        precondition(first >= 0 && first <= samples.count &- DelayRing.block && count >= 0)
        precondition((position & (DelayRing.block &- 1)) &+ count <= DelayRing.block)
        precondition(channel >= 0 && stages >= 0 && stages <= 4 && channel &+ stages <= channelCount)
        for line in channel..<(channel &+ stages) {
            let delay = Int(delays.number(at: line))
            precondition(delay >= count && delay <= length &- DelayRing.block)
        }
        unsafe kernel_diffuse(
            memory.memory.base + start(channel), length &+ DelayRing.room, mask,
            Int32(truncatingIfNeeded: position & (length &- 1)), DelayRing.age(position), delays.memory.base + channel,
            stages, gain.start, gain.slope, Int32(truncatingIfNeeded: position & (DelayRing.block &- 1)),
            samples.memory.base + first, count)
    }

    private var mask: Int32 { @_noLocks @_noAllocation get { Int32(truncatingIfNeeded: length &- 1) } }
}

/// Places in a ``DelayRing`` that are heard: a channel of it, a delay in frames, and a gain for each.
package struct DelayTaps: ~Copyable, Sendable {
    fileprivate var lines: RenderMemory<Int32>
    fileprivate var delays: RenderMemory<Int32>
    package var gains: RenderMemory<Float>
    /// The longest delay and the last line that any tap ever had: so a ring need not look at each.
    fileprivate var longest: Int32 = 0
    fileprivate var last: Int32 = 0
    /// The number of taps.
    package var count: Int { @_noLocks @_noAllocation get { delays.count } }

    /// Creates taps without a delay, and with a gain of 1. It allocates.
    package init(count: Int) {
        lines = RenderMemory(repeating: 0, count: count)
        delays = RenderMemory(repeating: 0, count: count)
        gains = RenderMemory(repeating: 1, count: count)
    }

    /// Puts a tap in its place.
    @_noLocks @_noAllocation
    package mutating func place(_ tap: Int, line: Int32, delay: Int32) {
        precondition(line >= 0 && delay >= 0)
        lines.put(line, at: tap)
        delays.put(delay, at: tap)
        (last, longest) = (max(last, line), max(longest, delay))
    }
}

extension RenderMemory<Float> {
    /// Adds two of a network's outputs to two rows of 64 samples, and brings these together.
    ///
    /// - Parameters:
    ///   - base: The left row, and `other` the right one; `count` samples of each are used.
    ///   - lanes: The outputs.
    ///   - width: 0 makes the two one, 1 leaves them.
    ///   - first: The number of the first frame in its block.
    @_noLocks @_noAllocation
    package mutating func widen(
        _ base: Int, _ other: Int, adding late: borrowing RenderMemory<Float>, lanes: (Int, Int), width: Ramp,
        first: Int, count: Int
    ) {
        precondition(base >= 0 && other >= 0 && max(base, other) <= self.count &- DelayRing.block)
        precondition(count >= 0 && count <= DelayRing.block && late.count >= 8 &* DelayRing.block)
        precondition(lanes.0 >= 0 && lanes.0 < 8 && lanes.1 >= 0 && lanes.1 < 8)
        unsafe kernel_widen(
            late.memory.base, lanes.0, lanes.1, width.start, width.slope, Int32(truncatingIfNeeded: first),
            memory.base + base, memory.base + other, count)
    }

    /// Mixes a row with samples: `rest` of them, and `share` of the row.
    @_noLocks @_noAllocation
    package borrowing func blend(
        from first: Int, into samples: inout MutableSpan<Float>, at start: Int, share: Float, rest: Float, count: Int
    ) {
        precondition(first >= 0 && count >= 0 && count <= self.count &- first)
        precondition(start >= 0 && count <= samples.count &- start)
        let source = unsafe memory.base + first
        unsafe samples.withUnsafeMutableBufferPointer { target in
            for i in 0..<count { unsafe target[start &+ i] = target[start &+ i] * rest + source[i] * share }
        }
    }

    /// Writes zeros.
    @_noLocks @_noAllocation
    package mutating func clear(from first: Int, count: Int) {
        precondition(first >= 0 && count >= 0 && count <= self.count &- first)
        unsafe (memory.base + first).clearSamples(count: count)
    }
}

extension RenderMemory<Float> {
    /// Writes one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func put(_ value: Float, at position: Int) {
        precondition(position >= 0 && position < count)
        unsafe memory.base[position] = value
    }
}

extension RenderMemory<Int32> {
    /// Returns one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func number(at position: Int) -> Int32 {
        precondition(position >= 0 && position < count)
        return unsafe memory.base[position]
    }

    /// Writes one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func put(_ value: Int32, at position: Int) {
        precondition(position >= 0 && position < count)
        unsafe memory.base[position] = value
    }
}

extension RenderMemory<UInt32> {
    /// Returns one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func number(at position: Int) -> UInt32 {
        precondition(position >= 0 && position < count)
        return unsafe memory.base[position]
    }

    /// Writes one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func put(_ value: UInt32, at position: Int) {
        precondition(position >= 0 && position < count)
        unsafe memory.base[position] = value
    }
}
