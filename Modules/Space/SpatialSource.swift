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
/// Any generator can be a source, and an `AudioInput` too. A source is one point, which plays the mean of its channels, until it gets
/// a ``width``: then a source of two channels is two points, its left channel to the left of its place and its right channel to the
/// right. ``SpatialRendering/passThrough`` and ``SpatialRendering/soundField`` use all channels apart.
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
/// All settings belong to the source and go with it into another environment, and into a `Mixer`, where it plays as it is, without a
/// place: `mixer.append(bee)`.
///
/// Threads: control.
public final class SpatialSource: Sendable {
    /// The volume, pan, mute and solo, which go with the source into any environment or mixer. The pan counts in a mixer alone.
    public let strip: MixerSource
    /// The place to the right in metres: -1,000,000…1,000,000.
    public var x: Parameter { _read { yield placed.numbers.x } }
    /// The height in metres: -1,000,000…1,000,000.
    public var y: Parameter { _read { yield placed.numbers.y } }
    /// The place backwards in metres: -1,000,000…1,000,000.
    public var z: Parameter { _read { yield placed.numbers.z } }
    /// The angle in degrees between the two channels of a stereo source, as they are seen from the listener: 0…180. Each channel has
    /// its own direction, half of that to the left or the right of the source's place around the vertical axis of the room (of the
    /// head, if the source ``isRelative``), in the same distance, with half of the source's level. At 0 the source plays the mean of its
    /// channels. A change arrives in 50 ms as that of a place does; from 0 on it begins when the sound arrives that has set out since. It does not count for sources of one channel or of more than
    /// two, and for the renderings that use all channels apart.
    public var width: Parameter { _read { yield placed.numbers.width } }
    /// The velocity to the right in metres per second: -1,000…1,000.
    public var velocityX: Parameter { _read { yield placed.numbers.velocityX } }
    /// The velocity upwards in metres per second: -1,000…1,000.
    public var velocityY: Parameter { _read { yield placed.numbers.velocityY } }
    /// The velocity backwards in metres per second: -1,000…1,000.
    public var velocityZ: Parameter { _read { yield placed.numbers.velocityZ } }
    /// The direction of the cone in degrees, to the right: -360…360. 0 is to -z.
    public var yaw: Parameter { _read { yield placed.numbers.yaw } }
    /// The direction of the cone in degrees, upwards: -360…360.
    public var pitch: Parameter { _read { yield placed.numbers.pitch } }
    /// The angle in degrees inside of which the source has its full level, from edge to edge: 0…360.
    public var coneInner: Parameter { _read { yield placed.numbers.coneInner } }
    /// The angle in degrees outside of which it has the outer level: 0…360. In between the level goes in a straight line.
    public var coneOuter: Parameter { _read { yield placed.numbers.coneOuter } }
    /// The level outside of the cone: 0…1.
    public var coneLevel: Parameter { _read { yield placed.numbers.coneLevel } }
    /// The distance in metres nearer than which nothing gets louder: 0.01…1,000,000.
    public var minimumDistance: Parameter { _read { yield placed.numbers.minimumDistance } }
    /// The distance in metres beyond which nothing gets softer: 0.01…1,000,000.
    public var maximumDistance: Parameter { _read { yield placed.numbers.maximumDistance } }
    /// The strength of the distance: 0…100. ``distanceModel`` says how it counts.
    public var rollOff: Parameter { _read { yield placed.numbers.rollOff } }
    /// The loss by a wall between two rooms, in dB: -100…0. The direct sound and the send lose a third of it at low frequencies, and
    /// all of it at 5 kHz.
    public var occlusion: Parameter { _read { yield placed.numbers.occlusion } }
    /// The loss by a thing in the way, in dB: -100…0. The direct sound loses a third of it at low frequencies, all of it at 5 kHz.
    public var obstruction: Parameter { _read { yield placed.numbers.obstruction } }
    /// The share that goes to the environment's reverb: 0…4. It falls with the square root of the distance's level.
    public var send: Parameter { _read { yield placed.numbers.send } }
    /// The strength of the Doppler effect: 0 (none; the sound needs no time) to 10. If the speed of a source towards the listener,
    /// times this, is above 0.9 of the speed of sound, the source keeps its pitch: its sound fades from delay to delay.
    public var doppler: Parameter { _read { yield placed.numbers.doppler } }
    /// The strength with which the air takes high frequencies: 0 (none) to 10. At 1 each metre takes 0.05 dB at 5 kHz.
    public var airAbsorption: Parameter { _read { yield placed.numbers.airAbsorption } }

    let placed: PlacedGenerator

    /// Creates a source at the origin.
    ///
    /// - Parameters:
    ///   - generator: The module to hear: a generator, or another module that takes nothing from the stack and pushes one
    ///     buffer. Any other is silent, and a `Fault`.
    ///   - rendering: The way in which it gets its direction.
    ///   - position: Its place.
    ///   - range: The longest way that sound goes to the listener, in metres, for which there is memory, 1…10,000. Beyond it
    ///     Doppler's effect ends. Each metre takes 1.2 kB at 48 kHz, half of it for the right channel.
    /// - Precondition: The range is in range.
    public init(
        _ generator: any Module, rendering: SpatialRendering = .equalPower, position: SpatialPoint = SpatialPoint(),
        range: Double = 150
    ) {
        demand(range >= 1 && range <= 10_000, "SpatialSource: a range of \(range) m; it must be 1…10,000")
        placed = PlacedGenerator(generator, numbers: SourceNumbers(rendering, position), range: range)
        strip = MixerSource(placed: placed, pan: placed.numbers.pan)
    }

    /// The module that is heard.
    public var generator: any Module { placed.generator }

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
        get { placed.numbers.relative.isOn }
        set { placed.numbers.relative.isOn = newValue }
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
        get { DistanceModel(rawValue: Int(placed.numbers.model.value)) ?? .inverse }
        set { placed.numbers.model.value = Float(newValue.rawValue) }
    }

    /// The way in which the sound gets its direction. A change fades in 1024 frames.
    public var rendering: SpatialRendering {
        get { SpatialRendering(kind: placed.numbers.kind.value, taps: placed.numbers.taps.value) }
        set {
            let numbers = newValue.numbers
            (placed.numbers.taps.value, placed.numbers.kind.value) = (numbers.taps, numbers.kind)
        }
    }

    /// The environment in which the source is, or which it is leaving.
    public var environment: Environment? { strip.mixer?.owner as? Environment }

    /// The parameters by name. Those named `distanceModel` (0…3) and `rendering` (0…4) are the numbers of their cases in order,
    /// and `taps` are those of a measured head.
    public var parameters: [ParameterReference] {
        strip.parameters + placed.numbers.parameters
    }
}

/// The numbers of a source, as the render thread reads them.
struct SourceNumbers: ~Copyable, Sendable {
    let x, y, z, velocityX, velocityY, velocityZ, yaw, pitch, width, pan: Parameter
    let coneInner, coneOuter, coneLevel, minimumDistance, maximumDistance, rollOff: Parameter
    let occlusion, obstruction, send, doppler, airAbsorption: Parameter
    let model, kind, taps: Parameter
    let relative: Switch
    /// The number of times that one of them was set.
    let changes = ChangeCount()

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
        width = number(0, 0...180)
        pan = number(0, -1...1)
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
        changes.count(parameters + [pan.named("pan")])
    }

    /// The numbers by name.
    var parameters: [ParameterReference] {
        [
            x.named("x"), y.named("y"), z.named("z"), velocityX.named("velocityX"), velocityY.named("velocityY"),
            velocityZ.named("velocityZ"), yaw.named("yaw"), pitch.named("pitch"), width.named("width"),
            coneInner.named("coneInner"), coneOuter.named("coneOuter"), coneLevel.named("coneLevel"),
            minimumDistance.named("minimumDistance"),
            maximumDistance.named("maximumDistance"), rollOff.named("rollOff"), occlusion.named("occlusion"),
            obstruction.named("obstruction"), send.named("send"), doppler.named("doppler"),
            airAbsorption.named("airAbsorption"), model.named("distanceModel"), kind.named("rendering"),
            taps.named("taps"), relative.named("relative"),
        ]
    }
}
