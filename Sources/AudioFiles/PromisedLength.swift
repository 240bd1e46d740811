internal import DiskFiles

/// The length of the audio that a file's header promises, and whether the file holds it.
///
/// The library quietly takes the frames that exist. This finds files that were cut off, by a download that broke or a
/// program that was killed.
struct PromisedLength {
    /// A sentence, where the file is shorter than its header says.
    private(set) var notice: String?
    /// Bytes to be read in the place of those in the file: the library refuses a CAF file that was cut off, unless its
    /// header says how long it is.
    private(set) var correction: (position: Int64, bytes: [UInt8])?

    init(of file: borrowing FileDescriptor, frameCount: Int64 = 0) {
        let start = file.read(12, at: 0).bytes
        let data: (position: Int64, length: Int64)? =
            switch (PromisedLength.text(start, 0), PromisedLength.text(start, 8)) {
            case ("RIFF", "WAVE"), ("RF64", "WAVE"):
                PromisedLength.find("data", in: file, from: 12, littleEndian: true, wide: false)
            case ("RIFX", "WAVE"), ("FORM", "AIFF"), ("FORM", "AIFC"):
                PromisedLength.find(
                    PromisedLength.text(start, 0) == "RIFX" ? "data" : "SSND", in: file, from: 12, littleEndian: false,
                    wide: false)
            case ("caff", _): PromisedLength.find("data", in: file, from: 8, littleEndian: false, wide: true)
            default: nil
            }
        let room = file.length - (data?.position ?? 0)
        guard let data, data.length > room, room >= 0 else { return }
        let share = Int64(100 * Double(room) / Double(data.length))
        notice =
            "It was cut off: its header promises \(data.length) bytes of audio, and \(room) are there "
            + "(\(share) %, \(frameCount) frames)."
        if PromisedLength.text(start, 0) == "caff" {
            correction = (data.position - 8, (0..<8).map { UInt8(truncatingIfNeeded: room >> (56 - 8 * $0)) })
        }
    }

    /// Goes from chunk to chunk. Lengths that stand for "not known" are none; RF64 keeps its own in `ds64`.
    private static func find(
        _ name: String, in file: borrowing FileDescriptor, from start: Int64, littleEndian: Bool, wide: Bool
    ) -> (position: Int64, length: Int64)? {
        var position = start, long: Int64?
        for _ in 0..<1_000 {
            let header = file.read(wide ? 12 : 8, at: position).bytes
            guard header.count == (wide ? 12 : 8) else { return nil }
            let length = number(header[4...], littleEndian)
            let content = position + Int64(header.count)
            if text(header, 0) == "ds64" {
                let sizes = file.read(8, at: content + 8).bytes
                if sizes.count == 8 { long = number(sizes[...], true) }
            }
            if text(header, 0) == name {
                if !wide && length == 0xFFFF_FFFF { return long.map { (content, $0) } }
                return length < 0 ? nil : (content, length)
            }
            if length < 0 || length > Int64.max - content - 1 { return nil }
            position = content + length + (wide ? 0 : length & 1)
        }
        return nil
    }

    private static func text(_ bytes: [UInt8], _ start: Int) -> String {
        bytes.count < start + 4 ? "" : String(decoding: bytes[start..<start + 4], as: UTF8.self)
    }

    private static func number(_ bytes: ArraySlice<UInt8>, _ littleEndian: Bool) -> Int64 {
        let ordered = littleEndian ? Array(bytes.reversed()) : Array(bytes)
        return Int64(truncatingIfNeeded: ordered.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
