internal import DiskFiles

/// A WAV file that is being written: RIFF, or RF64 from 4 GB on, with a header that is right at any moment.
///
/// The library's own RF64 must be chosen before the first sample, is always of the extensible kind, which older readers
/// refuse, and carries the time of day. Here a `JUNK` chunk keeps the place of the long sizes until they are needed
/// (EBU Tech 3306), the format chunk is the plain one, and the same samples make the same file.
struct WAVFile: ~Copyable, Sendable {
    private let file: FileDescriptor
    private let rate: Int
    private let channels: Int
    private let bits: Int
    private let isFloat: Bool
    /// The chunks for tags and marks.
    private let texts: [UInt8]
    private(set) var frameCount: Int64 = 0

    private init(
        _ file: consuming FileDescriptor, format: AudioFileFormat, sampleRate: Double, channels: Int,
        tags: [AudioFileTag: String], marks: [AudioFileMark]
    ) {
        self.file = file
        rate = Int(sampleRate)
        self.channels = channels
        bits = format.integerBits ?? 32
        isFloat = format.integerBits == nil
        texts = WAVFile.list(tags) + WAVFile.chunks(of: marks)
    }

    private var frameSize: Int { bits / 8 * channels }
    /// Bytes that the file has.
    private var byteCount: Int64 { Int64(headerSize) + frameCount * Int64(frameSize) }
    private var formatSize: Int { isFloat ? 18 : 16 }
    /// RIFF 12, JUNK or ds64 36, fmt, fact for floats, texts, data 8.
    var headerSize: Int { 12 + 36 + 8 + formatSize + (isFloat ? 12 : 0) + texts.count + 8 }
    /// Indicates whether the file was removed.
    var isDeleted: Bool { file.isDeleted }

    /// Writes bytes of samples behind those that are there. If the disk refuses a part, whole frames are kept.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        let (written, error) = unsafe file.write(bytes, at: byteCount)
        frameCount += Int64(written / frameSize)
        // If that fails too, nothing more can be done: the header's sizes leave the surplus out anyway.
        if error != 0 { file.truncate(to: byteCount) }
        return error
    }

    /// Returns how many of so many frames go to the last multiple of `bytes` that they reach: 0 if they reach none.
    func wholeBlocks(of frames: Int, bytes: Int) -> Int {
        let end = (byteCount + Int64(frames * frameSize)) / Int64(bytes) * Int64(bytes)
        return max(0, Int(end - byteCount) / frameSize)
    }

    /// Counts silent frames without writing them: for tests of long files.
    mutating func skip(_ frames: Int64) { frameCount += frames }

    borrowing func updateHeader() -> Int32 {
        let header = header()
        return unsafe header.withUnsafeBytes { unsafe file.write($0, at: 0).error }
    }

    /// - Returns: 0 or an `errno`.
    consuming func close() -> Int32 {
        let size = frameCount * Int64(frameSize)
        var error = updateHeader()
        if size % 2 == 1 && error == 0 {
            let padding: [UInt8] = [0]
            error = unsafe padding.withUnsafeBytes { unsafe file.write($0, at: Int64(headerSize) + size).error }
        }
        let closing = file.close()
        return error != 0 ? error : closing
    }
}

extension WAVFile {
    /// Writes the header into an empty file.
    static func begin(
        _ file: consuming FileDescriptor, path: String, format: AudioFileFormat, sampleRate: Double, channels: Int,
        tags: [AudioFileTag: String], marks: [AudioFileMark]
    ) throws(AudioFileError) -> WAVFile {
        let made = WAVFile(file, format: format, sampleRate: sampleRate, channels: channels, tags: tags, marks: marks)
        let error = made.updateHeader()
        if error != 0 { throw AudioFileError(path: path, systemError: error) }
        return made
    }
}

// MARK: - Bytes

extension WAVFile {
    /// Returns the header of a file with as many frames. All numbers are little-endian.
    private borrowing func header() -> [UInt8] {
        let data = frameCount * Int64(frameSize)
        let riff = Int64(headerSize) - 8 + data + data % 2
        let isLong = riff > Int64(UInt32.max)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(headerSize)
        bytes.append(text: isLong ? "RF64" : "RIFF")
        bytes.append(number: isLong ? -1 : riff, bytes: 4)
        bytes.append(text: "WAVE")
        bytes.append(text: isLong ? "ds64" : "JUNK")
        bytes.append(number: 28, bytes: 4)
        for size in [riff, data, frameCount] { bytes.append(number: isLong ? size : 0, bytes: 8) }
        bytes.append(number: 0, bytes: 4)  // no further sizes
        bytes.append(text: "fmt ")
        bytes.append(number: Int64(formatSize), bytes: 4)
        bytes.append(number: isFloat ? 3 : 1, bytes: 2)
        bytes.append(number: Int64(channels), bytes: 2)
        bytes.append(number: Int64(rate), bytes: 4)
        bytes.append(number: Int64(rate * frameSize), bytes: 4)
        bytes.append(number: Int64(frameSize), bytes: 2)
        bytes.append(number: Int64(bits), bytes: 2)
        if isFloat {
            bytes.append(number: 0, bytes: 2)  // no extension
            bytes.append(text: "fact")
            bytes.append(number: 4, bytes: 4)
            bytes.append(number: min(frameCount, Int64(UInt32.max)), bytes: 4)
        }
        bytes += texts
        bytes.append(text: "data")
        bytes.append(number: isLong ? -1 : data, bytes: 4)
        return bytes
    }

    private static func list(_ tags: [AudioFileTag: String]) -> [UInt8] {
        var content: [UInt8] = []
        for tag in AudioFileTag.allCases {
            guard let name = tag.riffName, let text = tags[tag], !text.isEmpty else { continue }
            content.append(text: name)
            content.append(number: Int64(text.utf8.count + 1), bytes: 4)
            content += text.utf8
            content.append(0)
            if content.count % 2 == 1 { content.append(0) }
        }
        if content.isEmpty { return [] }
        var bytes: [UInt8] = []
        bytes.append(text: "LIST")
        bytes.append(number: Int64(4 + content.count), bytes: 4)
        bytes.append(text: "INFO")
        return bytes + content
    }
}

extension WAVFile {
    /// Returns the texts in the `LIST` chunks of a file, however long: the library has room for two thousand bytes.
    static func tags(of file: borrowing FileDescriptor) -> [AudioFileTag: String] {
        var tags: [AudioFileTag: String] = [:]
        eachChunk(of: file) { name, content in
            guard name == "LIST", text(content.prefix(4)) == "INFO" else { return }
            eachPart(of: content, from: 4) { name, part in
                let tag = AudioFileTag.allCases.first { $0.riffName?.description == name }
                let string = string(part)
                if let tag, !string.isEmpty { tags[tag] = string }
            }
        }
        return tags
    }

    /// Calls a closure with the chunks of a file that have texts or marks.
    static func eachChunk(of file: borrowing FileDescriptor, _ body: (_ name: String, _ content: [UInt8]) -> Void) {
        let start = file.read(12, at: 0).bytes
        guard start.count == 12, text(start[..<4]) == "RIFF" || text(start[..<4]) == "RF64" else { return }
        var position: Int64 = 12
        for _ in 0..<1_000 {
            let header = file.read(8, at: position).bytes
            guard header.count == 8 else { break }
            let length = number(header[4...])
            let name = text(header[..<4])
            if name == "LIST" || name == "cue ", length < 1 << 24 {
                body(name, file.read(Int(length), at: position + 8).bytes)
            }
            position += 8 + length + length & 1
        }
    }

    /// Calls a closure with the parts of a list, which may be cut short.
    static func eachPart(of list: [UInt8], from start: Int, _ body: (_ name: String, _ part: ArraySlice<UInt8>) -> Void)
    {
        var place = start
        while place + 8 <= list.count {
            let length = Int(number(list[place + 4..<place + 8]))
            body(text(list[place..<place + 4]), list[(place + 8)..<min(list.count, place + 8 + length)])
            place += 8 + length + length & 1
        }
    }

    /// Returns the text up to the first zero.
    static func string(_ bytes: ArraySlice<UInt8>) -> String {
        let content = bytes.prefix { $0 != 0 }
        return unsafe content.withUnsafeBytes { unsafe SoundFile.string($0) }
    }

    static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    static func number(_ bytes: ArraySlice<UInt8>) -> Int64 { bytes.reversed().reduce(0) { $0 << 8 | Int64($1) } }
}

extension AudioFileTag {
    /// The chunk's name; `nil` for tags that RIFF has no place for.
    fileprivate var riffName: StaticString? {
        switch self {
        case .title: "INAM"
        case .artist: "IART"
        case .album: "IPRD"
        case .trackNumber: "ITRK"
        case .genre: "IGNR"
        case .date: "ICRD"
        case .comment: "ICMT"
        case .copyright: "ICOP"
        case .software: "ISFT"
        case .license: nil
        }
    }
}

extension [UInt8] {
    mutating func append(text: StaticString) {
        unsafe self += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    mutating func append(number: Int64, bytes count: Int) {
        for index in 0..<count { append(UInt8(truncatingIfNeeded: number >> (8 * Int64(index)))) }
    }
}
