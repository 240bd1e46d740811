/// The way in which a file keeps its samples: the container, the encoding, and the quality, if that can be chosen.
///
///     try AudioFileWriter(path: "take.wav", format: .wav(.int24), sampleRate: 48_000, channels: 2)
///     AudioFileFormat(path: "take.flac")!                 // .flac(.int24): by the extension
///     AudioFileFormat.mp3().isAvailable                   // asks the library of this machine
///
/// Threads: control.
public struct AudioFileFormat: Sendable, Hashable {
    /// The containers that hold samples.
    ///
    /// Threads: control.
    public enum Container: Sendable, Hashable {
        /// RIFF, which becomes RF64 when it grows past 4 GB; also read: RIFX, W64.
        case wav
        /// AIFF for integers, AIFC for floats. It ends at 4 GB.
        case aiff
        /// Apple's Core Audio Format. It has no limit.
        case caf
        /// FLAC: a half to two thirds of the size, without loss. Up to 8 channels.
        case flac
        /// Ogg, for Vorbis and Opus.
        case ogg
        /// A bare stream of MPEG frames.
        case mpeg
        /// Another one, which can only be read, by the library's name for it.
        case other(String)
    }

    /// The encodings of samples.
    ///
    /// Threads: control.
    public enum Encoding: Sendable, Hashable {
        /// 8-bit integers; only read.
        case int8
        /// 16-bit integers: 98 dB.
        case int16
        /// 24-bit integers: 146 dB, more than a converter has.
        case int24
        /// 32-bit integers. A float sample has 24 bits of precision.
        case int32
        /// The samples as they are in memory: nothing is clipped or rounded.
        case float32
        /// 64-bit floats; only read.
        case float64
        /// Ogg Vorbis.
        case vorbis
        /// Opus: at 8, 12, 16, 24 or 48 kHz.
        case opus
        /// MPEG layer III: one or two channels, up to 48 kHz.
        case mp3
        /// Another one, which can only be read, by the library's name for it.
        case other(String)
    }

    /// The container that holds the samples.
    public let container: Container
    /// The encoding of the samples.
    public let encoding: Encoding
    /// The quality of a lossy encoding, from 0 (small) to 1 (good); `nil` is the encoder's own choice.
    public let quality: Double?

    init(_ container: Container, _ encoding: Encoding, quality: Double? = nil) {
        self.container = container
        self.encoding = encoding
        self.quality = quality.map { $0.isNaN ? 0 : min(1, max(0, $0)) }
    }

    /// Returns the format WAV with 16, 24 or 32-bit integers, or floats.
    public static func wav(_ encoding: Encoding = .float32) -> Self { Self(.wav, encoding) }
    /// Returns the format AIFF with 16, 24 or 32-bit integers, or floats.
    public static func aiff(_ encoding: Encoding = .int24) -> Self { Self(.aiff, encoding) }
    /// Returns the format CAF with 16, 24 or 32-bit integers, or floats.
    public static func caf(_ encoding: Encoding = .float32) -> Self { Self(.caf, encoding) }
    /// Returns the format FLAC with 16 or 24-bit integers.
    public static func flac(_ encoding: Encoding = .int24) -> Self { Self(.flac, encoding) }
    /// Ogg Vorbis.
    public static func oggVorbis(quality: Double? = nil) -> Self { Self(.ogg, .vorbis, quality: quality) }
    /// Returns the format Ogg Opus.
    public static func opus(quality: Double? = nil) -> Self { Self(.ogg, .opus, quality: quality) }
    /// Returns the format MP3.
    public static func mp3(quality: Double? = nil) -> Self { Self(.mpeg, .mp3, quality: quality) }

    /// Creates the format that a file's extension stands for; `nil` if it stands for none that can be written.
    public init?(path: String) {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return nil }
        switch name[name.index(after: dot)...].lowercased() {
        case "wav", "wave", "rf64": self = .wav()
        case "aif", "aiff": self = .aiff()
        case "aifc": self = .aiff(.float32)
        case "caf": self = .caf()
        case "flac": self = .flac()
        case "ogg", "oga": self = .oggVorbis()
        case "opus": self = .opus()
        case "mp3": self = .mp3()
        default: return nil
        }
    }

    /// The extension of files in this format.
    public var fileExtension: String? {
        switch (container, encoding) {
        case (.wav, _): "wav"
        case (.aiff, .float32): "aifc"
        case (.aiff, _): "aiff"
        case (.caf, _): "caf"
        case (.flac, _): "flac"
        case (.ogg, .opus): "opus"
        case (.ogg, _): "ogg"
        case (.mpeg, _): "mp3"
        case (.other, _): nil
        }
    }

    /// Indicates whether files of this format can be written here. It asks the library on this machine, with one
    /// channel at 48 kHz.
    public var isAvailable: Bool { refusal(sampleRate: 48_000, channels: 1) == nil }

    /// Returns the reason why such a file cannot be written here, in the library's words; `nil` if it can.
    public func refusal(sampleRate: Double, channels: Int) -> String? {
        guard channels >= 1 && channels <= 64 else { return "it would have \(channels) channels; choose 1 to 64" }
        guard sampleRate >= 1 && sampleRate <= 1_000_000 && sampleRate == sampleRate.rounded() else {
            return "it would have a sample rate of \(sampleRate) Hz; choose a whole number up to 1,000,000"
        }
        guard let code = libraryCode else {
            return "nothing here writes \(self); choose WAV, AIFF, CAF, FLAC, Ogg, Opus or MP3"
        }
        if container == .wav { return nil }
        return SoundFile.refusal(code: code, sampleRate: sampleRate, channels: channels).map {
            "\(self) cannot have \(channels) channels at \(Int(sampleRate)) Hz (\($0)); "
                + "choose another rate, number of channels or format"
        }
    }
}

extension AudioFileFormat: CustomStringConvertible {
    /// A text such as "WAV, 24-bit integers".
    public var description: String {
        let holder =
            switch container {
            case .wav: "WAV"
            case .aiff: "AIFF"
            case .caf: "CAF"
            case .flac: "FLAC"
            case .ogg: "Ogg"
            case .mpeg: "MPEG"
            case .other(let name): name
            }
        let content =
            switch encoding {
            case .int8: ", 8-bit integers"
            case .int16: ", 16-bit integers"
            case .int24: ", 24-bit integers"
            case .int32: ", 32-bit integers"
            case .float32: ", 32-bit floats"
            case .float64: ", 64-bit floats"
            case .vorbis: " Vorbis"
            case .opus: " Opus"
            case .mp3: " layer III"
            case .other(let name): ", \(name)"
            }
        return holder + content
    }
}

extension AudioFileFormat {
    /// Bits of an integer encoding that is written; `nil` for all others.
    var integerBits: Int? {
        switch encoding {
        case .int16: 16
        case .int24: 24
        case .int32: 32
        default: nil
        }
    }

    /// Indicates whether the library can bring the header up to date while it writes. It would write those of the
    /// others twice.
    var hasLivingHeader: Bool { container == .aiff || container == .caf }

    /// Indicates whether samples are lost, so that they must be clean: encoders take no number that is none.
    var isLossy: Bool { encoding == .vorbis || encoding == .opus || encoding == .mp3 }
}
