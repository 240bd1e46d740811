public import RenderCore

/// The listener in an ``Environment``: its place, its velocity, and the turn of its head.
///
///     environment.listener.position = SpatialPoint(0, 1.7, 3)
///     environment.listener.yaw.value = 90                 // to the right
///
/// The listener reaches a new place or turn within 50 ms, without a corner, as a ``SpatialSource`` does.
///
/// Threads: control.
public final class Listener: Sendable {
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
    /// The turn of the head in degrees, to the right: -360…360. 0 looks to -z.
    public let yaw: Parameter
    /// The nod of the head in degrees, upwards: -360…360.
    public let pitch: Parameter
    /// The tilt of the head in degrees, to the right: -360…360.
    public let roll: Parameter

    init() {
        func place() -> Parameter { Parameter(0, in: -1e6...1e6, glide: .none) }
        func angle() -> Parameter { Parameter(0, in: -360...360, glide: .none) }
        x = place()
        y = place()
        z = place()
        func speed() -> Parameter { Parameter(0, in: -1_000...1_000, glide: .none) }
        velocityX = speed()
        velocityY = speed()
        velocityZ = speed()
        yaw = angle()
        pitch = angle()
        roll = angle()
    }

    /// The place. Its three numbers are set one after the other: in a transaction they are seen together.
    public var position: SpatialPoint {
        get { SpatialPoint(x.value, y.value, z.value) }
        set { (x.value, y.value, z.value) = (newValue.x, newValue.y, newValue.z) }
    }

    /// The velocity, by which the listener goes on from the place that was set. It makes the pitch of all sources higher or lower,
    /// by Doppler's formula for a listener who moves.
    public var velocity: SpatialPoint {
        get { SpatialPoint(velocityX.value, velocityY.value, velocityZ.value) }
        set { (velocityX.value, velocityY.value, velocityZ.value) = (newValue.x, newValue.y, newValue.z) }
    }

    /// Turns the head by two directions instead of angles, which may have any length. Directions of length 0, along one line, or of
    /// values that are no numbers, change nothing.
    ///
    /// - Parameters:
    ///   - forward: The direction in which the listener looks.
    ///   - up: The direction of the top of the head.
    public func look(_ forward: SpatialPoint, up: SpatialPoint = SpatialPoint(0, 1, 0)) {
        guard let angles = SpatialTurn.angles(forward: forward, up: up) else { return }
        (yaw.value, pitch.value, roll.value) = angles
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [
            x.named("x"), y.named("y"), z.named("z"), velocityX.named("velocityX"), velocityY.named("velocityY"),
            velocityZ.named("velocityZ"), yaw.named("yaw"), pitch.named("pitch"), roll.named("roll"),
        ]
    }
}

/// A turn of a head: three directions of length 1.
struct SpatialTurn: Sendable, BitwiseCopyable {
    var right: SIMD4<Double>
    var up: SIMD4<Double>
    var forward: SIMD4<Double>

    /// Creates the turn of one who looks ahead.
    @_noLocks @_noAllocation
    init() { (right, up, forward) = (SIMD4(1, 0, 0, 0), SIMD4(0, 1, 0, 0), SIMD4(0, 0, -1, 0)) }

    /// Creates a turn of angles in degrees.
    @_noLocks @_noAllocation
    init(yaw: Float, pitch: Float, roll: Float) {
        let degree = Double.pi / 180
        let (sy, cy) = RenderMath.sincos(Double(yaw) * degree)
        let (sp, cp) = RenderMath.sincos(Double(pitch) * degree)
        let (sr, cr) = RenderMath.sincos(Double(roll) * degree)
        forward = SIMD4(sy * cp, sp, -cy * cp, 0)
        let side = SIMD4<Double>(cy, 0, sy, 0)
        let top = SIMD4<Double>(-sy * sp, cp, cy * sp, 0)
        right = side * cr - top * sr
        up = top * cr + side * sr
    }

    /// Returns the turn of a listener for whom all lies farther to the right by an angle in degrees, around the room's vertical axis.
    @_noLocks @_noAllocation
    func shifted(by angle: Float) -> SpatialTurn {
        if angle == 0 { return self }
        let (sine, cosine) = RenderMath.sincos(Double(angle) * (.pi / 180))
        func shifted(_ axis: SIMD4<Double>) -> SIMD4<Double> {
            SIMD4(axis.x * cosine + axis.z * sine, axis.y, axis.z * cosine - axis.x * sine, 0)
        }
        var turn = self
        (turn.right, turn.up, turn.forward) = (shifted(right), shifted(up), shifted(forward))
        return turn
    }

    /// Returns the direction in which a listener hears a point, who is at the origin: right, up and back.
    @_noLocks @_noAllocation
    func local(_ point: SIMD4<Double>) -> SIMD4<Double> {
        SIMD4(
            SpatialTurn.product(point, right), SpatialTurn.product(point, up), -SpatialTurn.product(point, forward), 0)
    }

    @_noLocks @_noAllocation
    static func product(_ a: SIMD4<Double>, _ b: SIMD4<Double>) -> Double { a.x * b.x + a.y * b.y + a.z * b.z }

    /// Returns yaw, pitch and roll in degrees; `nil` if the directions say nothing.
    static func angles(forward: SpatialPoint, up: SpatialPoint) -> (Float, Float, Float)? {
        var f = SIMD4<Double>(Double(forward.x), Double(forward.y), Double(forward.z), 0)
        var u = SIMD4<Double>(Double(up.x), Double(up.y), Double(up.z), 0)
        let length = product(f, f).squareRoot()
        guard length.isFinite, length > 1e-9 else { return nil }
        f /= length
        u -= f * product(u, f)
        let height = product(u, u).squareRoot()
        guard height.isFinite, height > 1e-9 else { return nil }
        u /= height
        func angle(_ sine: Double, _ cosine: Double) -> Double {
            let size = (sine * sine + cosine * cosine).squareRoot()
            if size < 1e-9 { return 0 }
            let angle = SphericalHead.arccosine(cosine / size)
            return (sine < 0 ? -angle : angle) * 180 / .pi
        }
        let yaw = angle(f.x, -f.z)
        let pitch = angle(f.y, (f.x * f.x + f.z * f.z).squareRoot())
        let flat = SpatialTurn(yaw: Float(yaw), pitch: Float(pitch), roll: 0)
        let roll = angle(product(u, flat.right), product(u, flat.up))
        return (Float(yaw), Float(pitch), Float(roll))
    }
}
