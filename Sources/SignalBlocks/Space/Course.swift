internal import CKernels

/// The course of a number over a block of 128 frames: a parabola.
///
/// A block has three numbers that were aimed at: that of the block before, its own, and the next one. The course begins in the
/// middle between the first two and ends in the middle between the last two, in the direction of each pair. So the courses of all
/// blocks make one line without a corner (a quadratic spline): corners in a level or a delay are heard as a crackle.
package struct Course: Sendable, BitwiseCopyable {
    let kernel: kernel_course

    /// The frames of a block.
    package static var frames: Int { @_noLocks @_noAllocation get { 128 } }

    /// Creates the course between three numbers.
    @_noLocks @_noAllocation
    package init(_ before: Float, _ now: Float, _ next: Float) {
        kernel = kernel_course(
            from: 0.5 * (before + now), step: (now - before) * 0x1p-7, bend: (before - 2 * now + next) * 0x1p-15)
    }

    /// Indicates whether the number is the same at all frames.
    @_noLocks @_noAllocation
    func isAlways(_ value: Float) -> Bool { kernel.from == value && kernel.step == 0 && kernel.bend == 0 }
}

/// The courses of a sound over a block that is heard at one place and played to two channels.
package struct FlightCourse: Sendable, BitwiseCopyable {
    var kernel = kernel_flight()
    /// The whole frames of the delay in the middle of the block.
    package private(set) var frames = 0

    /// Creates the course of silence.
    @_noLocks @_noAllocation
    package init() {}

    /// Goes on between three delays, held to a limit, and between three levels of each channel.
    @_noLocks @_noAllocation
    package mutating func take(
        _ before: Double, _ now: Double, _ next: Double, limit: Double, left: SIMD4<Float>, right: SIMD4<Float>
    ) {
        let delay = DelayCourse(before, now, next).held(to: limit)
        frames = delay.frames
        kernel = kernel_flight(
            delay: delay.from, step: delay.step, bend: delay.bend, left: Course(left.x, left.y, left.z).kernel,
            right: Course(right.x, right.y, right.z).kernel)
    }
}

/// The course of a delay in frames over a block, like ``Course``.
package struct DelayCourse: Sendable, BitwiseCopyable {
    var before: Double
    var now: Double
    var next: Double

    /// Creates the course between three delays.
    @_noLocks @_noAllocation
    package init(_ before: Double, _ now: Double, _ next: Double) {
        (self.before, self.now, self.next) = (before, now, next)
    }

    /// Returns the course that is later everywhere by another.
    @_noLocks @_noAllocation
    package static func + (one: DelayCourse, other: DelayCourse) -> DelayCourse {
        DelayCourse(one.before + other.before, one.now + other.now, one.next + other.next)
    }

    /// Returns a course that a line can be read at: between the shortest delay and a limit, and falling by at most 10 frames in a frame.
    /// The shortest stands for one that is no number.
    @_noLocks @_noAllocation
    package func held(to limit: Double) -> DelayCourse {
        func clamp(_ delay: Double) -> Double {
            delay > MovingLine.shortest ? (delay < limit ? delay : limit) : MovingLine.shortest
        }
        let most = 10 * Double(Course.frames)
        let before = clamp(self.before)
        let (now, next) = (max(clamp(self.now), before - most), clamp(self.next))
        return DelayCourse(before, now, max(next, now - most))
    }

    /// The whole frames of the delay in the middle of the block, once it is held to a limit.
    package var frames: Int { @_noLocks @_noAllocation get { Int(now) } }

    var from: Double { @_noLocks @_noAllocation get { 0.5 * (before + now) } }
    var step: Double { @_noLocks @_noAllocation get { (now - before) * 0x1p-7 } }
    var bend: Double { @_noLocks @_noAllocation get { (before - 2 * now + next) * 0x1p-15 } }
}
