internal import RenderCore

/// The motion of a source as it is heard: without corners, whatever is set.
///
/// A program sets a place and a velocity; the place goes on by the velocity. A change leaves a difference between what was heard
/// and what is set, which decays as a critically damped spring does: to 1 % in 33 ms.
struct SpatialMotion: ~Copyable, Sendable {
    /// The places that the source and the listener have reached.
    private var base = SIMD4<Double>(repeating: 0)
    private var listener = SIMD4<Double>(repeating: 0)
    /// What of the settings each block needs, beside what it changes.
    private var walk = ListenerMotion().walk
    private(set) var turn = SpatialTurn()
    /// The frames that the sound needs for a metre at a rate of 1, and the part of the speed of sound that a metre per second is:
    /// both times Doppler's factor.
    private(set) var slowness = 1 / 343.0
    /// The settings of the source.
    private(set) var settings = SpatialSettings()
    /// The direction and the distance less what they should be, then the levels of the ways; and their change in a second.
    private var error = SIMD8<Double>(repeating: 0)
    private var change = SIMD8<Double>(repeating: 0)
    private(set) var isAtRest = true
    private(set) var isFresh = true
    /// The direction, the distance and the levels of the ways that are heard now.
    private(set) var heard = SIMD8<Double>(repeating: 0)
    /// The distance without the spring.
    private(set) var distance = 0.0
    /// The speed of the listener towards the source in metres per second, by the listener's velocity.
    private(set) var approach = 0.0
    /// The speed in metres per second at which the distance grows by both velocities.
    private(set) var recession = 0.0
    /// The pull of the spring that is left after a time.
    private var decay = 1.0
    private var decaySeconds = 0.0

    @_noLocks @_noAllocation
    init() {}

    /// Becomes the motion of another source.
    @_noLocks @_noAllocation
    mutating func become(_ other: borrowing SpatialMotion) {
        (base, listener, walk, turn) = (other.base, other.listener, other.walk, other.turn)
        (slowness, settings, error, change) = (other.slowness, other.settings, other.error, other.change)
        (isAtRest, isFresh, heard, distance) = (other.isAtRest, other.isFresh, other.heard, other.distance)
        (approach, recession) = (other.approach, other.recession)
        (decay, decaySeconds) = (other.decay, other.decaySeconds)
    }

    /// The frames by which the motion is ahead of the sound. A course ends midway between what the block before aimed at and what its
    /// own block aims at (see `Course`): so that it is there in time, a block aims at one and a half blocks after its beginning.
    private static var lead: Int64 {
        @_noLocks @_noAllocation get { Int64(SpatialState.block &+ SpatialState.block / 2) }
    }

    /// Goes on while nothing is heard, so that the source is where it then is.
    @_noLocks @_noAllocation
    mutating func drift(frames: Double, sampleRate: Double) {
        if !isFresh { base += settings.velocity * (frames / sampleRate) }
    }

    /// Moves on.
    ///
    /// - Parameters:
    ///   - frame: The frame of the sample clock.
    ///   - frames: The frames since the last call.
    ///   - sampleRate: In hertz.
    @_noLocks @_noAllocation
    mutating func advance(at frame: Int64, frames: Double, sampleRate: Double) {
        if isFresh { return }
        let (rate, seconds) = (200.0, frames / sampleRate)
        base += settings.velocity * seconds
        listener = walk.place(at: frame &+ SpatialMotion.lead, sampleRate: sampleRate)
        if isAtRest { return }
        if seconds != decaySeconds { (decay, decaySeconds) = (RenderMath.exp(-rate * seconds), seconds) }
        // The spring, exactly: x = (x + (v + r x) t) e^(-r t).
        let pull = change + error * rate
        error = (error + pull * seconds) * decay
        change = (change - pull * (rate * seconds)) * decay
        if (error * error).max() < 1e-14 && (change * change).max() < 1e-8 {
            error = SIMD8(repeating: 0)
            change = SIMD8(repeating: 0)
            isAtRest = true
        }
    }

    /// Moves on by a block while it is at rest, so that ``advance(at:frames:sampleRate:)`` may go on from there.
    @_noLocks @_noAllocation
    mutating func follow(at frame: Int64, frames: Double, sampleRate: Double) {
        base += settings.velocity * (frames / sampleRate)
        if !walk.isStill { listener = walk.place(at: frame &+ SpatialMotion.lead, sampleRate: sampleRate) }
    }

    /// Indicates whether nothing but its place moves: the spring is at rest, and no cone, wall or air makes another level.
    var isPlain: Bool {
        @_noLocks @_noAllocation get {
            let (ways, cone) = (settings.ways, settings.cone)
            if !isAtRest || isFresh || ways.x + ways.y != 0 || ways.w != 0 { return false }
            return cone.z >= 360 || settings.coneLevel >= 1
        }
    }

    /// Returns where the source will be heard at the next four blocks if nothing is set, as ``hear()`` would compute it there.
    /// It is `mutating`, though it changes nothing: the compiler calls other methods with a copy of the whole motion.
    ///
    /// - Parameter frame: The frame of the sample clock at which the first of them begins.
    @_noLocks @_noAllocation
    mutating func places(from frame: Int64, frames: Double, sampleRate: Double) -> SpatialPlaces {
        var (x, y, z) = (SIMD4<Double>(), SIMD4<Double>(), SIMD4<Double>())
        let step = settings.velocity * (frames / sampleRate)
        var (place, clock, ears) = (base, frame, listener)
        for k in 0..<4 {
            place += step
            if !walk.isStill { ears = walk.place(at: clock &+ SpatialMotion.lead, sampleRate: sampleRate) }
            let way = place - ears
            (x[k], y[k], z[k]) = (way.x, way.y, way.z)
            clock &+= Int64(frames)
        }
        return SpatialPlaces(x, y, z, turn, velocity: settings.velocity, listener: walk.velocity)
    }

    /// Takes new settings, and keeps what is heard where it is.
    @_noLocks @_noAllocation
    mutating func take(_ new: SpatialSettings, at frame: Int64, sampleRate: Double) {
        let lead = Double(SpatialMotion.lead) / sampleRate
        if isFresh {
            (base, isFresh) = (new.place + new.velocity * lead, false)
            adopt(new)
            listener = walk.place(at: frame &+ SpatialMotion.lead, sampleRate: sampleRate)
            return
        }
        let push = new.velocity - settings.velocity
        let isPushed = push.x != 0 || push.y != 0 || push.z != 0
        if !isPushed && settings.soundsAs(new) { return adopt(new) }
        let before = SpatialSettings.heard(base, by: listener, turn)
        let levelsBefore = SpatialSettings.levels(
            ways: settings.ways, cone: settings.cone, coneLevel: settings.coneLevel, way: listener - base,
            distance: before.w)
        let (old, next) = (settings.place, new.place)
        let isSet = next.x != old.x || next.y != old.y || next.z != old.z
        base = isSet ? next + new.velocity * lead : base + push * lead
        adopt(new)
        listener = walk.place(at: frame &+ SpatialMotion.lead, sampleRate: sampleRate)
        let after = SpatialSettings.heard(base, by: listener, turn)
        let levels = SpatialSettings.levels(
            ways: settings.ways, cone: settings.cone, coneLevel: settings.coneLevel, way: listener - base,
            distance: after.w)
        error += SIMD8(lowHalf: before - after, highHalf: levelsBefore - levels)
        isAtRest = false
    }

    /// Is heard at once where it should be.
    @_noLocks @_noAllocation
    mutating func rest() {
        (error, change, isAtRest) = (SIMD8(repeating: 0), SIMD8(repeating: 0), true)
    }

    @_noLocks @_noAllocation
    private mutating func adopt(_ new: SpatialSettings) {
        settings = new
        (walk, turn) = (new.motion.walk, new.motion.turn.shifted(by: new.angle))
        slowness = new.doppler / new.motion.speedOfSound
    }

    /// Computes what is heard now.
    @_noLocks @_noAllocation
    mutating func hear() {
        let place = SpatialSettings.heard(base, by: listener, turn)
        distance = place.w
        let velocity = walk.velocity
        (approach, recession) = (0, 0)
        if distance > 0.2 {
            recession = SpatialTurn.product(settings.velocity - velocity, base - listener) / distance
        }
        if velocity.x != 0 || velocity.y != 0 || velocity.z != 0 {
            if distance > 0.2 { approach = SpatialTurn.product(velocity, base - listener) / distance }
        }
        heard = SIMD8(
            lowHalf: place,
            highHalf: SpatialSettings.levels(
                ways: settings.ways, cone: settings.cone, coneLevel: settings.coneLevel, way: listener - base,
                distance: place.w))
        if isAtRest { return }
        heard += error
        // A spring that is turned round may overshoot.
        if !(heard[3] > 0) { heard[3] = 0 }
        if !(heard[4] > 0) { heard[4] = 0 }
        if !(heard[5] > 0) { heard[5] = 0 }
        if !(heard[6] > 0) { heard[6] = 0 }
        if !(heard[7] > 0) { heard[7] = 0 }
    }
}
