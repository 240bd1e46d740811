internal import RenderCore

/// Where a source is heard at four blocks in a row.
struct SpatialPlaces: Sendable, BitwiseCopyable {
    /// The direction: right, up and back, shorter than 1 inside of the head.
    let x, y, z: SIMD4<Double>
    /// In metres.
    let distance: SIMD4<Double>
    /// The speed of the listener towards the source in metres per second, and that at which the distance grows.
    let approach, recession: SIMD4<Double>

    /// Computes the places, in the same way as ``SpatialSettings/heard(_:by:_:)`` and ``SpatialMotion/hear()`` compute one.
    ///
    /// - Parameters:
    ///   - a: The way from the listener to the source, to the right.
    ///   - b: Upwards.
    ///   - c: Backwards.
    ///   - turn: That of the listener's head.
    ///   - velocity: That of the source.
    ///   - listener: That of the listener.
    @_noLocks @_noAllocation
    init(
        _ a: SIMD4<Double>, _ b: SIMD4<Double>, _ c: SIMD4<Double>, _ turn: SpatialTurn, velocity: SIMD4<Double>,
        listener: SIMD4<Double>
    ) {
        let right = a * turn.right.x + b * turn.right.y + c * turn.right.z
        let up = a * turn.up.x + b * turn.up.y + c * turn.up.z
        let back = -(a * turn.forward.x + b * turn.forward.y + c * turn.forward.z)
        let distance = Roots.roots(right * right + up * up + back * back)
        let isInside = .!(distance .> 0.2)
        let scale = (1 / distance).replacing(with: 10 - 25 * distance, where: isInside)
        (x, y, z) = (right * scale, up * scale, back * scale)
        self.distance = distance
        let speed = velocity - listener
        let growth = (speed.x * a + speed.y * b + speed.z * c) / distance
        recession = growth.replacing(with: 0, where: isInside)
        if listener.x != 0 || listener.y != 0 || listener.z != 0 {
            let speed = (listener.x * a + listener.y * b + listener.z * c) / distance
            approach = speed.replacing(with: 0, where: isInside)
        } else {
            approach = SIMD4(repeating: 0)
        }
    }
}

/// The way of a source that goes on evenly, aimed at for four blocks in a row.
struct SpatialAhead: Sendable, BitwiseCopyable {
    /// The frame of the sample clock at which the first of the blocks begins.
    private let start: Int64
    /// The number of the next of them: 0…3, or 4 at their end.
    var number: Int
    /// The direction: right, up and back.
    let x, y, z: SIMD4<Double>
    /// The frames that sound from the source needs, as a part of which the listener comes nearer, and by which it grows in a block.
    let way, toward, drift: SIMD4<Double>
    /// The level of the distance, and those of both channels with equal power.
    let level, left, right: SIMD4<Float>

    /// Creates a way that is at an end.
    @_noLocks @_noAllocation
    init() {
        (start, number) = (.max, 4)
        (x, y, z) = (SIMD4(repeating: 0), SIMD4(repeating: 0), SIMD4(repeating: 0))
        (way, toward, drift) = (x, x, x)
        level = SIMD4(repeating: 0)
        (left, right) = (level, level)
    }

    /// Aims from a frame on.
    ///
    /// - Parameters:
    ///   - motion: The motion of the source, which ``SpatialMotion/isPlain``.
    ///   - frame: The frame of the sample clock at which the first block begins.
    ///   - limit: The longest way in frames.
    ///   - sampleRate: In hertz.
    @_noLocks @_noAllocation
    init(_ motion: borrowing SpatialMotion, from frame: Int64, limit: Double, sampleRate: Double) {
        let length = Double(SpatialState.block)
        let places = motion.places(from: frame, frames: length, sampleRate: sampleRate)
        (start, number) = (frame, 0)
        (x, y, z) = (places.x, places.y, places.z)
        let metres = places.distance
        let perMetre = motion.slowness * sampleRate
        let rounded = metres.replacing(with: 0.1 + 2.5 * metres * metres, where: metres .< 0.2)
        let reached = rounded * perMetre
        way = SIMD4(repeating: limit).replacing(with: reached, where: reached .< limit)
        toward = places.approach * motion.slowness
        let growth = places.recession * perMetre * length / sampleRate
        drift = SIMD4(repeating: 0).replacing(with: growth, where: growth .> -0.9 * length)
        let distance = motion.settings.distance
        level = SpatialState.model(distance.w).levels(
            distances: SIMD4<Float>(metres), minimum: distance.x, maximum: distance.y, rollOff: distance.z)
        var side = SIMD4<Float>(places.x)
        side = SIMD4(repeating: -1).replacing(with: side, where: side .> -1)
        side = SIMD4(repeating: 1).replacing(with: side, where: side .< 1)
        let angle = (side + 1) * (.pi / 4)
        left = (RenderMath.cos(angle) * level).replacing(with: 0, where: side .>= 1)
        right = (RenderMath.sin(angle) * level).replacing(with: 0, where: side .<= -1)
    }

    /// Returns whether the next of the blocks begins at a frame of the sample clock.
    @_noLocks @_noAllocation
    @inline(__always) func isAt(_ frame: Int64) -> Bool {
        number < 4 && frame == start &+ Int64(number &* SpatialState.block)
    }
}
