internal import RenderCore

/// The numbers of a listener and of the air, as an environment reads them.
struct ListenerNumbers: ~Copyable, Sendable {
    private let x, y, z, velocityX, velocityY, velocityZ, yaw, pitch, roll, speedOfSound: Parameter

    init(_ listener: Listener, speedOfSound: borrowing Parameter) {
        x = Parameter(sharing: listener.x)
        y = Parameter(sharing: listener.y)
        z = Parameter(sharing: listener.z)
        velocityX = Parameter(sharing: listener.velocityX)
        velocityY = Parameter(sharing: listener.velocityY)
        velocityZ = Parameter(sharing: listener.velocityZ)
        yaw = Parameter(sharing: listener.yaw)
        pitch = Parameter(sharing: listener.pitch)
        roll = Parameter(sharing: listener.roll)
        self.speedOfSound = Parameter(sharing: speedOfSound)
    }

    /// Reads all numbers.
    @_noLocks @_noAllocation
    func read(_ context: borrowing RenderContext) -> ListenerSettings {
        ListenerSettings(
            place: SIMD4(
                Double(x.current(context)), Double(y.current(context)), Double(z.current(context)), 0),
            velocity: SIMD4(
                Double(velocityX.current(context)), Double(velocityY.current(context)),
                Double(velocityZ.current(context)), 0),
            angles: SIMD4(yaw.current(context), pitch.current(context), roll.current(context), 0),
            speedOfSound: Double(speedOfSound.current(context)))
    }
}

/// The settings of a listener.
struct ListenerSettings: Sendable, BitwiseCopyable {
    var place = SIMD4<Double>(repeating: 0)
    var velocity = SIMD4<Double>(repeating: 0)
    var angles = SIMD4<Float>(repeating: 0)
    var speedOfSound = 343.0

    @_noLocks @_noAllocation
    init(place: SIMD4<Double>, velocity: SIMD4<Double>, angles: SIMD4<Float>, speedOfSound: Double) {
        (self.place, self.velocity, self.angles, self.speedOfSound) = (place, velocity, angles, speedOfSound)
    }

    @_noLocks @_noAllocation
    init() {}

    @_noLocks @_noAllocation
    func isSame(as other: ListenerSettings) -> Bool {
        let (here, there) = (place, other.place)
        if here.x != there.x || here.y != there.y || here.z != there.z { return false }
        let (old, new) = (velocity, other.velocity)
        if old.x != new.x || old.y != new.y || old.z != new.z { return false }
        let (before, after) = (angles, other.angles)
        return before.x == after.x && before.y == after.y && before.z == after.z && speedOfSound == other.speedOfSound
    }
}

/// The place of a listener and the turn of the head: for all sources of an environment.
struct ListenerMotion: Sendable, BitwiseCopyable {
    private var settings = ListenerSettings()
    /// The place at the frame `start` of the sample clock, from where it goes on by the velocity.
    private var base = SIMD4<Double>(repeating: 0)
    private var start: Int64 = 0
    private var isFresh = true
    private(set) var turn = SpatialTurn()
    /// The number of times that anything was set.
    private(set) var version = 0

    @_noLocks @_noAllocation
    init() {}

    /// The speed of sound in metres per second.
    var speedOfSound: Double { @_noLocks @_noAllocation get { settings.speedOfSound } }

    /// A listener with this speed of sound, who stays at the origin and looks ahead.
    var atOrigin: ListenerMotion {
        @_noLocks @_noAllocation get {
            var motion = ListenerMotion()
            motion.settings.speedOfSound = settings.speedOfSound
            return motion
        }
    }

    /// Takes new settings from a frame on.
    @_noLocks @_noAllocation
    mutating func take(_ new: ListenerSettings, at frame: Int64, sampleRate: Double) {
        if !isFresh && frame >= start && new.isSame(as: settings) { return }
        version &+= 1
        let (old, next) = (settings, new)
        let isSet = isFresh || next.place.x != old.place.x || next.place.y != old.place.y || next.place.z != old.place.z
        let isPushed =
            next.velocity.x != old.velocity.x || next.velocity.y != old.velocity.y || next.velocity.z != old.velocity.z
        if isSet || isPushed || frame < start {
            base = isSet ? next.place : walk.place(at: frame, sampleRate: sampleRate)
            start = frame
        }
        if isFresh || next.angles.x != old.angles.x || next.angles.y != old.angles.y || next.angles.z != old.angles.z {
            turn = SpatialTurn(yaw: next.angles.x, pitch: next.angles.y, roll: next.angles.z)
        }
        settings = new
        isFresh = false
    }

    /// Indicates whether another motion is at the same place and turned in the same way at all times.
    @_noLocks @_noAllocation
    func isSame(as other: ListenerMotion) -> Bool {
        let (here, there) = (base, other.base)
        if start != other.start || here.x != there.x || here.y != there.y || here.z != there.z { return false }
        let (old, new) = (settings.velocity, other.settings.velocity)
        if old.x != new.x || old.y != new.y || old.z != new.z { return false }
        let (before, after) = (settings.angles, other.settings.angles)
        return before.x == after.x && before.y == after.y && before.z == after.z
    }

    /// The way that the listener goes.
    var walk: Walk {
        @_noLocks @_noAllocation get { Walk(base: base, velocity: settings.velocity, start: start) }
    }

    /// A place at a frame of the sample clock, from where the listener goes on by a velocity.
    struct Walk: Sendable, BitwiseCopyable {
        fileprivate var base: SIMD4<Double>
        fileprivate(set) var velocity: SIMD4<Double>
        fileprivate var start: Int64

        @_noLocks @_noAllocation
        init(base: SIMD4<Double>, velocity: SIMD4<Double>, start: Int64) {
            (self.base, self.velocity, self.start) = (base, velocity, start)
        }

        /// Indicates whether the listener stays where it is.
        var isStill: Bool { @_noLocks @_noAllocation get { velocity.x == 0 && velocity.y == 0 && velocity.z == 0 } }

        /// Returns the place at a frame of the sample clock.
        @_noLocks @_noAllocation
        func place(at frame: Int64, sampleRate: Double) -> SIMD4<Double> {
            let frames = frame > start ? frame &- start : 0
            return base + velocity * (Double(frames) / sampleRate)
        }
    }
}
