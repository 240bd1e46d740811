/// The motion of a glide at a moment.
@usableFromInline package struct GlideMotion: Sendable, BitwiseCopyable {
    /// The change of the value in a unit of time, and the change of that.
    @usableFromInline package var velocity: Float
    @usableFromInline package var bend: Float

    @_noLocks @_noAllocation
    @inlinable package init(velocity: Float = 0, bend: Float = 0) {
        self.velocity = velocity
        self.bend = bend
    }

    /// Returns the motion by another unit of time.
    @_noLocks @_noAllocation
    package func scaled(by factor: Float) -> GlideMotion {
        GlideMotion(velocity: velocity * factor, bend: bend * factor * factor)
    }
}

/// The polynomial of fifth order from a value with a motion to another value at rest, in the time from 0 to 1: value, slope and
/// curvature have no step at its ends.
@usableFromInline struct GlidePath: Sendable, BitwiseCopyable {
    // The coefficients, from the lowest order.
    @usableFromInline let c0, c1, c2, c3, c4, c5: Double

    @_noLocks @_noAllocation
    @inlinable init(from: Double, distance: Double, _ motion: GlideMotion) {
        let (velocity, bend) = (Double(motion.velocity), Double(motion.bend))
        c0 = from
        c1 = velocity
        c2 = 0.5 * bend
        c3 = 10 * distance - 6 * velocity - 1.5 * bend
        c4 = -15 * distance + 8 * velocity + 1.5 * bend
        c5 = 6 * distance - 3 * velocity - 0.5 * bend
    }

    @_noLocks @_noAllocation
    @inlinable func value(at u: Double) -> Double {
        let upper = c3 + u * (c4 + u * c5)
        return c0 + u * (c1 + u * (c2 + u * upper))
    }

    @_noLocks @_noAllocation
    func motion(at u: Double) -> GlideMotion {
        let velocity = c1 + u * (2 * c2 + u * (3 * c3 + u * (4 * c4 + u * 5 * c5)))
        let bend = 2 * c2 + u * (6 * c3 + u * (12 * c4 + u * 20 * c5))
        return GlideMotion(velocity: Float(velocity), bend: Float(bend))
    }
}
