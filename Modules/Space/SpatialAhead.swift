internal import RenderCore

/// The way of a source that goes on evenly, aimed at for four blocks in a row.
struct SpatialAhead: Sendable, BitwiseCopyable {
    /// What a block aims at.
    struct Block: Sendable, BitwiseCopyable {
        /// The frames that sound from the source needs, the part of it by which the listener comes nearer, and the frames by which it
        /// grows in a block.
        var way = 0.0
        var toward = 0.0
        var drift = 0.0
        /// The direction: right, up and back.
        var x = 0.0
        var y: Float = 0
        var z: Float = 0
        /// The level of the distance, and those of both channels with equal power.
        var level: Float = 0
        var left: Float = 0
        var right: Float = 0

        @_noLocks @_noAllocation
        init() {}
    }

    /// The frame of the sample clock at which the first of the blocks begins.
    private var start = Int64.max
    /// The number of the next of them: 0…3, or 4 at their end.
    private var number = 4
    private var (first, second, third, fourth) = (Block(), Block(), Block(), Block())

    /// Creates a way that is at its end.
    @_noLocks @_noAllocation
    init() {}

    /// Forgets the way.
    @_noLocks @_noAllocation
    mutating func end() { number = 4 }

    /// Indicates whether all of the blocks have begun.
    var isAtEnd: Bool { @_noLocks @_noAllocation get { number == 4 } }

    /// Returns whether the next of the blocks begins at a frame of the sample clock.
    @_noLocks @_noAllocation
    @inline(__always) func isAt(_ frame: Int64) -> Bool {
        number < 4 && frame == start &+ Int64(number &* SpatialState.block)
    }

    /// Returns the next block.
    @_noLocks @_noAllocation
    @inline(__always) mutating func next() -> Block {
        let now = number
        number = now &+ 1
        switch now {
        case 0: return first
        case 1: return second
        case 2: return third
        default: return fourth
        }
    }

    /// Aims from a frame on.
    ///
    /// - Parameters:
    ///   - motion: The motion of the source, which ``SpatialMotion/isPlain``. As `inout` it is not copied.
    ///   - frame: The frame of the sample clock at which the first block begins.
    ///   - limit: The longest way in frames.
    ///   - sampleRate: In hertz.
    @_noLocks @_noAllocation
    mutating func aim(_ motion: inout SpatialMotion, from frame: Int64, limit: Double, sampleRate: Double) {
        (start, number) = (frame, 0)
        let length = Double(SpatialState.block)
        let places = motion.places(from: frame, frames: length, sampleRate: sampleRate)
        let metres = places.distance
        let perMetre = motion.slowness * sampleRate
        let rounded = metres.replacing(with: 0.1 + 2.5 * metres * metres, where: metres .< 0.2)
        let reached = rounded * perMetre
        let way = SIMD4(repeating: limit).replacing(with: reached, where: reached .< limit)
        let toward = places.approach * motion.slowness
        let growth = places.recession * perMetre * length / sampleRate
        let drift = SIMD4(repeating: 0).replacing(with: growth, where: growth .> -0.9 * length)
        let distance = motion.settings.distance
        let level = SpatialState.model(distance.w).levels(
            distances: SIMD4<Float>(metres), minimum: distance.x, maximum: distance.y, rollOff: distance.z)
        let (y, z) = (SIMD4<Float>(places.y), SIMD4<Float>(places.z))
        (first.way, second.way, third.way, fourth.way) = (way.x, way.y, way.z, way.w)
        (first.toward, second.toward, third.toward, fourth.toward) = (toward.x, toward.y, toward.z, toward.w)
        (first.drift, second.drift, third.drift, fourth.drift) = (drift.x, drift.y, drift.z, drift.w)
        (first.x, second.x, third.x, fourth.x) = (places.x.x, places.x.y, places.x.z, places.x.w)
        (first.y, second.y, third.y, fourth.y) = (y.x, y.y, y.z, y.w)
        (first.z, second.z, third.z, fourth.z) = (z.x, z.y, z.z, z.w)
        (first.level, second.level, third.level, fourth.level) = (level.x, level.y, level.z, level.w)
        if motion.settings.kind == 0 { pan(SIMD4<Float>(places.x), level) }
    }

    /// Aims at the levels of both channels with equal power.
    @_noLocks @_noAllocation
    @inline(__always) private mutating func pan(_ x: SIMD4<Float>, _ level: SIMD4<Float>) {
        var side = SIMD4(repeating: -1).replacing(with: x, where: x .> -1)
        side = SIMD4(repeating: 1).replacing(with: side, where: side .< 1)
        let angle = (side + 1) * (.pi / 4)
        let left = (RenderMath.cos(angle) * level).replacing(with: 0, where: side .>= 1)
        let right = (RenderMath.sin(angle) * level).replacing(with: 0, where: side .<= -1)
        (first.left, second.left, third.left, fourth.left) = (left.x, left.y, left.z, left.w)
        (first.right, second.right, third.right, fourth.right) = (right.x, right.y, right.z, right.w)
    }
}
