internal import Glibc

/// An open file that closes itself once: at ``close()``, or when it goes.
struct FileDescriptor: ~Copyable, Sendable {
    private let number: Int32

    /// Creates a file, or empties the one that is there.
    init(creating path: String) throws(AudioFileError) {
        number = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, reading: false)
    }

    /// Opens an ordinary file that has something in it.
    init(reading path: String) throws(AudioFileError) {
        let number = try FileDescriptor.open(path, O_RDONLY | O_NOCTTY, reading: true)
        var status = stat()
        let failure: AudioFileError? =
            if unsafe fstat(number, &status) != 0 {
                AudioFileError(path: path, systemError: errno, reading: true)
            } else if status.st_mode & S_IFMT == S_IFDIR {
                AudioFileError(path: path, systemError: EISDIR, reading: true)
            } else if status.st_mode & S_IFMT != S_IFREG {
                AudioFileError(path: path, systemError: ENXIO, reading: true)
            } else if status.st_size == 0 {
                AudioFileError(
                    path: path, reason: .empty, cannot: "read",
                    explanation: "it is empty; the program that made it wrote nothing into it")
            } else {
                nil
            }
        if let failure {
            _ = Glibc.close(number)
            throw failure
        }
        self.number = number
    }

    /// Makes a folder, unless it is there.
    static func makeFolder(_ path: String) throws(AudioFileError) {
        if path.utf8.contains(0) { throw AudioFileError(path: path, systemError: EINVAL) }
        if unsafe mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        throw AudioFileError(path: path, systemError: errno)
    }

    private static func open(_ path: String, _ flags: Int32, reading: Bool) throws(AudioFileError) -> Int32 {
        // A zero byte would end the name early, and another file than the one named would be opened.
        if path.utf8.contains(0) { throw AudioFileError(path: path, systemError: EINVAL, reading: reading) }
        // Non-blocking: opening a pipe without a process at the other end would otherwise wait forever.
        var opened: Int32
        repeat {
            opened = unsafe Glibc.open(path, flags | O_CLOEXEC | O_NONBLOCK, 0o666)
        } while opened < 0 && errno == EINTR
        guard opened >= 0 else { throw AudioFileError(path: path, systemError: errno, reading: reading) }
        return opened
    }

    deinit { _ = Glibc.close(number) }

    /// Bytes in the file.
    var length: Int64 {
        var status = stat()
        return unsafe fstat(number, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Indicates whether the file has no name any more. A pipe or a device has never had one of its own.
    var isDeleted: Bool {
        var status = stat()
        return unsafe fstat(number, &status) == 0 && status.st_nlink == 0
    }

    /// Writes all of it at a position, in as many steps as the system needs.
    ///
    /// - Returns: The number of bytes that were written, and the `errno` that ended it, 0 if they all were.
    func write(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> (written: Int, error: Int32) {
        var written = 0
        while written < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = unsafe pwrite(number, rest.baseAddress, rest.count, Int(position) + written)
            if count > 0 {
                written += count
            } else if count == 0 {
                return (written, ENOSPC)
            } else if errno != EINTR {
                return (written, errno)
            }
        }
        return (written, 0)
    }

    /// Reads from a position on until the room is full or the file ends.
    ///
    /// - Returns: The number of bytes that were read, and the `errno` that ended it, 0 if none did.
    func read(into bytes: UnsafeMutableRawBufferPointer, at position: Int64) -> (read: Int, error: Int32) {
        var read = 0
        while read < bytes.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[read...])
            let count = unsafe pread(number, rest.baseAddress, rest.count, Int(position) + read)
            if count > 0 {
                read += count
            } else if count == 0 {
                return (read, 0)
            } else if errno != EINTR {
                return (read, errno)
            }
        }
        return (read, 0)
    }

    /// Shortens the file.
    func truncate(to length: Int64) {
        // If this fails, nothing more can be done: the header's sizes leave the surplus out anyway.
        while ftruncate(number, Int(length)) < 0 && errno == EINTR {}
    }

    /// Closes the file. Disks across a network report errors of storing here.
    ///
    /// - Returns: 0 or an `errno`. The descriptor is gone in any case; Linux frees it also where it was interrupted.
    consuming func close() -> Int32 {
        let number = number
        discard self
        return Glibc.close(number) == 0 || errno == EINTR ? 0 : errno
    }
}
