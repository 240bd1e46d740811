internal import DiskFiles
internal import Glibc
internal import RenderCore

/// The bytes of a file, read where they are wanted, or of an array.
@safe final class ByteSource: Sendable {
    let path: String?
    /// The number of bytes.
    let count: Int
    private let file: FileDescriptor?
    private let bytes: [UInt8]

    init(bytes: [UInt8]) {
        (path, count, self.bytes) = (nil, bytes.count, bytes)
        file = nil
    }

    init(path: String) throws(InstrumentFileError) {
        do throws(DiskFault) {
            let file = try FileDescriptor(reading: path)
            count = Int(file.length)
            self.file = consume file
        } catch {
            let isFile = error.code != EISDIR && error.code != ENXIO
            let words = unsafe String(cString: strerror(error.code))
            throw InstrumentFileError(path: path, isFile ? "the system says “\(words)”" : "it is not a file")
        }
        self.path = path
        bytes = []
    }

    /// Reads bytes into memory.
    ///
    /// - Returns: The number of bytes that there were.
    func read(at position: Int, count wanted: Int, into memory: UnsafeMutableRawPointer) -> Int {
        guard position >= 0, position < count, wanted > 0 else { return 0 }
        let room = unsafe UnsafeMutableRawBufferPointer(start: memory, count: min(wanted, count - position))
        switch file {
        case .some(let file): return unsafe file.read(into: room, at: Int64(position)).read
        case .none:
            unsafe room.copyBytes(from: bytes[position..<position + room.count])
            return room.count
        }
    }

    /// Returns bytes; fewer where the file ends.
    func read(at position: Int, count wanted: Int) -> [UInt8] {
        let length = max(0, min(wanted, count - max(0, position)))
        return unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, got in
            got = unsafe buffer.baseAddress.map { unsafe read(at: position, count: length, into: $0) } ?? 0
        }
    }
}
