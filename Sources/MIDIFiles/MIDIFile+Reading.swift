internal import DiskFiles
internal import RenderCore

extension MIDIFile {
    /// The size in bytes of the largest file that is read.
    public static let largestSize = 64 << 20

    /// Reads a file.
    ///
    /// - Throws: An error if the file cannot be read, is too large, damaged, or of type 2 (tracks that do not sound together).
    public init(path: String) throws(MIDIFileError) {
        try self.init(bytes: MIDIFile.read(path), path: path)
    }

    /// Reads the bytes of a file.
    ///
    /// - Throws: An error if they are damaged, or of a file of type 2.
    public init(bytes: [UInt8]) throws(MIDIFileError) { try self.init(bytes: bytes, path: nil) }

    /// Reads an ordinary file by the system's own calls: Foundation would bring 40 MB into each program.
    private static func read(_ path: String) throws(MIDIFileError) -> [UInt8] {
        let (bytes, error): ([UInt8], Int32)
        do throws(DiskFault) { (bytes, error) = try FileDescriptor(reading: path).read(largestSize + 1, at: 0) } catch {
            throw MIDIFileError(error)
        }
        if error != 0 { throw MIDIFileError(DiskFault(path: path, code: error, reading: true)) }
        if bytes.count <= largestSize { return bytes }
        throw MIDIFileError(path: path, "it is larger than \(largestSize >> 20) MB, which no MIDI file is")
    }

    private init(bytes: [UInt8], path: String?) throws(MIDIFileError) {
        var reader = MIDIFileReader(bytes: bytes, path: path)
        self = try reader.read()
    }
}

/// Reads "Standard MIDI Files 1.0" of the MIDI Manufacturers Association.
private struct MIDIFileReader {
    private let bytes: [UInt8]
    private let path: String?
    private var position = 0
    /// The end of the chunk that is read.
    private var end = 0
    /// The number of the track that is read; 0 in the header.
    private var track = 0

    init(bytes: [UInt8], path: String?) {
        self.bytes = bytes
        self.path = path
    }

    private func fault(_ reason: String) -> MIDIFileError { MIDIFileError(path: path, position: position, reason) }

    mutating func read() throws(MIDIFileError) -> MIDIFile {
        // Some files have a frame of another kind around them: RIFF, a size, RMID, data, a size.
        if bytes.starts(with: Array("RIFF".utf8)), bytes.count > 20, bytes[8..<12].elementsEqual("RMID".utf8) {
            position = 20
        }
        guard let header = try chunk(), header == "MThd" else {
            position = 0
            throw fault("it is not a MIDI file, which begins with “MThd”")
        }
        let type = try number(2), count = try number(2), division = try number(2)
        guard type < 2 else {
            throw fault("it is of type \(type); there are files of type 0 and 1, whose tracks sound together")
        }
        position = end
        var file = MIDIFile(tracks: [], division: try Self.division(division) ?? .quarter(480))
        if try Self.division(division) == nil { throw fault("its ticks have no length") }
        while file.tracks.count < count, let name = try chunk() {
            guard name == "MTrk" else {
                position = end
                continue
            }
            track = file.tracks.count + 1
            file.tracks.append(try readTrack())
            position = end
        }
        guard !file.tracks.isEmpty || count == 0 else { throw fault("it has no track") }
        return file
    }

    private static func division(_ bits: Int) throws(MIDIFileError) -> MIDIFile.Division? {
        if bits & 0x8000 == 0 { return bits > 0 ? .quarter(bits) : nil }
        let (frames, ticks) = (256 - bits >> 8, bits & 0xFF)
        return ticks > 0 && [24, 25, 29, 30].contains(frames) ? .film(framesPerSecond: frames, ticks: ticks) : nil
    }

    /// Begins the next chunk. The last one may be shorter than it says.
    ///
    /// - Returns: Its name; `nil` at the end.
    private mutating func chunk() throws(MIDIFileError) -> String? {
        guard position + 8 <= bytes.count else { return nil }
        let name = String(decoding: bytes[position..<position + 4], as: UTF8.self)
        position += 4
        end = position + 4
        let count = try number(4)
        end = position + min(count, bytes.count - position)
        return name
    }

    private mutating func readTrack() throws(MIDIFileError) -> MIDIFile.Track {
        var result = MIDIFile.Track()
        var (tick, status) = (0, UInt8(0))
        while position < end {
            tick += try variableNumber()
            let first = try byte()
            switch first {
            case 0xFF:
                let kind = try byte()
                let content = try data()
                if kind == 0x2F {
                    result.end = tick
                    return result
                }
                result.events.append(MIDIFile.Event(tick, Self.content(kind, content)))
            case 0xF0: result.events.append(MIDIFile.Event(tick, .systemExclusive([0xF0] + (try data()))))
            case 0xF7: result.events.append(MIDIFile.Event(tick, .systemExclusive(try data())))
            default:
                // A status byte may be left out where it is that of the message before.
                let hasStatus = first >= 0x80
                if hasStatus { status = first }
                guard status >= 0x80, status < 0xF0 else {
                    position -= 1
                    throw fault("at byte \(position), in track \(track), there is no event that begins with \(first)")
                }
                let a = hasStatus ? try byte() : first
                let b = status & 0xE0 == 0xC0 ? 0 : try byte()
                guard a < 0x80, b < 0x80, let message = MIDIMessage(status: status, a, b) else {
                    throw fault("before byte \(position), in track \(track), a message has a wrong byte")
                }
                result.events.append(MIDIFile.Event(tick, .message(message)))
            }
        }
        result.end = tick
        return result
    }

    private static func content(_ kind: UInt8, _ bytes: [UInt8]) -> MIDIFile.Content {
        switch (kind, bytes.count) {
        case (0x51, 3...): .tempo(microseconds: max(1, Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])))
        case (0x58, 2...) where bytes[1] < 16: .metre(beats: Int(bytes[0]), note: 1 << Int(bytes[1]))
        case (1...15, _): .text(kind: kind, String(decoding: bytes, as: UTF8.self))
        default: .other(kind: kind, bytes)
        }
    }

    // MARK: Bytes

    private mutating func byte() throws(MIDIFileError) -> UInt8 {
        guard position < end else {
            let place = track == 0 ? "its header" : "track \(track)"
            throw fault("\(place) ends at byte \(end), in the middle of an event")
        }
        position += 1
        return bytes[position - 1]
    }

    private mutating func number(_ count: Int) throws(MIDIFileError) -> Int {
        var value = 0
        for _ in 0..<count { value = value << 8 | Int(try byte()) }
        return value
    }

    /// Reads seven bits to the byte, up to four bytes.
    private mutating func variableNumber() throws(MIDIFileError) -> Int {
        var value = 0
        for _ in 0..<4 {
            let next = try byte()
            value = value << 7 | Int(next & 0x7F)
            if next < 0x80 { return value }
        }
        throw fault("before byte \(position), in track \(track), a number does not end")
    }

    /// Reads a number, and that many bytes.
    private mutating func data() throws(MIDIFileError) -> [UInt8] {
        let count = try variableNumber()
        guard count <= end - position else {
            throw fault(
                "at byte \(position), in track \(track), \(count) bytes are announced, and there are \(end - position)")
        }
        position += count
        return Array(bytes[position - count..<position])
    }
}
