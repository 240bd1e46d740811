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
        memory = RenderMemory(repeating: 0, count: channels * (length + DelayRing.block))
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
        return channel &* (length &+ DelayRing.block)
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

    /// Adds what was written `delay` frames before, times a gain.
    @_noLocks @_noAllocation
    package borrowing func add(
        to sum: inout RenderMemory<Float>, at first: Int, channel: Int, delay: Int, gain: Ramp, position: Int,
        count: Int
    ) {
        precondition(first >= 0 && count >= 0 && count <= sum.count &- first)
        precondition(delay >= 0 && delay <= length &- DelayRing.block && count <= DelayRing.block)
        unsafe kernel_add_past(
            memory.memory.base + start(channel), mask, Int32(truncatingIfNeeded: position & (length &- 1)),
            DelayRing.age(position), Int32(truncatingIfNeeded: delay), gain.start, gain.slope,
            Int32(truncatingIfNeeded: position & (DelayRing.block &- 1)), sum.memory.base + first, count)
    }

    /// Sends samples through an all-pass filter of Schroeder's, whose line is a channel of this ring.
    ///
    /// - Parameters:
    ///   - samples: The samples, `count` of them from `first` on.
    ///   - delay: In frames: `count` or more.
    @_noLocks @_noAllocation
    package mutating func diffuse(
        _ samples: inout RenderMemory<Float>, at first: Int, channel: Int, delay: Int, gain: Ramp, position: Int,
        count: Int
    ) {
        precondition(first >= 0 && count >= 0 && count <= samples.count &- first)
        precondition(delay >= count && delay <= length &- DelayRing.block)
        precondition((position & (DelayRing.block &- 1)) &+ count <= DelayRing.block)
        unsafe kernel_diffuse(
            memory.memory.base + start(channel), mask, Int32(truncatingIfNeeded: position & (length &- 1)),
            DelayRing.age(position), Int32(truncatingIfNeeded: delay), gain.start, gain.slope,
            Int32(truncatingIfNeeded: position & (DelayRing.block &- 1)), samples.memory.base + first, count)
    }

    private var mask: Int32 { @_noLocks @_noAllocation get { Int32(truncatingIfNeeded: length &- 1) } }
}

extension RenderMemory<Float> {
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
