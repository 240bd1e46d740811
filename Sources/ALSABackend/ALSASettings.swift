internal import CALSA
internal import RenderCore
internal import Supply

/// The formats of samples in a device's memory.
///
/// Threads: control.
public enum ALSAFormat: Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Float samples of 32 bits: nothing is rounded or clipped.
    case float32
    /// Integers of 32 bits.
    case int32
    /// Integers of 24 bits in the lower three of four bytes.
    case int24
    /// Integers of 24 bits in three bytes.
    case int24Packed
    /// Integers of 16 bits.
    case int16

    /// A text for people.
    public var description: String {
        switch self {
        case .float32: "32-bit float"
        case .int32: "32-bit integers"
        case .int24: "24-bit integers in 4 bytes"
        case .int24Packed: "24-bit integers in 3 bytes"
        case .int16: "16-bit integers"
        }
    }

    /// Bytes of a sample.
    var byteCount: Int {
        switch self {
        case .float32, .int32, .int24: 4
        case .int24Packed: 3
        case .int16: 2
        }
    }

    var code: snd_pcm_format_t {
        switch self {
        case .float32: SND_PCM_FORMAT_FLOAT_LE
        case .int32: SND_PCM_FORMAT_S32_LE
        case .int24: SND_PCM_FORMAT_S24_LE
        case .int24Packed: SND_PCM_FORMAT_S24_3LE
        case .int16: SND_PCM_FORMAT_S16_LE
        }
    }
}

/// The ways by which samples get into a device's memory and out of it.
///
/// Threads: control.
public enum ALSAAccess: Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Samples are written into the device's own memory, all channels of a frame together.
    case mappedInterleaved
    /// Samples are written into the device's own memory, each channel by itself.
    case mappedPlanar
    /// The kernel copies samples, all channels of a frame together.
    case copiedInterleaved
    /// The kernel copies samples, each channel by itself.
    case copiedPlanar

    /// A text for people.
    public var description: String {
        switch self {
        case .mappedInterleaved: "mapped, interleaved"
        case .mappedPlanar: "mapped, a channel at a time"
        case .copiedInterleaved: "copied, interleaved"
        case .copiedPlanar: "copied, a channel at a time"
        }
    }

    var code: snd_pcm_access_t {
        switch self {
        case .mappedInterleaved: SND_PCM_ACCESS_MMAP_INTERLEAVED
        case .mappedPlanar: SND_PCM_ACCESS_MMAP_NONINTERLEAVED
        case .copiedInterleaved: SND_PCM_ACCESS_RW_INTERLEAVED
        case .copiedPlanar: SND_PCM_ACCESS_RW_NONINTERLEAVED
        }
    }

    var isMapped: Bool { self == .mappedInterleaved || self == .mappedPlanar }

    var isInterleaved: Bool { self == .mappedInterleaved || self == .copiedInterleaved }
}

/// The settings that a device has agreed to.
///
/// Threads: control.
public struct ALSAConfiguration: Sendable, Hashable, CustomStringConvertible {
    /// The name that it was opened by.
    public let device: String
    /// Frames per second.
    public let sampleRate: Double
    /// Channels of the device.
    public let channelCount: Int
    /// The format of the samples in its memory.
    public let format: ALSAFormat
    /// The way by which they get there.
    public let access: ALSAAccess
    /// Frames in a cycle.
    public let period: Int
    /// Frames in the device's memory.
    public let bufferSize: Int

    /// A line for a terminal.
    public var description: String {
        "\(device): \(sampleRate) Hz, \(channelCount) \(channelCount == 1 ? "channel" : "channels"), \(format), \(access), "
            + "periods of \(period) in a buffer of \(bufferSize) frames"
    }
}

/// The behaviour of an output when its device goes away.
///
/// Threads: control.
public enum ALSALossPolicy: Sendable, Hashable {
    /// The output waits for the device, and goes on when that is back.
    case wait
    /// The output goes on with another device until the first is back, and waits for either if that is gone too.
    case fallBack(to: String)
    /// The output stops.
    case stop
}

/// The settings that an output is made with.
struct ALSASettings: Sendable {
    var device: String?
    var inputDevice: String?
    var inputs: [AudioInput]
    /// Indicates whether inputs that join the renderer are recorded too, and the card for them where none records yet.
    var followsInputs = false
    var laterInputDevice: String?
    var rate: Double?
    var format: ALSAFormat?
    var accesses: [ALSAAccess] = ALSAAccess.allCases
    var period: Int
    var periods: Int
    var isDithered: Bool
    var priority: Int
    var lossPolicy: ALSALossPolicy
    var compensatesLatency: Bool
    /// The time that a device may stand still before it counts as gone, in nanoseconds.
    var patience: Int64 = 2_000_000_000
    /// Indicates whether a device that takes frames faster than any clock is made to wait.
    var isPaced = false
    /// Indicates whether the buffer of a device grows that moves by more frames at once than it holds.
    var growsBuffers = false
    /// Indicates whether the buffer is longer than the user wants, because it has grown.
    var hasGrown = false
    /// The places where devices that come and go are noticed.
    var watchedPlaces: [DeviceWatch.Place] = DeviceWatch.standardPlaces
    /// The names of the cards' devices.
    var deviceNames: @Sendable () -> Set<String> = { ALSADevice.hardwareNames }
    /// The time between two searches for a device that is gone, in nanoseconds, if nothing is noticed there.
    var searchInterval: Int64 = 250_000_000
    /// The clock by which host times are given.
    var now: @Sendable () -> Int64 = { HostClock.now }

    var midiName = "RenderStack"
    var midiInputs: [MIDIInput] = []
    var midiOutputs: [MIDIOutput] = []
    var midiConnect = ALSAMIDIConnect.none
    /// The function that makes the sequencer's client.
    var makeSequencer: @Sendable (ALSASettings) throws(SequencerFailure) -> any SequencerDevice = {
        settings throws(SequencerFailure) in
        try KernelSequencer(
            name: settings.midiName, inputs: settings.midiInputs.map(\.name), outputs: settings.midiOutputs.map(\.name))
    }

    var inputChannels: Int { min(64, inputs.reduce(0) { $0 + $1.channelCount }) }
}
