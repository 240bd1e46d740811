internal import CKernels

/// The last samples of a sound, to be read at delays that move: what makes the pitch of a source that comes nearer.
///
/// Between two samples it interpolates over 8 of them, by polynomials.
struct MovingLine: ~Copyable, Sendable {
    /// The longest delay in frames.
    let limit: Double

    /// The most frames of one write, and of one read.
    static var block: Int { @_noLocks @_noAllocation get { Course.frames } }
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
        while length < wanted + 240 { length *= 2 }
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

    /// Writes samples.
    ///
    /// - Precondition: There are so many, and at most 128.
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
        unsafe kernel_write_ring(ring.base, Int64(mask), Int64(position), source, count)
        position = (position &+ count) & mask
        // No cache holds the rings of many sources, so this fetches the next block's samples now.
        unsafe kernel_fetch(ring.base + position, count, true)
    }

    /// Reads a part of a block, whose last `count` frames were written last: for each frame the sample that was written as
    /// long before it as the delay says.
    ///
    /// - Parameters:
    ///   - delay: The delay: a course that is ``DelayCourse/held(to:)`` the line's.
    ///   - phase: The frames of the block before the first that is read.
    ///   - count: The number of frames, at most 128.
    ///   - output: Receives them: there is room for so many.
    @_noLocks @_noAllocation
    @inline(__always) func read(_ delay: DelayCourse, phase: Int, count: Int, into output: UnsafeMutablePointer<Float>)
    {
        check(phase: phase, count: count)
        fetchPast(delay.frames, count: count)
        unsafe kernel_wander(
            ring.base, Int64(mask), Int64(position &- count &- phase), delay.from, delay.step, delay.bend, Int64(phase),
            output, count)
    }

    /// Reads a part of a block in the same way, and writes it to two channels.
    @_noLocks @_noAllocation
    @inline(__always) func read(
        _ course: inout FlightCourse, phase: Int, count: Int, to left: UnsafeMutablePointer<Float>,
        _ right: UnsafeMutablePointer<Float>
    ) {
        check(phase: phase, count: count)
        fetchPast(course.frames, count: count)
        unsafe kernel_wander_to_two(
            ring.base, Int64(mask), Int64(position &- count &- phase), &course.kernel, Int64(phase), left, right, count)
    }

    /// Writes a part of a block, and reads it in the same way to two channels. If the slice goes on behind it, it fetches the next part.
    @_noLocks @_noAllocation
    @inline(__always) mutating func relay(
        _ samples: UnsafePointer<Float>, _ course: inout FlightCourse, phase: Int, count: Int,
        to left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, goesOn: Bool
    ) {
        check(phase: phase, count: count)
        let start = position
        position = (start &+ count) & mask
        if goesOn { fetch(course.frames, count: count) }
        unsafe kernel_relay(
            ring.base, Int64(mask), Int64(start), samples, &course.kernel, Int64(phase), left, right, count)
    }

    /// Fetches what a part of the next frames needs at a delay, to be written and to be read.
    @_noLocks @_noAllocation
    @inline(__always) func fetch(_ delay: Int, count: Int) {
        unsafe kernel_fetch(ring.base + position, count, true)
        fetchPast(delay, count: count)
    }

    /// Fetches what a part of the next frames reads at a delay.
    @_noLocks @_noAllocation
    @inline(__always) private func fetchPast(_ delay: Int, count: Int) {
        unsafe kernel_fetch(ring.base + ((position &- delay) & mask), count, false)
    }

    /// Checks that a part lies in a block.
    @_noLocks @_noAllocation
    @inline(__always) private func check(phase: Int, count: Int) {
        precondition(count >= 0 && count <= MovingLine.block && phase >= 0 && phase <= Course.frames &- count)
    }
}
