internal import RenderCore
internal import Sharing

/// The numbers of an environment, as a source reads them.
struct Surroundings: ~Copyable, Sendable {
    let listener: SharedState<ListenerMotion>
    let head: SharedState<HeadHolder>

    // Every cycle looks at these: they lie together.

    let layout: SpatialLayout
    let sends: Bool
    /// The channels of the mixer in which the source plays as it is; 0 in an environment.
    let flat: Int
    /// The number of times that the source has come into an environment or a mixer, and whether it fades in.
    let entry: Int
    let fadesIn: Bool
    /// The environment's: the version of the listener's motion, and that of the head.
    private let around: SharedWords

    init(
        _ listener: borrowing SharedState<ListenerMotion>, _ layout: SpatialLayout, sends: Bool,
        _ head: borrowing SharedState<HeadHolder>, _ around: borrowing SharedWords, flat: Int = 0, entry: Int,
        fadesIn: Bool
    ) {
        (self.flat, self.entry, self.fadesIn) = (flat, entry, fadesIn)
        self.around = SharedWords(sharing: around)
        self.listener = SharedState(sharing: listener)
        self.layout = layout
        self.sends = sends
        self.head = SharedState(sharing: head)
    }

    /// The channels that the source pushes.
    var channels: Int {
        @_noLocks @_noAllocation get {
            flat == 0 ? layout.channels &+ (sends ? 1 : 0) : max(max(flat, 2), layout.channels)
        }
    }

    /// The numbers of all that may change: of the source's place in the environment, of the listener, of the head, and of the source's
    /// own settings.
    ///
    /// - Parameter changes: The changes of the source's own numbers, read before all that they stand for.
    @_noLocks @_noAllocation
    func versions(_ changes: UInt64) -> SIMD4<Int> {
        SIMD4(
            entry, Int(truncatingIfNeeded: around[0]), Int(truncatingIfNeeded: around[1]),
            Int(truncatingIfNeeded: changes))
    }
}

/// The responses of an environment's head, or none.
struct HeadHolder: ~Copyable, Sendable {
    private let table: HeadTableBox?
    /// The responses to be read in this cycle.
    let reference: HeadTableBox.Reference?
    /// The number of the table; 0 without one.
    var version: Int { @_noLocks @_noAllocation get { reference?.version ?? 0 } }

    /// No responses.
    init() {
        reference = nil
        table = nil
    }

    init(_ table: HeadTableBox) { (reference, self.table) = (table.reference, table) }
}

/// The numbers of a source as they were read last, to see at once that none has changed, nor anything around it.
struct SpatialGlance: Sendable, BitwiseCopyable {
    /// The place and Doppler's factor.
    private(set) var place = SIMD4<Float>(repeating: .nan)
    /// The velocity and the level outside of the cone.
    private(set) var velocity = SIMD4<Float>(repeating: 0)
    /// Yaw and pitch of the source, the cone's angles.
    private(set) var cone = SIMD4<Float>(repeating: 0)
    /// The minimum and the maximum, roll-off, and the number of the model.
    private(set) var distance = SIMD4<Float>(repeating: 0)
    /// Occlusion, obstruction, send, absorption.
    private(set) var ways = SIMD4<Float>(repeating: 0)
    /// The number of the rendering, and 8 more for a source that goes with the listener; its taps, the pan and the width.
    private(set) var rendering = SIMD4<Float>(repeating: 0)
    /// What ``Surroundings/versions(_:)`` were.
    private var versions = SIMD4<Int>(repeating: -1)

    @_noLocks @_noAllocation
    init() {}

    /// Returns whether nothing has been set since the numbers were read.
    @_noLocks @_noAllocation
    func isOf(_ versions: SIMD4<Int>) -> Bool {
        let mine = self.versions
        return versions.x == mine.x && versions.y == mine.y && versions.z == mine.z && versions.w == mine.w
    }

    /// Reads the numbers. Returns `true` if one has changed, or anything around the source.
    @_noLocks @_noAllocation
    mutating func read(
        _ source: borrowing SourceNumbers, _ new: SIMD4<Int>, _ context: borrowing RenderContext
    ) -> Bool {
        let old = versions
        versions = new
        let hasOthers = new.x != old.x || new.y != old.y || new.z != old.z
        let a = SpatialGlance.keep(
            SIMD4(
                source.x.current(context), source.y.current(context), source.z.current(context),
                source.doppler.current(context)), in: &place)
        let b = SpatialGlance.keep(
            SIMD4(
                source.velocityX.current(context), source.velocityY.current(context),
                source.velocityZ.current(context), source.coneLevel.current(context)), in: &velocity)
        let c = SpatialGlance.keep(
            SIMD4(
                source.yaw.current(context), source.pitch.current(context), source.coneInner.current(context),
                source.coneOuter.current(context)), in: &cone)
        let d = SpatialGlance.keep(
            SIMD4(
                source.minimumDistance.current(context), source.maximumDistance.current(context),
                source.rollOff.current(context), source.model.current(context)), in: &distance)
        let e = SpatialGlance.keep(
            SIMD4(
                source.occlusion.current(context), source.obstruction.current(context),
                source.send.current(context), source.airAbsorption.current(context)), in: &ways)
        let relative: Float = source.relative.isOn(context) ? 8 : 0
        let f = SpatialGlance.keep(
            SIMD4(
                source.kind.current(context) + relative, source.taps.current(context), source.pan.current(context),
                source.width.current(context)),
            in: &rendering)
        return !(a && b && c && d && e && f) || hasOthers
    }

    /// Keeps numbers. Returns `true` if they are there already.
    @_noLocks @_noAllocation
    @inline(__always) private static func keep(_ new: SIMD4<Float>, in old: inout SIMD4<Float>) -> Bool {
        let before = old
        old = new
        return new.x == before.x && new.y == before.y && new.z == before.z && new.w == before.w
    }
}

/// The settings of a source and of the listener at one moment, from which the way of the sound follows.
struct SpatialSettings: Sendable, BitwiseCopyable {
    // First what an even motion needs.

    var velocity = SIMD4<Double>(repeating: 0)
    /// The minimum and the maximum, roll-off, and the number of the model.
    var distance = SIMD4<Float>(1, 1e6, 1, 0)
    /// Occlusion, obstruction, send, absorption.
    var ways = SIMD4<Float>(repeating: 0)
    var kind = 0

    var place = SIMD4<Double>(repeating: 0)
    var motion = ListenerMotion()
    /// Yaw and pitch of the source, the cone's angles.
    var cone = SIMD4<Float>(repeating: 0)
    var coneLevel: Float = 1
    var doppler = 1.0
    var taps = 64
    var layout = SpatialLayout.stereo
    /// Indicates whether there is a channel for a reverb behind those of the layout.
    var sends = false
    /// The channels of the mixer in which the source plays as it is; 0 in an environment.
    var flat = 0
    /// The number of times that the source has come into an environment, and whether it fades in.
    var entry = 0
    var fadesIn = false
    var head: HeadTableBox.Reference?
    /// The width that is set, in degrees, the pan, and the angle by which the sound lies to the right of the source's place.
    var width: Float = 0
    var pan: Float = 0
    var angle: Float = 0

    @_noLocks @_noAllocation
    init() {}

    /// Takes the numbers that were read, those of the listener, and the head.
    @_noLocks @_noAllocation
    mutating func take(_ glance: SpatialGlance, _ room: borrowing Surroundings, _ context: inout RenderContext) {
        place = SIMD4<Double>(SIMD4(glance.place.x, glance.place.y, glance.place.z, 0))
        velocity = SIMD4<Double>(SIMD4(glance.velocity.x, glance.velocity.y, glance.velocity.z, 0))
        (cone, distance, ways) = (glance.cone, glance.distance, glance.ways)
        (doppler, coneLevel) = (Double(glance.place.w), glance.velocity.w)
        (kind, taps) = (Int(glance.rendering.x) & 7, Int(glance.rendering.y) & ~7)
        (pan, width) = (glance.rendering.z, glance.rendering.w)
        (layout, sends, flat) = (room.layout, room.sends, room.flat)
        (entry, fadesIn) = (room.entry, room.fadesIn)
        if !layout.isStereo && kind < 3 { kind = 0 }
        if flat > 0 { (kind, sends) = (3, false) }
        // Also while it fades to another rendering.
        var table: HeadTableBox.Reference?
        if layout.isStereo { room.head.with(&context) { head, _ in table = head.reference } }
        head = table
        var listener = motion
        room.listener.with(&context) { motion, _ in listener = motion }
        motion = glance.rendering.x >= 8 ? listener.atOrigin : listener
    }

    /// Indicates whether the source is heard from where it is with other settings, and as loudly.
    @_noLocks @_noAllocation
    func soundsAs(_ other: SpatialSettings) -> Bool {
        if angle != other.angle { return false }
        let (here, there) = (place, other.place)
        if here.x != there.x || here.y != there.y || here.z != there.z { return false }
        let (low, high) = (ways, other.ways)
        if low.x != high.x || low.y != high.y || low.z != high.z || low.w != high.w { return false }
        let (old, new) = (cone, other.cone)
        if old.x != new.x || old.y != new.y || old.z != new.z || old.w != new.w { return false }
        return coneLevel == other.coneLevel && motion.isSame(as: other.motion)
    }

    /// Indicates whether other settings are the same, but for what is of no account while nothing is heard.
    @_noLocks @_noAllocation
    func isSame(as other: SpatialSettings) -> Bool {
        let (low, high) = (distance, other.distance)
        if low.x != high.x || low.y != high.y || low.z != high.z || low.w != high.w { return false }
        let (old, new) = (velocity, other.velocity)
        if old.x != new.x || old.y != new.y || old.z != new.z { return false }
        // Another environment has another entry.
        return kind == other.kind && entry == other.entry && soundsAs(other)
    }

    /// Returns where the source is heard: its direction, shorter than 1 inside of the head, and the distance in metres.
    ///
    /// - Parameters:
    ///   - base: The place of the source.
    ///   - listener: That of the listener.
    ///   - turn: That of the listener's head.
    @_noLocks @_noAllocation
    static func heard(_ base: SIMD4<Double>, by listener: SIMD4<Double>, _ turn: SpatialTurn) -> SIMD4<Double> {
        let local = turn.local(base - listener)
        let distance = Roots.root(SpatialTurn.product(local, local))
        // Inside of the head the direction gets shorter, without a corner at its edge or in the middle.
        let scale = distance > 0.2 ? 1 / distance : 10 - 25 * distance
        return SIMD4(local.x * scale, local.y * scale, local.z * scale, distance)
    }

    /// Returns the level of a cone on the way to the listener.
    @_noLocks @_noAllocation
    private static func level(
        of cone: SIMD4<Float>, outside coneLevel: Float, way: SIMD4<Double>
    ) -> Float {
        if cone.z >= 360 || coneLevel >= 1 { return 1 }
        let length = Roots.root(SpatialTurn.product(way, way))
        if !(length > 1e-9) { return 1 }
        let forward = SpatialTurn(yaw: cone.x, pitch: cone.y, roll: 0).forward
        let angle = SphericalHead.arccosine(SpatialTurn.product(way, forward) / length) * 360 / .pi
        let (inner, outer) = (Double(cone.z), Double(cone.w > cone.z ? cone.w : cone.z))
        if angle <= inner { return 1 }
        if angle >= outer { return coneLevel }
        return 1 + (coneLevel - 1) * Float((angle - inner) / (outer - inner))
    }

    /// Returns the levels of the ways: of the direct sound but for its distance, of that at 5 kHz against low frequencies, of
    /// the send, and of that at 5 kHz.
    @_noLocks @_noAllocation
    static func levels(
        ways: SIMD4<Float>, cone: SIMD4<Float>, coneLevel: Float, way: SIMD4<Double>, distance metres: Double
    ) -> SIMD4<Double> {
        let cone = Double(level(of: cone, outside: coneLevel, way: way))
        let (direct, sent) = (ways.x + ways.y, Double(ways.z))
        if direct == 0 && ways.w == 0 { return SIMD4(cone, 1, cone * sent, 1) }
        let air = min(Float(min(metres, 1e5)) * 0.05 * ways.w, 100)
        let (low, high) = (SpatialSettings.amplitude(direct / 3), SpatialSettings.amplitude(direct * (2 / 3) - air))
        let (wall, dullness) = (SpatialSettings.amplitude(ways.x / 3), SpatialSettings.amplitude(ways.x * (2 / 3)))
        return SIMD4(cone * low, high, cone * sent * wall, dullness)
    }

    @_noLocks @_noAllocation
    private static func amplitude(_ decibels: Float) -> Double { Double(RenderMath.amplitude(decibels: decibels)) }
}

/// The way of the sound at one moment: the numbers after which it goes in a block.
struct SpatialAim: Sendable, BitwiseCopyable {
    /// The frames that the sound needs.
    var delay = SpatialSignal.shortest
    /// The frames that it needs besides to the left and the right ear of a sphere, and of a measured head.
    var sphere = SIMD2<Double>(repeating: 0)
    var head = SIMD2<Double>(repeating: 0)
    /// The level of the direct sound.
    var level: Float = 0
    /// The level in each channel, of the share that is made of levels alone.
    var levels = SIMD16<Float>(repeating: 0)
    /// The filters of both ears of a sphere.
    var ears = SIMD4<Float>(repeating: 0)
    /// The coefficients of the low-pass filters of the direct sound and of the send; the level of the send.
    var opening: Float = 1
    var sendOpening: Float = 1
    var send: Float = 0
    /// The directions in which the listener has ahead, left and up of a sound field: right, up and back.
    var ahead = SIMD4<Float>(repeating: 0)
    var left = SIMD4<Float>(repeating: 0)
    var up = SIMD4<Float>(repeating: 0)
    /// The levels of left and right of what passes through.
    var sides = SIMD2<Float>(repeating: 1)
    /// The share of each rendering.
    var shares = SIMD8<Float>(repeating: 0)

    @_noLocks @_noAllocation
    init() {}

    /// Takes what changes while a source goes on evenly.
    @_noLocks @_noAllocation
    @inline(__always) mutating func follow(_ next: borrowing SpatialAim) {
        (delay, sphere, head) = (next.delay, next.sphere, next.head)
        (level, levels, ears, send) = (next.level, next.levels, next.ears, next.send)
    }

    /// Returns the level of a channel of a sound field (W, Y, Z or X) in a channel of the layout.
    @_noLocks @_noAllocation
    func gain(ofField channel: Int, in layout: SpatialLayout, at target: Int, _ rings: SpeakerRings) -> Float {
        var direction = SIMD4<Float>(repeating: 0)
        switch channel {
        case 1: direction = left
        case 2: direction = up
        case 3: direction = ahead
        default: break
        }
        switch layout {
        case .stereo:
            // Cardioids to the left and to the right.
            if channel == 0 { return 0.5 }
            return target == 0 ? -0.5 * direction.x : 0.5 * direction.x
        case .ambisonics:
            if channel == 0 { return target == 0 ? 1 : 0 }
            switch target {
            case 1: return -direction.x
            case 2: return direction.y
            case 3: return -direction.z
            default: return 0
            }
        case .quad: return rings.quad.share(of: direction, isOmni: channel == 0, at: target)
        case .surround51: return rings.surround51.share(of: direction, isOmni: channel == 0, at: target)
        case .surround71: return rings.surround71.share(of: direction, isOmni: channel == 0, at: target)
        }
    }

    /// Returns a level, or 0 for one below -100 dB.
    @_noLocks @_noAllocation
    static func audible(_ level: Float) -> Float { level > 1e-5 ? level : 0 }

    /// Returns the coefficient of one pole that has a level at 5 kHz: 1 if that is 1.
    @_noLocks @_noAllocation
    static func opening(_ level: Double, _ sampleRate: Double) -> Float {
        let level = level > 0.001 ? level : 0.001
        if level >= 0.9999 { return 1 }
        let power = level * level
        let cosine = RenderMath.cos(2 * .pi * min(5_000 / sampleRate, 0.4))
        let half = 1 - power * cosine
        let root = Roots.root(max(half * half - (1 - power) * (1 - power), 0))
        return Float(1 - (half - root) / (1 - power))
    }
}
