internal import DiskFiles
internal import RenderCore

extension MIDIFile {
    /// Writes the file, in the place of one that has its name, which stays as it was if the new one cannot be written in full.
    ///
    /// The new file has the mode and the owner of the old one. Where the path is a symlink, the file to which it leads is replaced;
    /// a device, a pipe or a folder is an error.
    ///
    /// - Throws: An error if the file cannot be written.
    public func write(path: String) throws(MIDIFileError) {
        do throws(DiskFault) { try Replacement.write(bytes, to: path) } catch { throw MIDIFileError(error) }
    }

    /// The bytes of the file. Ticks and lengths beyond 28 bits, which a file cannot hold, are held to that.
    public var bytes: [UInt8] {
        var result = Array("MThd".utf8)
        result.append(6, bytes: 4)
        result.append(tracks.count == 1 ? 0 : 1, bytes: 2)
        result.append(min(tracks.count, 65_535), bytes: 2)
        switch division.held {
        case .quarter(let ticks): result.append(ticks, bytes: 2)
        case .film(let frames, let ticks): result.append((256 - frames) << 8 | ticks, bytes: 2)
        }
        for track in tracks.prefix(65_535) {
            let body = track.bytes
            result += Array("MTrk".utf8)
            result.append(body.count, bytes: 4)
            result += body
        }
        return result
    }
}

extension MIDIFile.Track {
    fileprivate var bytes: [UInt8] {
        var result: [UInt8] = []
        var (last, status) = (0, UInt8(0))
        func sorted() -> [MIDIFile.Event] {
            events.enumerated().sorted { ($0.element.tick, $0.offset) < ($1.element.tick, $1.offset) }.map(\.element)
        }
        for event in sorted() {
            var content: [UInt8] = []
            switch event.content {
            case .message(let message):
                let (count, first, a, b) = message.bytes
                // Messages of the system have no place in a file.
                guard count > 0, first < 0xF0 else { continue }
                if first != status { content = [first] }
                status = first
                content += [a, b].prefix(count - 1)
            case .systemExclusive(let bytes):
                let isFirst = bytes.first == 0xF0
                content = [isFirst ? 0xF0 : 0xF7]
                content.append(data: isFirst ? Array(bytes.dropFirst()) : bytes)
                status = 0
            case .tempo(let microseconds):
                content = [0xFF, 0x51, 3]
                content.append(min(max(microseconds, 1), 0xFF_FFFF), bytes: 3)
            case .metre(let beats, let note):
                let power = (0...15).first { 1 << $0 >= note } ?? 15
                content = [0xFF, 0x58, 4, UInt8(min(max(beats, 1), 255)), UInt8(power), 24, 8]
            case .text(let kind, let text):
                content = [0xFF, min(max(kind, 1), 15)]
                content.append(data: Array(text.utf8))
            case .other(let kind, let bytes):
                // This kind is the end of a track.
                if kind == 0x2F { continue }
                content = [0xFF, kind]
                content.append(data: bytes)
            }
            if content.first == 0xFF { status = 0 }
            let tick = max(event.tick, last)
            result.append(variable: tick - last)
            result += content
            last = tick
        }
        result.append(variable: max(0, end - last))
        return result + [0xFF, 0x2F, 0]
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ number: Int, bytes count: Int) {
        for byte in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: number >> (8 * byte))) }
    }

    /// Appends a number in seven bits to the byte.
    fileprivate mutating func append(variable number: Int) {
        let number = Swift.min(number, 0xFFF_FFFF)
        for shift in [21, 14, 7] where number >> shift > 0 { append(UInt8(number >> shift & 0x7F | 0x80)) }
        append(UInt8(number & 0x7F))
    }

    fileprivate mutating func append(data: [UInt8]) {
        let data = data.prefix(0xFFF_FFFF)
        append(variable: data.count)
        self += data
    }
}
