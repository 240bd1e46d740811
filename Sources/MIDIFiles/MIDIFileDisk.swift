internal import Glibc
internal import LinuxRealtime

/// Whole files, read and written by the system's own calls: Foundation would bring 40 MB into each program, with its tables of
/// all languages.
enum MIDIFileDisk {
    /// Reads an ordinary file.
    static func read(_ path: String) throws(MIDIFileError) -> [UInt8] {
        let file = try open(path, O_RDONLY | O_NOCTTY, isWriting: false)
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw error(path, isWriting: false) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw MIDIFileError(path: path, "it is a folder or a device, and not a file")
        }
        let limit = MIDIFile.largestSize
        guard status.st_size <= limit else {
            throw MIDIFileError(path: path, "it is larger than \(limit >> 20) MB, which no MIDI file is")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(file, $0.baseAddress! + filled, $0.count - filled)
            }
            if count == 0 { break }
            if count > 0 { filled += count } else if errno != EINTR { throw error(path, isWriting: false) }
        }
        bytes.removeLast(bytes.count - filled)
        return bytes
    }

    /// Writes a file in full beside the one that has its name, and then puts it in its place: after an error that one is as it
    /// was.
    static func write(_ bytes: [UInt8], to path: String) throws(MIDIFileError) {
        let fresh = "\(path).\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let file = try open(fresh, O_WRONLY | O_CREAT | O_EXCL, isWriting: true, named: path)
        var failure: MIDIFileError?
        var written = 0
        while written < bytes.count && failure == nil {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(file, $0.baseAddress! + written, $0.count - written)
            }
            if count >= 0 { written += count } else if errno != EINTR { failure = error(path, isWriting: true) }
        }
        if close(file) != 0 && failure == nil { failure = error(path, isWriting: true) }
        if unsafe failure == nil && rename(fresh, path) != 0 { failure = error(path, isWriting: true) }
        guard let failure else { return }
        unsafe unlink(fresh)
        throw failure
    }

    private static func open(
        _ path: String, _ flags: Int32, isWriting: Bool, named name: String? = nil
    ) throws(MIDIFileError) -> Int32 {
        // A zero byte would end the name early, and another file than the one named would be opened.
        guard !path.utf8.contains(0) else {
            throw MIDIFileError(path: name ?? path, isWriting: isWriting, "its name has a zero byte in it")
        }
        var file: Int32
        // Non-blocking: a pipe without a process at its other end would otherwise wait forever.
        repeat {
            file = unsafe Glibc.open(path, flags | O_CLOEXEC | O_NONBLOCK, 0o666)
        } while file < 0 && errno == EINTR
        guard file >= 0 else { throw error(name ?? path, isWriting: isWriting) }
        return file
    }

    private static func error(_ path: String, isWriting: Bool) -> MIDIFileError {
        MIDIFileError(path: path, isWriting: isWriting, "the system says “\(errorText(errno))”")
    }
}
