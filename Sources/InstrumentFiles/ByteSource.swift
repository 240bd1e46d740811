internal import Glibc
internal import RenderCore

/// The bytes of a file, read where they are wanted, or of an array.
@safe final class ByteSource: Sendable {
    let path: String?
    /// The number of bytes.
    let count: Int
    private let descriptor: Int32
    private let bytes: [UInt8]

    init(bytes: [UInt8]) {
        (path, count, descriptor, self.bytes) = (nil, bytes.count, -1, bytes)
    }

    init(path: String) throws(InstrumentFileError) {
        func fault() -> InstrumentFileError {
            InstrumentFileError(path: path, "the system says “\(unsafe String(cString: strerror(errno)))”")
        }
        let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard opened >= 0 else { throw fault() }
        var status = stat()
        guard unsafe fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            throw InstrumentFileError(path: path, "it is not a file")
        }
        self.path = path
        count = Int(status.st_size)
        descriptor = opened
        bytes = []
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads bytes into memory.
    ///
    /// - Returns: The number of bytes that there were.
    func read(at position: Int, count wanted: Int, into memory: UnsafeMutableRawPointer) -> Int {
        guard position >= 0, position < count, wanted > 0 else { return 0 }
        let wanted = min(wanted, count - position)
        guard descriptor >= 0 else {
            unsafe bytes.withUnsafeBytes { source in
                if let base = source.baseAddress { unsafe memory.copyMemory(from: base + position, byteCount: wanted) }
            }
            return wanted
        }
        var done = 0
        while done < wanted {
            let got = unsafe pread(descriptor, memory + done, wanted - done, off_t(position + done))
            if got < 0 && errno == EINTR { continue }
            if got <= 0 { break }
            done += got
        }
        return done
    }

    /// Returns bytes; fewer where the file ends.
    func read(at position: Int, count wanted: Int) -> [UInt8] {
        let length = max(0, min(wanted, count - max(0, position)))
        return unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, got in
            got = unsafe buffer.baseAddress.map { unsafe read(at: position, count: length, into: $0) } ?? 0
        }
    }
}
