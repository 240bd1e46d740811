internal import CKernels

/// A ``DelayRing`` for kernels, whose frames lie in blocks of 64: a piece that is written or read lies in one block.
package struct BlockRing: ~Copyable, Sendable {
    private var ring: DelayRing
    /// Behind each channel: its first block once more, and what vectors of eight write behind that.
    static var behind: Int { @_noLocks @_noAllocation get { 80 } }

    /// Creates a silent ring. It allocates.
    ///
    /// - Parameters:
    ///   - channels: The number of channels.
    ///   - frames: The longest delay.
    package init(channels: Int, frames: Int) {
        ring = DelayRing(channels: channels, length: BlockRing.length(frames: frames), behind: BlockRing.behind)
    }

    /// Returns the length of a ring for a delay: a power of two.
    static func length(frames: Int) -> Int {
        DelayRing.length(frames + SampleRows.length, from: 2 * SampleRows.length)
    }

    @_noLocks @_noAllocation
    package mutating func reset() {
        ring.reset()
        // A block begins here.
        ring.position = 0
    }

    @_noLocks @_noAllocation
    package mutating func advance(by frames: Int) { ring.advance(by: frames) }

    /// The number of the next frame in its block.
    var frame: Int { @_noLocks @_noAllocation get { ring.position & (SampleRows.length &- 1) } }

    /// Returns that number, for so many frames of the block.
    @_noLocks @_noAllocation
    private func frame(before count: Int) -> Int32 {
        let frame = frame
        precondition(count >= 0 && frame &+ count <= SampleRows.length)
        return Int32(truncatingIfNeeded: frame)
    }

    private var mask: Int32 { @_noLocks @_noAllocation get { Int32(truncatingIfNeeded: ring.length &- 1) } }
    private var position: Int32 { @_noLocks @_noAllocation get { Int32(truncatingIfNeeded: ring.position) } }
    private var age: Int32 { @_noLocks @_noAllocation get { Int32(truncatingIfNeeded: ring.filled) } }

    /// Writes samples of a buffer. What is tiny, huge or no number becomes zero.
    @_noLocks @_noAllocation
    package mutating func remember(_ samples: borrowing Samples, from first: Int, channel: Int, count: Int) {
        precondition(first >= 0 && count <= samples.count &- first)
        unsafe remember(samples.base + first, channel, count)
    }

    /// Writes the samples of a row, in the same way.
    @_noLocks @_noAllocation
    package mutating func remember(_ rows: borrowing SampleRows, row: Int, channel: Int, count: Int) {
        unsafe remember(rows.address(row), channel, count)
    }

    @_noLocks @_noAllocation
    private mutating func remember(_ samples: UnsafePointer<Float>, _ channel: Int, _ count: Int) {
        _ = frame(before: count)
        unsafe kernel_remember(ring.samples.memory.base + ring.start(channel), mask, position, samples, count)
    }

    /// Adds what was written before to a row: several taps, each times its gain, and all times another.
    ///
    /// - Parameter taps: The taps; at most 16 of them, from `tap` on, are heard.
    @_noLocks @_noAllocation
    package borrowing func add(
        _ taps: borrowing DelayTaps, from tap: Int, tapCount: Int, to sum: inout SampleRows, row: Int, gain: Ramp,
        count: Int
    ) {
        precondition(tap >= 0 && tapCount >= 0 && tapCount <= min(16, taps.count &- tap))
        precondition(Int(taps.longest) <= ring.length &- SampleRows.length && Int(taps.last) < ring.channelCount)
        unsafe kernel_add_past(
            ring.samples.memory.base, ring.stride, mask, position, age, taps.lines.memory.base + tap,
            taps.delays.memory.base + tap, taps.gains.memory.base + tap, tapCount, gain.start, gain.slope,
            frame(before: count), sum.address(row), count)
    }

    /// Sends a row through all-pass filters, one after the other, whose lines are channels of this ring.
    ///
    /// - Parameters:
    ///   - channel: The first of at most four channels.
    ///   - delays: In frames, one for each channel of the ring: `count` or more.
    @_noLocks @_noAllocation
    mutating func diffuse(
        _ rows: inout SampleRows, row: Int, channel: Int, stages: Int, delays: borrowing RenderMemory<Int32>,
        gain: Ramp, count: Int
    ) {
        precondition(stages >= 0 && stages <= 4 && channel &+ stages <= min(ring.channelCount, delays.count))
        if stages == 0 { return }
        unsafe kernel_diffuse(
            ring.samples.memory.base + ring.start(channel), ring.stride, mask, position, age,
            delays.memory.base + channel, stages, gain.start, gain.slope, frame(before: count), rows.address(row), count
        )
    }
}

/// Places in a ``BlockRing`` that are heard: a channel of it, a delay in frames, and a gain for each.
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
