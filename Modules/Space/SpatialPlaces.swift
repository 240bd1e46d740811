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
