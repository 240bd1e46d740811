internal import RenderCore
internal import SignalBlocks

/// What a source with equal power aims at while it goes on evenly: at the block before, at this one, and at the next. It stands for
/// those numbers of three ``SpatialAim``, in fewer lines of the cache.
struct SpatialTrail: Sendable, BitwiseCopyable {
    /// The frames that the sound needs.
    private var delay = SIMD4<Double>(repeating: 0)
    /// The levels of both channels, of the direct sound, and of the send.
    private var left = SIMD4<Float>(repeating: 0)
    private var right = SIMD4<Float>(repeating: 0)
    private var level = SIMD4<Float>(repeating: 0)
    private var send = SIMD4<Float>(repeating: 0)

    @_noLocks @_noAllocation
    init() {}

    /// Begins with what was aimed at. (It is handed over by reference: it would be copied else.)
    @_noLocks @_noAllocation
    mutating func begin(_ before: inout SpatialAim, _ now: inout SpatialAim, _ next: inout SpatialAim) {
        delay = SIMD4(before.delay, now.delay, next.delay, 0)
        left = SIMD4(before.levels[0], now.levels[0], next.levels[0], 0)
        right = SIMD4(before.levels[1], now.levels[1], next.levels[1], 0)
        level = SIMD4(before.level, now.level, next.level, 0)
        send = SIMD4(before.send, now.send, next.send, 0)
    }

    /// Hands over what was aimed at.
    @_noLocks @_noAllocation
    func end(_ before: inout SpatialAim, _ now: inout SpatialAim, _ next: inout SpatialAim) {
        (before.delay, now.delay, next.delay) = (delay.x, delay.y, delay.z)
        (before.levels[0], now.levels[0], next.levels[0]) = (left.x, left.y, left.z)
        (before.levels[1], now.levels[1], next.levels[1]) = (right.x, right.y, right.z)
        (before.level, now.level, next.level) = (level.x, level.y, level.z)
        (before.send, now.send, next.send) = (send.x, send.y, send.z)
    }

    /// Goes on by a block, and lays the courses from there.
    @_noLocks @_noAllocation
    @inline(__always) mutating func goOn(
        delay: Double, _ block: SpatialAhead.Block, send: Float, limit: Double, _ courses: inout SpatialCourses
    ) {
        self.delay = SIMD4(self.delay.y, self.delay.z, delay, 0)
        left = SIMD4(left.y, left.z, block.left, 0)
        right = SIMD4(right.y, right.z, block.right, 0)
        level = SIMD4(level.y, level.z, block.level, 0)
        self.send = SIMD4(self.send.y, self.send.z, send, 0)
        courses.goOn(delay: self.delay, left: left, right: right, send: self.send, limit: limit)
    }
}
