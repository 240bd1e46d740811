public import Mixing
public import RenderCore

/// A sound with a place in an ``Environment``.
///
///     let bee = SpatialSource(buzz, rendering: .hrtf())
///     bee.position = SpatialPoint(2, 1, -3)               // 2 m to the right, 1 m up, 3 m ahead
///     bee.velocity = SpatialPoint(-1, 0, 0)               // flies on by itself
///     bee.strip.volume.value = 0.5
///     environment.append(bee)
///
/// Any generator can be a source. A source is one point, which plays the mean of its channels; only
/// ``SpatialRendering/passThrough`` and ``SpatialRendering/soundField`` use them apart.
///
/// **Motion.** A source reaches a place that you set within 50 ms, without a corner, and from there it moves on by its
/// ``velocity`` until you set a place again. The sound needs its time through the air, so that a source that comes nearer is
/// higher, by Doppler's formula. A source that jumps by more than 2 m fades from one delay to the other in 1024 frames and keeps
/// its pitch.
///
/// **Level.** The level is the product of those of ``strip``, distance (``distanceModel``), cone, obstruction and occlusion. Both
/// ears, or all loudspeakers, together have the power of the source at that level; with a measured head they have it in the mean
/// of all directions, and in the bass. A level below -100 dB is silence, which costs less.
///
/// All settings belong to the source and go with it into another environment.
///
/// Threads: control.
public final class SpatialSource: Sendable {
    /// The volume, mute and solo. Its pan does nothing.
    public let strip: MixerSource
    /// The place to the right in metres: -1,000,000…1,000,000.
    public let x: Parameter
    /// The height in metres: -1,000,000…1,000,000.
    public let y: Parameter
    /// The place backwards in metres: -1,000,000…1,000,000.
    public let z: Parameter
    /// The velocity to the right in metres per second: -1,000…1,000.
    public let velocityX: Parameter
    /// The velocity upwards in metres per second: -1,000…1,000.
    public let velocityY: Parameter
    /// The velocity backwards in metres per second: -1,000…1,000.
    public let velocityZ: Parameter
    /// The direction of the cone in degrees, to the right: -360…360. 0 is to -z.
    public let yaw: Parameter
    /// The direction of the cone in degrees, upwards: -360…360.
    public let pitch: Parameter
    /// The angle in degrees inside of which the source has its full level, from edge to edge: 0…360.
    public let coneInner: Parameter
    /// The angle in degrees outside of which it has the outer level: 0…360. In between the level goes in a straight line.
    public let coneOuter: Parameter
    /// The level outside of the cone: 0…1.
    public let coneLevel: Parameter
    /// The distance in metres nearer than which nothing gets louder: 0.01…1,000,000.
    public let minimumDistance: Parameter
    /// The distance in metres beyond which nothing gets softer: 0.01…1,000,000.
    public let maximumDistance: Parameter
    /// The strength of the distance: 0…100. ``distanceModel`` says how it counts.
    public let rollOff: Parameter
    /// The loss by a wall between two rooms, in dB: -100…0. The direct sound and the send lose a third of it at low frequencies, and
    /// all of it at 5 kHz.
    public let occlusion: Parameter
    /// The loss by a thing in the way, in dB: -100…0. The direct sound loses a third of it at low frequencies, all of it at 5 kHz.
    public let obstruction: Parameter
    /// The share that goes to the environment's reverb: 0…4. It falls with the square root of the distance's level.
    public let send: Parameter
    /// The strength of the Doppler effect: 0 (none; the sound needs no time) to 10. If the speed of a source towards the listener,
    /// times this, is above 0.9 of the speed of sound, the source keeps its pitch: its sound fades from delay to delay.
    public let doppler: Parameter
    /// The strength with which the air takes high frequencies: 0 (none) to 10. At 1 each metre takes 0.05 dB at 5 kHz.
    public let airAbsorption: Parameter

    let voice: SpatialVoice
    private let model: Parameter
    private let kind: Parameter
    private let taps: Parameter
    private let relative: Switch

    /// Creates a source at the origin.
    ///
    /// - Parameters:
    ///   - generator: The module to hear: a generator, or another module that takes nothing from the stack and pushes one
    ///     buffer. Any other is silent, and a `Fault`.
    ///   - rendering: The way in which it gets its direction.
    ///   - position: Its place.
    ///   - range: The longest way that sound goes to the listener, in metres, for which there is memory, 1…10,000. Beyond it
    ///     Doppler's effect ends. Each metre takes 0.6 kB at 48 kHz.
    /// - Precondition: The range is in range.
    public init(
        _ generator: any Module, rendering: SpatialRendering = .equalPower, position: SpatialPoint = SpatialPoint(),
        range: Double = 150
    ) {
        demand(range >= 1 && range <= 10_000, "SpatialSource: a range of \(range) m; it must be 1…10,000")
        let numbers = SourceNumbers(rendering, position)
        x = Parameter(sharing: numbers.x)
        y = Parameter(sharing: numbers.y)
        z = Parameter(sharing: numbers.z)
        velocityX = Parameter(sharing: numbers.velocityX)
        velocityY = Parameter(sharing: numbers.velocityY)
        velocityZ = Parameter(sharing: numbers.velocityZ)
        yaw = Parameter(sharing: numbers.yaw)
        pitch = Parameter(sharing: numbers.pitch)
        coneInner = Parameter(sharing: numbers.coneInner)
        coneOuter = Parameter(sharing: numbers.coneOuter)
        coneLevel = Parameter(sharing: numbers.coneLevel)
        minimumDistance = Parameter(sharing: numbers.minimumDistance)
        maximumDistance = Parameter(sharing: numbers.maximumDistance)
        rollOff = Parameter(sharing: numbers.rollOff)
        occlusion = Parameter(sharing: numbers.occlusion)
        obstruction = Parameter(sharing: numbers.obstruction)
        send = Parameter(sharing: numbers.send)
        doppler = Parameter(sharing: numbers.doppler)
        airAbsorption = Parameter(sharing: numbers.airAbsorption)
        model = Parameter(sharing: numbers.model)
        kind = Parameter(sharing: numbers.kind)
        taps = Parameter(sharing: numbers.taps)
        relative = Switch(sharing: numbers.relative)
        voice = SpatialVoice(generator, numbers: numbers, range: range)
        strip = MixerSource(placed: voice)
    }

    /// The module that is heard.
    public var generator: any Module { voice.generator }

    /// The place. Its three numbers are set one after the other: in a transaction they are seen together.
    public var position: SpatialPoint {
        get { SpatialPoint(x.value, y.value, z.value) }
        set { (x.value, y.value, z.value) = (newValue.x, newValue.y, newValue.z) }
    }

    /// The velocity, by which the source goes on from the place that was set. Doppler's formula holds until it comes nearer at 0.9 of
    /// the speed of sound: see ``doppler``.
    public var velocity: SpatialPoint {
        get { SpatialPoint(velocityX.value, velocityY.value, velocityZ.value) }
        set { (velocityX.value, velocityY.value, velocityZ.value) = (newValue.x, newValue.y, newValue.z) }
    }

    /// Indicates whether ``position`` and ``velocity`` count from the listener, in the axes of the head: for things that the
    /// listener carries or wears.
    public var isRelative: Bool {
        get { relative.isOn }
        set { relative.isOn = newValue }
    }

    /// Turns the cone, or the sound field, by a direction in the place of ``yaw`` and ``pitch``. A direction of length 0, or of values
    /// that are no numbers, changes nothing.
    ///
    /// - Parameter forward: The direction in which the source sounds, of any length.
    public func look(_ forward: SpatialPoint) {
        let isSteep = abs(forward.y) > abs(forward.x) + abs(forward.z)
        let up = isSteep ? SpatialPoint(0, 0, 1) : SpatialPoint(0, 1, 0)
        guard let angles = SpatialTurn.angles(forward: forward, up: up) else { return }
        (yaw.value, pitch.value) = (angles.0, angles.1)
    }

    /// The way in which the sound gets softer with its distance: by default inverse.
    public var distanceModel: DistanceModel {
        get { DistanceModel(rawValue: Int(model.value)) ?? .inverse }
        set { model.value = Float(newValue.rawValue) }
    }

    /// The way in which the sound gets its direction. A change fades in 1024 frames.
    public var rendering: SpatialRendering {
        get { SpatialRendering(kind: kind.value, taps: taps.value) }
        set {
            let numbers = newValue.numbers
            (taps.value, kind.value) = (numbers.taps, numbers.kind)
        }
    }

    /// The environment in which the source is, or which it is leaving.
    public var environment: Environment? { strip.mixer?.owner as? Environment }

    /// The parameters by name. Those named `distanceModel` (0…3) and `rendering` (0…4) are the numbers of their cases in order,
    /// and `taps` are those of a measured head.
    public var parameters: [ParameterReference] {
        strip.parameters.filter { $0.name != "pan" } + [
            x.named("x"), y.named("y"), z.named("z"), velocityX.named("velocityX"), velocityY.named("velocityY"),
            velocityZ.named("velocityZ"), yaw.named("yaw"), pitch.named("pitch"), coneInner.named("coneInner"),
            coneOuter.named("coneOuter"), coneLevel.named("coneLevel"), minimumDistance.named("minimumDistance"),
            maximumDistance.named("maximumDistance"), rollOff.named("rollOff"), occlusion.named("occlusion"),
            obstruction.named("obstruction"), send.named("send"), doppler.named("doppler"),
            airAbsorption.named("airAbsorption"), model.named("distanceModel"), kind.named("rendering"),
            taps.named("taps"), relative.named("relative"),
        ]
    }
}

/// The numbers of a source, as its voice reads them.
struct SourceNumbers: ~Copyable, Sendable {
    let x, y, z, velocityX, velocityY, velocityZ, yaw, pitch: Parameter
    let coneInner, coneOuter, coneLevel, minimumDistance, maximumDistance, rollOff: Parameter
    let occlusion, obstruction, send, doppler, airAbsorption: Parameter
    let model, kind, taps: Parameter
    let relative: Switch
    /// The number of times that one of them was set.
    let changes: ChangeCount

    /// Creates references to the same numbers.
    init(sharing other: borrowing SourceNumbers) {
        x = Parameter(sharing: other.x)
        y = Parameter(sharing: other.y)
        z = Parameter(sharing: other.z)
        velocityX = Parameter(sharing: other.velocityX)
        velocityY = Parameter(sharing: other.velocityY)
        velocityZ = Parameter(sharing: other.velocityZ)
        yaw = Parameter(sharing: other.yaw)
        pitch = Parameter(sharing: other.pitch)
        coneInner = Parameter(sharing: other.coneInner)
        coneOuter = Parameter(sharing: other.coneOuter)
        coneLevel = Parameter(sharing: other.coneLevel)
        minimumDistance = Parameter(sharing: other.minimumDistance)
        maximumDistance = Parameter(sharing: other.maximumDistance)
        rollOff = Parameter(sharing: other.rollOff)
        occlusion = Parameter(sharing: other.occlusion)
        obstruction = Parameter(sharing: other.obstruction)
        send = Parameter(sharing: other.send)
        doppler = Parameter(sharing: other.doppler)
        airAbsorption = Parameter(sharing: other.airAbsorption)
        model = Parameter(sharing: other.model)
        kind = Parameter(sharing: other.kind)
        taps = Parameter(sharing: other.taps)
        relative = Switch(sharing: other.relative)
        changes = ChangeCount(sharing: other.changes)
    }

    init(_ rendering: SpatialRendering, _ position: SpatialPoint) {
        func number(_ value: Float, _ range: ClosedRange<Float>, _ unit: Parameter.Unit = .none) -> Parameter {
            Parameter(value.isFinite ? value : 0, in: range, unit: unit, glide: .none)
        }
        x = number(position.x, -1e6...1e6)
        y = number(position.y, -1e6...1e6)
        z = number(position.z, -1e6...1e6)
        velocityX = number(0, -1_000...1_000)
        velocityY = number(0, -1_000...1_000)
        velocityZ = number(0, -1_000...1_000)
        yaw = number(0, -360...360)
        pitch = number(0, -360...360)
        coneInner = number(360, 0...360)
        coneOuter = number(360, 0...360)
        coneLevel = number(0, 0...1)
        minimumDistance = number(1, 0.01...1e6)
        maximumDistance = number(1e6, 0.01...1e6)
        rollOff = number(1, 0...100)
        occlusion = number(0, -100...0, .decibels)
        obstruction = number(0, -100...0, .decibels)
        send = number(0, 0...4)
        doppler = number(1, 0...10)
        airAbsorption = number(0, 0...10)
        model = number(0, 0...3)
        let numbers = rendering.numbers
        kind = number(numbers.kind, 0...4)
        taps = number(numbers.taps, 8...256)
        relative = Switch()
        changes = ChangeCount()
        countChanges()
    }

    private func countChanges() {
        x.join(changes)
        y.join(changes)
        z.join(changes)
        velocityX.join(changes)
        velocityY.join(changes)
        velocityZ.join(changes)
        yaw.join(changes)
        pitch.join(changes)
        coneInner.join(changes)
        coneOuter.join(changes)
        coneLevel.join(changes)
        minimumDistance.join(changes)
        maximumDistance.join(changes)
        rollOff.join(changes)
        occlusion.join(changes)
        obstruction.join(changes)
        send.join(changes)
        doppler.join(changes)
        airAbsorption.join(changes)
        model.join(changes)
        kind.join(changes)
        taps.join(changes)
        relative.join(changes)
    }
}
