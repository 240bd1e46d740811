internal import CKernels

/// The last samples of a sound, to be read at delays that move: what makes the pitch of a source that comes nearer.
///
/// Between two samples it interpolates over 8 of them, by polynomials.
struct MovingLine: ~Copyable, Sendable {
    /// The longest delay in frames.
    let limit: Double

    /// The most frames of one write, and of one read.
    static var block: Int { @_noLocks @_noAllocation get { 64 } }
    /// The shortest delay: the frames after the place that the interpolation needs, and some for a step that goes on.
    static var shortest: Double { @_noLocks @_noAllocation get { 8 } }
    /// The samples that stand a second time behind the ring.
    private static var slack: Int { @_noLocks @_noAllocation get { 32 } }

    private let mask: Int
    private var ring: SampleMemory
    /// The place of the next frame.
    private var position = 0

    /// Creates a silent line. On the control side: it allocates.
    ///
    /// - Parameter frames: The longest delay, 8…16,777,216; held to that.
    init(frames: Int) {
        let wanted = min(max(frames, 8), 1 << 24)
        limit = Double(wanted)
        var length = 256
        while length < wanted + 176 { length *= 2 }
        mask = length - 1
        ring = SampleMemory(count: length + MovingLine.slack)
    }

    /// Forgets the sound.
    @_noLocks @_noAllocation
    mutating func reset() {
        var all = ring.span
        Signal.silence(&all)
        position = 0
    }

    /// Returns the nearest delay that can be read; the shortest for one that is no number.
    @_noLocks @_noAllocation
    private func clamp(_ delay: Double) -> Double {
        delay > MovingLine.shortest ? (delay < limit ? delay : limit) : MovingLine.shortest
    }

    /// Writes samples.
    ///
    /// - Precondition: There are so many, and at most 64.
    @_noLocks @_noAllocation
    mutating func write(_ samples: borrowing SampleMemory, count: Int) {
        precondition(count >= 0 && count <= MovingLine.block && count <= samples.count)
        unsafe write(samples.base, count)
    }

    /// Writes samples, as above.
    @_noLocks @_noAllocation
    mutating func write(_ samples: borrowing Samples, from first: Int, count: Int) {
        precondition(count >= 0 && count <= MovingLine.block && first >= 0 && first <= samples.count &- count)
        unsafe write(samples.base + first, count)
    }

    @_noLocks @_noAllocation
    private mutating func write(_ source: UnsafePointer<Float>, _ count: Int) {
        let room = mask &+ 1 &- position
        let before = count < room ? count : room
        unsafe (ring.base + position).copySamples(from: source, count: before)
        if count > before { unsafe ring.base.copySamples(from: source + before, count: count &- before) }
        if count > before || position < MovingLine.slack {
            unsafe (ring.base + (mask &+ 1)).copySamples(from: ring.base, count: MovingLine.slack)
        }
        position = (position &+ count) & mask
        // No cache holds the rings of many sources, so this fetches the next block's samples now.
        unsafe kernel_fetch(ring.base + ((position &+ MovingLine.block) & mask), true)
    }

    /// Reads a part of a block, whose last `count` frames were written last: for each frame the sample that was written as
    /// long before it as the delay says.
    ///
    /// - Parameters:
    ///   - delay: The delay; held to what can be read, and to that it falls by at most 10 frames in a frame.
    ///   - phase: The frames of the block before the first that is read.
    ///   - count: The number of frames, at most 64.
    ///   - output: Receives them.
    ///   - start: The place of the first in there.
    @_noLocks @_noAllocation
    func read(_ delay: DelayCourse, phase: Int, count: Int, into output: inout SampleMemory, at start: Int) {
        precondition(count >= 0 && count <= MovingLine.block && phase >= 0 && phase <= Course.frames &- count)
        precondition(start >= 0 && start <= output.count &- count)
        let most = 10 * Double(Course.frames)
        let before = clamp(delay.before)
        let (now, next) = (max(clamp(delay.now), before - most), clamp(delay.next))
        let held = DelayCourse(before, now, max(next, now - most))
        // What the next part needs is on its way meanwhile, as above.
        unsafe kernel_fetch(ring.base + ((position &- Int(now)) & mask), false)
        unsafe kernel_wander(
            ring.base, Int64(mask), Int64(position &- count &- phase), held.from, held.step, held.bend, Int64(phase),
            output.base + start, count)
    }
}
