internal import RenderCore

/// A point in a room, or a velocity: in metres, or metres per second.
///
/// With the listener at the origin, looking ahead, x goes to the right, y up and z back, as with OpenAL and Apple's
/// environment node.
///
/// Threads: control.
public struct SpatialPoint: Sendable, Hashable {
    /// To the right.
    public var x: Float
    /// Up.
    public var y: Float
    /// Back: what is ahead is less than 0.
    public var z: Float

    /// Creates a point.
    ///
    /// - Parameters:
    ///   - x: To the right.
    ///   - y: Up.
    ///   - z: Back: what is ahead is less than 0.
    public init(_ x: Float = 0, _ y: Float = 0, _ z: Float = 0) { (self.x, self.y, self.z) = (x, y, z) }
}

/// The way in which a source gets its direction.
///
/// Threads: any.
public enum SpatialRendering: Sendable, Hashable {
    /// Two levels with constant power: of left and right in stereo, of the nearest two loudspeakers in a ring.
    case equalPower
    /// The delays and the shadow of a sphere, for headphones. It needs a stereo output; in others it is equal power.
    case sphericalHead
    /// The responses of a head and its ears (`HRTF`), for headphones, with 8…256 taps, in steps of 8. It needs a stereo
    /// output, in others it is equal power; without responses it is a spherical head. The taps are those at 48 kHz: at another
    /// sample rate the filters last as long, with at most 256 taps.
    case hrtf(taps: Int = 64)
    /// The sound as it is, wherever the source is: channel to channel, mono to all.
    case passThrough
    /// First-order ambisonics all around the listener, wherever the source is: four channels in AmbiX order (W, Y, Z, X with
    /// SN3D levels; those that are missing are silent). The head turns inside of it, and ``SpatialSource/yaw`` and
    /// ``SpatialSource/pitch`` turn it. In stereo it is heard by two cardioids to the left and to the right.
    case soundField

    /// The number of the way in which it is rendered, and its taps.
    var numbers: (kind: Float, taps: Float) {
        switch self {
        case .equalPower: (0, 64)
        case .sphericalHead: (1, 64)
        case .hrtf(let taps): (2, Float(min(max(taps, 8), 256) / 8 * 8))
        case .passThrough: (3, 64)
        case .soundField: (4, 64)
        }
    }

    init(kind: Float, taps: Float) {
        switch kind {
        case 1: self = .sphericalHead
        case 2: self = .hrtf(taps: Int(taps))
        case 3: self = .passThrough
        case 4: self = .soundField
        default: self = .equalPower
        }
    }
}

/// The channels of an environment.
///
/// Threads: any.
public enum SpatialLayout: Sendable, Hashable, CaseIterable, BitwiseCopyable {
    /// Left and right: headphones or two loudspeakers.
    case stereo
    /// Front left and right, back left and right, at 45 and 135 degrees.
    case quad
    /// Front left and right (30 degrees), centre, low frequencies (silent), surround left and right (110 degrees).
    case surround51
    /// Eight loudspeakers, with sides at 90 degrees and backs at 150: front left and right, centre, low frequencies (silent), back left
    /// and right, side left and right.
    case surround71
    /// First-order ambisonics in AmbiX order: W, Y (left), Z (up), X (ahead), with SN3D levels.
    case ambisonics

    /// The number of channels.
    public var channels: Int {
        @_noLocks @_noAllocation get {
            switch self {
            case .stereo: 2
            case .quad, .ambisonics: 4
            case .surround51: 6
            case .surround71: 8
            }
        }
    }

    /// Indicates whether it is stereo, the one layout with two channels.
    var isStereo: Bool { @_noLocks @_noAllocation get { channels == 2 } }

    /// The channels of the reverb: it is in the first two, or in the ambisonic sound that has no direction.
    var wetChannels: Int { @_noLocks @_noAllocation get { if case .ambisonics = self { 1 } else { 2 } } }

    /// The channels of loudspeakers with their directions to the right in degrees.
    private var speakers: [(channel: Int, azimuth: Double)] {
        switch self {
        case .quad: [(0, -45), (1, 45), (2, -135), (3, 135)]
        case .surround51: [(0, -30), (1, 30), (2, 0), (4, -110), (5, 110)]
        case .surround71: [(0, -30), (1, 30), (2, 0), (4, -150), (5, 150), (6, -90), (7, 90)]
        case .stereo, .ambisonics: [(0, -120), (1, 0), (2, 120)]
        }
    }

    var ring: SpeakerRing { SpeakerRing(speakers) }
}

/// The rings of all layouts that have one.
struct SpeakerRings: Sendable, BitwiseCopyable {
    let quad = SpatialLayout.quad.ring
    let surround51 = SpatialLayout.surround51.ring
    let surround71 = SpatialLayout.surround71.ring
}
