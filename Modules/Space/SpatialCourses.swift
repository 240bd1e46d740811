internal import RenderCore
internal import SignalBlocks

/// The courses of a source's numbers over a block, where one rendering has all of its sound: made once for all parts of the block.
struct SpatialCourses: Sendable, BitwiseCopyable {
    /// The courses with equal power.
    var flight = FlightCourse()
    /// The rendering that has all of the sound in stereo; `nil` where it fades from one to another, or jumps.
    private(set) var kind: Int?
    /// Indicates whether the direct sound is heard, whether the send is if there is a reverb, and whether no filter is on the way.
    private(set) var isHeard = false
    private(set) var isSent = false
    private(set) var isOpen = false
    /// The level of the send, where it is heard.
    private(set) var send = Course(0, 0, 0)
    /// The delays to the left and the right ear.
    private(set) var left = DelayCourse(0, 0, 0)
    private(set) var right = DelayCourse(0, 0, 0)
    /// The level at both ears.
    private(set) var level = Course(0, 0, 0)
    /// The filters of a sphere.
    private(set) var leftEar = SphereCourse()
    private(set) var rightEar = SphereCourse()

    /// The course of both numbers of ``SphericalHead/Ear``.
    struct SphereCourse: Sendable, BitwiseCopyable {
        var first = Course(0, 0, 0)
        var second = Course(0, 0, 0)

        @_noLocks @_noAllocation
        init() {}
    }

    @_noLocks @_noAllocation
    init() {}

    /// The whole frames by which the sound is late in the middle of the block.
    var frames: Int { @_noLocks @_noAllocation get { kind == 0 ? flight.frames : left.frames } }

    /// Makes the courses of a block. (The way at the three moments is handed over by reference: it would be copied else.)
    @_noLocks @_noAllocation
    @inline(__always) mutating func take(
        _ before: inout SpatialAim, _ now: inout SpatialAim, _ next: inout SpatialAim,
        limit: Double, jumps: Bool
    ) {
        let (levels, sends) = (before.level + now.level + next.level, before.send + now.send + next.send)
        isHeard = levels > 0
        isSent = sends > 0
        // None is above 1.
        isOpen = before.opening + now.opening + next.opening == 3
        kind = nil
        let shares = before.shares + now.shares + next.shares
        if jumps || !isHeard || shares.sum() != 3 { return }
        if shares[0] == 3 { kind = 0 }
        if shares[1] == 3 { kind = 1 }
        if shares[2] == 3 { kind = 2 }
        lay(&before, &now, &next, limit)
    }

    /// Makes the courses of a block of a source that goes on as in the block before, whose sound one rendering has.
    @_noLocks @_noAllocation
    @inline(__always) mutating func goOn(
        _ before: inout SpatialAim, _ now: inout SpatialAim, _ next: inout SpatialAim, limit: Double
    ) {
        isSent = before.send + now.send + next.send > 0
        lay(&before, &now, &next, limit)
    }

    /// Makes them with equal power, from the three numbers of each.
    @_noLocks @_noAllocation
    @inline(__always) mutating func goOn(
        delay: SIMD4<Double>, left: SIMD4<Float>, right: SIMD4<Float>, send: SIMD4<Float>, limit: Double
    ) {
        isSent = send.x + send.y + send.z > 0
        if isSent { self.send = Course(send.x, send.y, send.z) }
        flight.take(delay.x, delay.y, delay.z, limit: limit, left: left, right: right)
    }

    @_noLocks @_noAllocation
    @inline(__always) private mutating func lay(
        _ before: inout SpatialAim, _ now: inout SpatialAim, _ next: inout SpatialAim, _ limit: Double
    ) {
        if isSent { send = Course(before.send, now.send, next.send) }
        switch kind {
        case 0:
            return flight.take(
                before.delay, now.delay, next.delay, limit: limit,
                left: SIMD4(before.levels[0], now.levels[0], next.levels[0], 0),
                right: SIMD4(before.levels[1], now.levels[1], next.levels[1], 0))
        case 1:
            hear(before.sphere, now.sphere, next.sphere, before.delay, now.delay, next.delay, limit)
            leftEar.first = Course(before.ears.x, now.ears.x, next.ears.x)
            leftEar.second = Course(before.ears.y, now.ears.y, next.ears.y)
            rightEar.first = Course(before.ears.z, now.ears.z, next.ears.z)
            rightEar.second = Course(before.ears.w, now.ears.w, next.ears.w)
        case 2: hear(before.head, now.head, next.head, before.delay, now.delay, next.delay, limit)
        default: return
        }
        level = Course(before.level, now.level, next.level)
    }

    @_noLocks @_noAllocation
    private mutating func hear(
        _ before: SIMD2<Double>, _ now: SIMD2<Double>, _ next: SIMD2<Double>, _ a: Double, _ b: Double, _ c: Double,
        _ limit: Double
    ) {
        left = DelayCourse(a + before.x, b + now.x, c + next.x).held(to: limit)
        right = DelayCourse(a + before.y, b + now.y, c + next.y).held(to: limit)
    }
}
