internal import CKernels

/// The last samples of several channels: the memory of a delay, an echo, a reverb.
///
///     for channel in 0..<2 {
///         ring.write(top.samples(channel), from: 0, count: frames, in: channel)
///         ring.read(channel, delay: 480, into: &rows, row: channel, count: frames)
///     }
///     ring.advance(by: frames)
///
/// Frames are counted from the next that becomes past: a delay of 0 is the frame itself, once it is written. What lies before the
/// first frame is silent. Between two frames a ``DelayLine`` reads.
///
/// Threads: any.
public struct DelayRing: ~Copyable, Sendable {
    /// The number of channels.
    public let channelCount: Int
    /// The frames of a channel, and from one channel to the next: behind each its first samples may stand once more, so that some in
    /// a row are read without a seam.
    @usableFromInline package let length: Int
    @usableFromInline let stride: Int
    @usableFromInline package var samples: RenderMemory<Float>
    /// The place of the next frame in each channel.
    @usableFromInline package var position = 0
    /// The number of frames that were written since the reset, up to ``length``: older frames are silence, whatever the memory holds.
    @usableFromInline package var filled = 0
    /// Channels that were taken in ``use(_:)`` since the reset: those of the others may hold anything.
    package private(set) var used = 0

    /// Creates a silent ring. It allocates.
    ///
    /// - Parameters:
    ///   - channels: The number of channels.
    ///   - frames: The longest delay.
    ///   - atOnce: The most frames that are written before the ring advances.
    ///
    /// Threads: control.
    public init(channels: Int, frames: Int, atOnce: Int = SampleRows.length) {
        demand(
            channels >= 0 && channels <= 65_536 && frames >= 0 && frames <= 1 << 40 && atOnce > 0 && atOnce <= 1 << 40,
            "DelayRing: \(channels) channels of \(frames) frames and \(atOnce) at once; this is less than 0, or more than memory holds"
        )
        self.init(channels: channels, length: frames + atOnce)
    }

    /// Creates a silent ring of so many frames.
    ///
    /// - Parameter behind: The number of samples behind each channel that are its first ones.
    package init(channels: Int, length: Int, behind: Int = 0) {
        channelCount = channels
        self.length = length
        stride = length + behind
        samples = RenderMemory(repeating: 0, count: channels * stride)
    }

    /// Returns a power of two, from `shortest` on, that has room for so many frames.
    package static func length(_ frames: Int, from shortest: Int) -> Int {
        var length = shortest
        while length < frames { length *= 2 }
        return length
    }

    /// Forgets everything, at no cost.
    @_noLocks @_noAllocation
    public mutating func reset() { (filled, used) = (0, 0) }

    /// Moves on by frames that were written: they become the past.
    @_noLocks @_noAllocation
    @inlinable public mutating func advance(by frames: Int) {
        let frames = Swift.max(0, Swift.min(frames, length))
        position &+= frames
        if position >= length { position &-= length }
        filled = Swift.min(filled &+ frames, length)
    }

    // MARK: One sample

    /// Writes one of the next frames of a channel.
    @_noLocks @_noAllocation @inline(__always)
    @inlinable public mutating func put(_ sample: Float, in channel: Int, frame: Int = 0) {
        var place = position &+ frame
        if place >= length { place &-= length }
        samples.put(sample, at: channel &* stride &+ place)
        if place < stride &- length { samples.put(sample, at: channel &* stride &+ length &+ place) }
    }

    /// Returns the sample that lies so many frames before one of the next frames; 0 if it is older than the ring.
    @_noLocks @_noAllocation @inline(__always)
    @inlinable public func value(_ channel: Int, delay: Int, frame: Int = 0) -> Float {
        if delay > filled &+ frame { return 0 }
        return samples.value(at: channel &* stride &+ wrapped(position &+ frame &- delay))
    }

    @_noLocks @_noAllocation @inline(__always)
    @inlinable package func wrapped(_ place: Int) -> Int {
        place < 0 ? place &+ length : place >= length ? place &- length : place
    }

    /// The address of a channel's first sample in ``samples``.
    @_noLocks @_noAllocation
    @inlinable package func start(_ channel: Int) -> Int {
        precondition(channel >= 0 && channel < channelCount)
        return channel &* stride
    }

    /// Returns where in ``samples`` a frame of a channel lies, counted from the next, in a ring whose length is a power of two.
    @_noLocks @_noAllocation @inline(__always)
    @inlinable package func place(_ channel: Int, _ frame: Int) -> Int {
        channel &* stride &+ ((position &+ frame) & (length &- 1))
    }

    // MARK: Many samples

    /// Writes the next frames of a channel.
    ///
    /// - Parameters:
    ///   - samples: The samples.
    ///   - first: The place of the first of them.
    ///   - count: The number of frames.
    ///   - channel: The channel.
    ///   - frame: The number of frames of this channel that are written already.
    @_noLocks @_noAllocation
    public mutating func write(
        _ samples: borrowing Samples, from first: Int = 0, count: Int, in channel: Int, frame: Int = 0
    ) {
        precondition(first >= 0 && count >= 0 && count <= samples.count &- first)
        unsafe write(samples.base + first, count: count, in: channel, frame: frame)
    }

    /// Writes silence.
    @_noLocks @_noAllocation
    package mutating func writeSilence(count: Int, in channel: Int) {
        unsafe write(nil, count: count, in: channel, frame: 0)
    }

    /// Writes frames that lie at an address, or silence.
    @_noLocks @_noAllocation
    @unsafe package mutating func write(_ source: UnsafePointer<Float>?, count: Int, in channel: Int, frame: Int) {
        precondition(count >= 0 && frame >= 0 && frame &+ count <= length)
        let row = unsafe samples.memory.base + start(channel)
        let place = wrapped(position &+ frame)
        let part = min(count, length &- place)
        if let source = unsafe source {
            unsafe (row + place).copySamples(from: source, count: part)
            unsafe row.copySamples(from: source + part, count: count &- part)
        } else {
            unsafe (row + place).clearSamples(count: part)
            unsafe row.clearSamples(count: count &- part)
        }
        let behind = stride &- length
        if place < behind || part < count { unsafe (row + length).copySamples(from: row, count: behind) }
    }

    /// Reads frames in a row.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - delay: The delay in frames.
    ///   - output: Receives them.
    ///   - start: The place of the first in `output`.
    ///   - count: The number of frames.
    ///   - frame: The number of the first, of those that come next.
    @_noLocks @_noAllocation
    public func read(
        _ channel: Int, delay: Int, into output: inout MutableSpan<Float>, at start: Int = 0, count: Int, frame: Int = 0
    ) {
        precondition(start >= 0 && count >= 0 && count <= output.count &- start && frame >= 0 && delay >= 0)
        guard let target = unsafe output.address() else { return }
        unsafe copy(channel, delay: delay &- frame, to: target + start, count: count)
    }

    /// Reads frames in a row, into a row.
    @_noLocks @_noAllocation
    public func read(_ channel: Int, delay: Int, into rows: inout SampleRows, row: Int, count: Int) {
        precondition(count >= 0 && count <= SampleRows.length && delay >= 0)
        unsafe copy(channel, delay: delay, to: rows.address(row), count: count)
    }

    /// Delays frames in a row where they are: writes them, and puts those in their place that came so many frames before.
    @_noLocks @_noAllocation
    package mutating func delay(
        _ samples: inout MutableSpan<Float>, by delay: Int, from first: Int = 0, count: Int, in channel: Int
    ) {
        precondition(first >= 0 && count >= 0 && count <= samples.count &- first && delay >= 0)
        guard let target = unsafe samples.address() else { return }
        unsafe write(target + first, count: count, in: channel, frame: 0)
        unsafe copy(channel, delay: delay, to: target + first, count: count)
    }

    /// Copies frames in a row to an address. A delay of less than 0 begins among those that are written.
    @_noLocks @_noAllocation
    @unsafe package func copy(_ channel: Int, delay: Int, to target: UnsafeMutablePointer<Float>, count: Int) {
        precondition(count >= 0 && count <= length && delay >= count &- length)
        let unknown = max(0, min(count, delay &- filled))
        let row = unsafe samples.memory.base + start(channel)
        let place = wrapped(position &+ unknown &- delay)
        let part = min(count &- unknown, length &- place)
        unsafe target.clearSamples(count: unknown)
        unsafe (target + unknown).copySamples(from: row + place, count: part)
        unsafe (target + (unknown &+ part)).copySamples(from: row, count: count &- unknown &- part)
    }

    /// Computes the sum of some voices, each the channel read at delays that move, between two samples by Lagrange's polynomial
    /// through six. The ring's length is a power of two, with five samples or more behind each channel.
    ///
    /// - Parameters:
    ///   - delays: From `column` on, 64 for each voice: the delay at each frame, less its anchor.
    ///   - anchors: 64 whole frames that are in the delay of all voices.
    ///   - level: The factor of the sum.
    ///   - output: Receives the sum: 64 samples; the first `count` are right.
    @_noLocks @_noAllocation
    package func sweep(
        _ channel: Int, _ delays: borrowing RenderMemory<Float>, from column: Int, voices: Int,
        anchors: borrowing RenderMemory<Int32>, level: Float, into output: inout RenderMemory<Float>, count: Int
    ) {
        precondition(length < 1 << 30 && length & (length &- 1) == 0 && stride &- length >= 5)
        precondition(voices >= 0 && voices <= 1 << 16 && column >= 0 && column <= delays.count &- 64 &* voices)
        precondition(anchors.count >= 64 && output.count >= 64 && count >= 0 && count <= 64)
        unsafe kernel_sweep(
            samples.memory.base + start(channel), Int32(truncatingIfNeeded: length &- 1),
            Int32(truncatingIfNeeded: position), delays.memory.base + column, voices, anchors.memory.base, level,
            output.memory.base, count)
    }

    // MARK: Channels

    /// Takes that many channels into use: the past of one that was not in use becomes silent.
    @_noLocks @_noAllocation
    package mutating func use(_ channels: Int) {
        while used < channels {
            clear(used)
            used &+= 1
        }
    }

    /// Makes the past of a channel silent.
    @_noLocks @_noAllocation
    package mutating func clear(_ channel: Int) {
        unsafe (samples.memory.base + start(channel)).clearSamples(count: stride)
    }

    /// Goes on where another ring is, with so many of its last frames.
    @_noLocks @_noAllocation
    package mutating func goOn(from other: borrowing DelayRing) {
        let kept = min(other.filled, length &- 1)
        (position, filled, used) = (kept, kept, other.used)
        for channel in 0..<used {
            unsafe other.copy(channel, delay: kept, to: samples.memory.base + start(channel), count: kept)
        }
    }
}
