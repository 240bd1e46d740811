internal import DiskFiles

/// The frames of an MP3 file: counted where no header in it says how many there are.
///
/// The library reckons the length of such a file from the bit rate of its first frame, and reads no further than that. So
/// it is given a frame more, before the first: an empty one of the kind that encoders put there, with the true number.
struct MPEGFrames {
    /// The byte at which the first frame begins.
    let start: Int64
    /// The bytes of the frame to read there.
    let information: [UInt8]

    /// Goes through a file. The result is `nil` if it is no MP3 file, or its header has the number of frames.
    init?(of file: borrowing FileDescriptor) {
        var window = Window()
        let start = MPEGFrames.audioStart(&window, file)
        guard let first = Header(window.word(at: start, file)),
            let second = Header(window.word(at: start + first.length, file)), second.isLike(first)
        else { return nil }
        let bytes = window.bytes(at: start, count: 64, file)
        for name in ["Xing", "Info", "VBRI"] as [StaticString] where MPEGFrames.contains(name, in: bytes) { return nil }
        var (position, count) = (start, Int64(0))
        while let header = MPEGFrames.next(&position, first, &window, file) {
            position += header.length
            count += 1
        }
        guard let information = first.information(frames: count, bytes: position - start) else { return nil }
        self.start = start
        self.information = information
    }

    /// Returns the byte behind the tags at the beginning.
    private static func audioStart(_ window: inout Window, _ file: borrowing FileDescriptor) -> Int64 {
        let bytes = window.bytes(at: 0, count: 10, file)
        guard bytes.count == 10, contains("ID3", in: Array(bytes[..<3])) else { return 0 }
        let size = bytes[6...].reduce(Int64(0)) { $0 << 7 | Int64($1 & 127) }
        return 10 + size + (bytes[5] & 16 != 0 ? 10 : 0)
    }

    /// Returns the next frame at a position or soon after it: some files have tags and rubbish between frames.
    private static func next(
        _ position: inout Int64, _ first: Header, _ window: inout Window, _ file: borrowing FileDescriptor
    ) -> Header? {
        if let header = Header(window.word(at: position, file)), header.isLike(first) { return header }
        let last = min(position + 65_536, file.length - 4)
        while position < last {
            position += 1
            guard let header = Header(window.word(at: position, file)), header.isLike(first) else { continue }
            let following = window.word(at: position + header.length, file)
            if Header(following)?.isLike(first) ?? false { return header }
        }
        return nil
    }

    private static func contains(_ name: StaticString, in bytes: [UInt8]) -> Bool {
        let wanted = unsafe Array(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        guard bytes.count >= wanted.count else { return false }
        return (0...bytes.count - wanted.count).contains { bytes[$0..<$0 + wanted.count].elementsEqual(wanted) }
    }
}

extension MPEGFrames {
    /// Some of the file, so that a header does not cost a read.
    private struct Window {
        private var start: Int64 = 0
        private var content: [UInt8] = []

        mutating func bytes(at position: Int64, count: Int, _ file: borrowing FileDescriptor) -> [UInt8] {
            if position < start || position + Int64(count) > start + Int64(content.count) {
                start = position
                content = file.read(65_536, at: position).bytes
            }
            let first = Int(position - start)
            return Array(content[first..<min(content.count, first + count)])
        }

        /// Returns four bytes, 0 behind the end of the file.
        mutating func word(at position: Int64, _ file: borrowing FileDescriptor) -> UInt32 {
            let bytes = bytes(at: position, count: 4, file)
            return bytes.count < 4 ? 0 : bytes.reduce(0) { $0 << 8 | UInt32($1) }
        }
    }

    /// The first four bytes of a frame (ISO 11172-3, 2.4.1.3).
    struct Header {
        private let word: UInt32
        private let rate: Int
        private let isFirstVersion: Bool
        private let sideLength: Int
        /// Bytes in the frame.
        let length: Int64

        private static let bitRates = [
            [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
            [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
        ]

        init?(_ word: UInt32) {
            let (version, bits, index) = (Int(word >> 19 & 3), Int(word >> 12 & 15), Int(word >> 10 & 3))
            guard word >> 21 == 0x7FF && version != 1 && word >> 17 & 3 == 1 && bits != 0 && bits != 15 && index != 3
            else {
                return nil
            }
            self.word = word
            isFirstVersion = version == 3
            rate = [44_100, 48_000, 32_000][index] / (version == 3 ? 1 : version == 2 ? 2 : 4)
            let isMono = word >> 6 & 3 == 3
            sideLength = isFirstVersion ? (isMono ? 17 : 32) : (isMono ? 9 : 17)
            length = Int64(Header.length(bits, rate, isFirstVersion) + Int(word >> 9 & 1))
        }

        private static func length(_ bits: Int, _ rate: Int, _ isFirstVersion: Bool) -> Int {
            (isFirstVersion ? 144 : 72) * bitRates[isFirstVersion ? 0 : 1][bits] * 1_000 / rate
        }

        /// Returns whether both have the same version, layer and rate: frames of one file have.
        func isLike(_ other: Header) -> Bool { word & 0xFFFE_0C00 == other.word & 0xFFFE_0C00 }

        /// Returns a frame of silence with the number of frames.
        func information(frames: Int64, bytes: Int64) -> [UInt8]? {
            guard frames > 0 && frames < 1 << 31 else { return nil }
            let lengths = (1...14).map { Header.length($0, rate, isFirstVersion) }
            guard let bits = lengths.firstIndex(where: { $0 >= 4 + sideLength + 16 }) else { return nil }
            // The header of the same frame without a checksum and padding, and as small as it can be.
            let new = word & 0xFFFF_0DFF | UInt32(bits + 1) << 12 | 1 << 16
            var result = Header.bytes(new) + [UInt8](repeating: 0, count: sideLength) + Array("Xing".utf8)
            result += Header.bytes(3) + Header.bytes(UInt32(frames))
            result += Header.bytes(UInt32(truncatingIfNeeded: min(bytes + Int64(lengths[bits]), 0xFFFF_FFFF)))
            return result + [UInt8](repeating: 0, count: lengths[bits] - result.count)
        }

        private static func bytes(_ number: UInt32) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        }
    }

    /// Returns the least quality of a file to be written, from 0 to 1, with which the encoder has room for the frame
    /// with the file's length. Without that frame its delay would be heard as silence, and its length would be a guess.
    static func leastQuality(sampleRate: Double, channels: Int) -> Double {
        let isFirstVersion = sampleRate >= 32_000
        let rates = isFirstVersion ? [32, 40, 48, 56, 64, 80] : [8, 16, 24, 32, 40, 48, 56, 64]
        let most = isFirstVersion ? 320 : sampleRate >= 16_000 ? 160 : 64
        let sideLength = isFirstVersion ? (channels == 1 ? 17 : 32) : (channels == 1 ? 9 : 17)
        let wanted = rates.first { (isFirstVersion ? 144 : 72) * $0 * 1_000 / Int(sampleRate) >= sideLength + 160 }
        return Double((wanted ?? rates[rates.count - 1]) - rates[0]) / Double(most - rates[0])
    }
}
