internal import CSndFile
internal import Glibc
internal import RenderCore

/// A decoder that takes the bytes of a stream and gives frames.
protocol StreamDecoder: AnyObject {
    /// The sound that it gives now.
    var info: AudioStreamInfo { get }
    /// Decodes frames, whose channels take turns.
    ///
    /// - Returns: The number of frames: 0 where this sound ends.
    func read(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int
    /// Goes on with another sound behind the one that has ended. Returns whether there is one.
    func goOn() -> Bool
}

/// The information that a stream has about the sound that it is at.
///
/// Threads: control.
public struct AudioStreamInfo: Sendable, Hashable, CustomStringConvertible {
    /// The name of the stream.
    public let name: String
    /// The format of the samples.
    public let format: AudioFileFormat
    /// Frames per second of the stream.
    public let sampleRate: Double
    /// The number of channels of the stream.
    public let channelCount: Int
    /// The texts in the stream: title, artist and others.
    public let tags: [AudioFileTag: String]

    /// The information in one line.
    public var description: String {
        let channels = channelCount == 1 ? "1 channel" : "\(channelCount) channels"
        let words = [tags[.artist], tags[.title]].compactMap { $0?.shown }
        return "\(name): \(format), \(channels), \(Int64(sampleRate)) Hz"
            + (words.isEmpty ? "" : " (\(words.joined(separator: ", ")))")
    }
}

/// Finds out from the first bytes what a stream is.
enum StreamKind {
    case library, ogg, mpeg, foreign(String)

    /// Looks at the bytes, and passes over what is before the sound.
    init(_ input: StreamInput) throws(AudioFileError) {
        // A long tag holds pictures. The decoder reads a short one.
        while let tag = StreamKind.tagLength(input), tag > 1 << 20 { input.skip(tag) }
        let tag = StreamKind.tagLength(input) ?? 0
        let head = Array(input.peek(tag + 12).dropFirst(tag))
        if head.isEmpty {
            if let failure = input.failure { throw failure }
            throw AudioFileError(
                path: input.name, reason: .empty, cannot: "read",
                explanation: "nothing came; the sender closed it without a byte of sound")
        }
        let word = String(decoding: head.prefix(4), as: UTF8.self)
        if word == "OggS" || word == "fLaC" { input.skip(tag) }
        switch word {
        case "OggS": self = .ogg
        case "fLaC", "caff", ".snd", "dns.", "riff": self = .library
        case "RIFF", "RIFX", "RF64": self = .library
        case "FORM" where String(decoding: head.dropFirst(8).prefix(3), as: UTF8.self) == "AIF": self = .library
        default:
            if head.count > 8 && head[4..<8].elementsEqual("ftyp".utf8) {
                self = .foreign("M4A")
            } else if head.count > 1 && head[0] == 0xFF && head[1] & 0xF6 == 0xF0 {
                self = .foreign("AAC")
            } else {
                guard StreamKind.findFrames(input, behind: tag) else {
                    throw input.failure
                        ?? SoundFile.refusal(path: input.name, number: Int32(SF_ERR_UNRECOGNISED_FORMAT))
                }
                self = .mpeg
            }
        }
    }

    /// Returns the length of an ID3 tag at the beginning.
    private static func tagLength(_ input: StreamInput) -> Int? {
        let head = Array(input.peek(10))
        guard head.count == 10, head.starts(with: "ID3".utf8) else { return nil }
        return 10 + head[6...].reduce(0) { $0 << 7 | Int($1 & 127) } + (head[5] & 16 != 0 ? 10 : 0)
    }

    /// Looks for two frames of MPEG layer III that follow each other: who listens in later begins within one.
    private static func findFrames(_ input: StreamInput, behind tag: Int) -> Bool {
        var (place, asked) = (tag, tag)
        while place < tag + 65_536 {
            asked = max(asked + 4_096, place + 4_096)
            let bytes = input.peek(asked)
            let isAll = bytes.count < asked
            func header(_ place: Int) -> MPEGFrames.Header? {
                guard place + 4 <= bytes.count else { return nil }
                let first = bytes.startIndex + place
                return MPEGFrames.Header(bytes[first..<first + 4].reduce(0) { $0 << 8 | UInt32($1) })
            }
            while place + 4 <= bytes.count && (isAll || place + 2_048 <= bytes.count) {
                if let first = header(place), header(place + Int(first.length))?.isLike(first) ?? false { return true }
                place += 1
            }
            if isAll { return false }
        }
        return false
    }
}

/// A stream that libsndfile decodes: all but MP3, for which the library wants to know how long the file is.
@safe final class LibraryStream: StreamDecoder {
    private let input: StreamInput
    private let handle: OpaquePointer
    let info: AudioStreamInfo
    /// Frames that came behind the last byte.
    private var surplus = 0

    init(_ input: StreamInput) throws(AudioFileError) {
        var info = SF_INFO()
        var callbacks = LibraryStream.callbacks()
        input.isPatient = true
        let address = unsafe Unmanaged.passUnretained(input).toOpaque()
        guard let handle = unsafe sf_open_virtual(&callbacks, Int32(SFM_READ), &info, address) else {
            throw input.failure ?? SoundFile.refusal(path: input.name, number: sf_error(nil))
        }
        unsafe self.handle = handle
        self.input = input
        let format = AudioFileFormat(libraryCode: info.format)
        guard LibraryStream.canStream(info.format) else {
            unsafe sf_close(handle)
            throw AudioFileError(
                path: input.name, reason: .unsuitableFormat, cannot: "read",
                explanation:
                    "it is \(format), whose end is known from a file alone; read it as a file, or send MP3, Ogg, FLAC "
                    + "or WAV with plain samples")
        }
        self.info = unsafe AudioStreamInfo(
            name: input.name, format: format, sampleRate: Double(info.samplerate), channelCount: Int(info.channels),
            tags: SoundFile.tags(of: handle))
        // These decoders take what has come: nobody waits for bytes that are not needed yet.
        input.isPatient = format.container != .ogg && format.container != .flac
    }

    deinit { unsafe sf_close(handle) }

    func read(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int {
        let count = unsafe max(0, Int(sf_readf_float(handle, room, Int64(frames))))
        if !input.isExhausted { return count }
        // A decoder that goes on for minutes without a byte is lost.
        surplus += count
        return surplus < 1 << 24 ? count : 0
    }

    /// Returns whether the library knows the end of such a sound from the bytes alone: of blocks that are coded it makes
    /// silence for as long as it is asked.
    private static func canStream(_ code: Int32) -> Bool {
        let containers = [
            SF_FORMAT_WAV, SF_FORMAT_WAVEX, SF_FORMAT_RF64, SF_FORMAT_W64, SF_FORMAT_AIFF, SF_FORMAT_CAF, SF_FORMAT_AU,
            SF_FORMAT_FLAC, SF_FORMAT_OGG,
        ]
        let encodings = [
            SF_FORMAT_PCM_S8, SF_FORMAT_PCM_U8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24, SF_FORMAT_PCM_32, SF_FORMAT_FLOAT,
            SF_FORMAT_DOUBLE, SF_FORMAT_ULAW, SF_FORMAT_ALAW, SF_FORMAT_VORBIS, SF_FORMAT_OPUS,
        ]
        return containers.contains(Int(code) & SF_FORMAT_TYPEMASK)
            && encodings.contains(Int(code) & SF_FORMAT_SUBMASK)
    }

    func goOn() -> Bool { false }

    private static func callbacks() -> SF_VIRTUAL_IO {
        unsafe SF_VIRTUAL_IO(
            // Nobody knows it; the library reads to the end.
            get_filelen: { _ in LibraryStream.length },
            seek: { unsafe LibraryStream.at($2).seek(by: $0, from: $1) },
            read: { unsafe Int64(LibraryStream.at($2).read(into: .init(start: $0, count: Int(max(0, $1))))) },
            write: { _, _, _ in 0 },
            // Behind the last byte, where it reads on, it is told that this is the end.
            tell: { unsafe LibraryStream.at($0).isLost ? LibraryStream.length : LibraryStream.at($0).position })
    }

    private static var length: Int64 { 1 << 52 }

    private static func at(_ address: UnsafeMutableRawPointer?) -> StreamInput {
        unsafe Unmanaged<StreamInput>.fromOpaque(address!).takeUnretainedValue()
    }
}
