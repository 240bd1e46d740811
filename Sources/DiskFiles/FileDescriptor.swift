internal import Glibc

/// An open ordinary file that closes itself once: at ``close()``, or when it goes.
///
/// A folder, a device, a pipe or a socket is refused, before anything is done to it: some devices act when they are opened.
package struct FileDescriptor: ~Copyable, Sendable {
    private var number: Int32
    /// The bytes, where they are in memory and the number is negative.
    private let bytes: [UInt8]

    private init(number: Int32) { (self.number, bytes) = (number, []) }

    /// Creates a file of bytes in memory, to be read.
    package init(bytes: [UInt8]) { (number, self.bytes) = (-1, bytes) }

    /// Creates a file, or empties the one that is there, which keeps its mode and its owner.
    ///
    /// - Parameter name: The path that errors name, if it is another one.
    package init(creating path: String, named name: String? = nil) throws(DiskFault) {
        let name = name ?? path
        let file = try FileDescriptor.open(path, O_WRONLY | O_CREAT, named: name, reading: false)
        let error = file.truncate(to: 0)
        if error != 0 { throw DiskFault(path: name, code: error) }
        self = file
    }

    /// Opens a file, which is created if it is not there, to write behind what it has.
    package init(appendingTo path: String) throws(DiskFault) {
        self = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_APPEND, named: path, reading: false)
    }

    /// Creates a file that is not there yet, with a mode, of which the system takes away what the process's mask forbids.
    init(new path: String, mode: mode_t, named name: String) throws(DiskFault) {
        self = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, mode: mode, named: name, reading: false)
    }

    /// Opens a file to read.
    package init(reading path: String) throws(DiskFault) {
        self = try FileDescriptor.open(path, O_RDONLY, named: path, reading: true)
    }

    /// Makes a folder, unless it is there.
    package static func makeFolder(_ path: String) throws(DiskFault) {
        if path.utf8.contains(0) { throw DiskFault(path: path, code: EINVAL) }
        if unsafe mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        throw DiskFault(path: path, code: errno)
    }

    /// Makes a folder for this user alone, whose path begins with a text and ends with signs that no other has. Returns the path.
    package static func makeTemporaryFolder(_ beginning: String) throws(DiskFault) -> String {
        if beginning.utf8.contains(0) { throw DiskFault(path: beginning, code: EINVAL) }
        var path = Array("\(beginning)XXXXXX".utf8CString)
        guard unsafe mkdtemp(&path) != nil else { throw DiskFault(path: beginning, code: errno) }
        return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns whether a name is taken, by whatever has it.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Returns whether two paths are the same, or lead to the same file.
    package static func isSame(_ path: String, _ other: String) -> Bool {
        if path == other { return true }
        var (status, otherStatus) = (stat(), stat())
        guard unsafe stat(path, &status) == 0, unsafe stat(other, &otherStatus) == 0 else { return false }
        return status.st_dev == otherStatus.st_dev && status.st_ino == otherStatus.st_ino
    }

    /// Removes a file, if it is there.
    package static func remove(_ path: String) { _ = unsafe unlink(path) }

    /// Removes a folder, if it is there and empty.
    package static func removeFolder(_ path: String) { _ = unsafe rmdir(path) }

    private static func open(
        _ path: String, _ flags: Int32, mode: mode_t = 0o666, named name: String, reading: Bool
    ) throws(DiskFault) -> FileDescriptor {
        // A zero byte would end the name early, and another file than the one named would be opened.
        if path.utf8.contains(0) { throw DiskFault(path: name, code: EINVAL, reading: reading) }
        var status = stat()
        if unsafe stat(path, &status) == 0, let fault = DiskFault(path: name, status, reading: reading) { throw fault }
        // Non-blocking: if a pipe has come there since, opening it would wait for a process at its other end.
        var opened: Int32
        repeat {
            opened = unsafe Glibc.open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode)
        } while opened < 0 && errno == EINTR
        guard opened >= 0 else { throw DiskFault(path: name, code: errno, reading: reading) }
        let file = FileDescriptor(number: opened)
        guard unsafe fstat(opened, &status) == 0 else { throw DiskFault(path: name, code: errno, reading: reading) }
        if let fault = DiskFault(path: name, status, reading: reading) { throw fault }
        return file
    }

    deinit { if number >= 0 { _ = Glibc.close(number) } }

    /// Bytes in the file.
    package var length: Int64 {
        if number < 0 { return Int64(bytes.count) }
        var status = stat()
        return unsafe fstat(number, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Indicates whether the file has no name any more.
    package var isDeleted: Bool {
        var status = stat()
        return unsafe fstat(number, &status) == 0 && status.st_nlink == 0
    }

    /// Writes all of it at a position, in as many steps as the system needs.
    ///
    /// - Returns: The number of bytes that were written, and the `errno` that ended it, 0 if they all were.
    package func write(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> (written: Int, error: Int32) {
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
    package func read(into bytes: UnsafeMutableRawBufferPointer, at position: Int64) -> (read: Int, error: Int32) {
        if number < 0 { return (unsafe copy(into: bytes, at: position), 0) }
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

    private func copy(into room: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
        guard position >= 0 && position < Int64(bytes.count) else { return 0 }
        let count = min(room.count, bytes.count - Int(position))
        unsafe room.copyBytes(from: bytes[Int(position)..<Int(position) + count])
        return count
    }

    /// Returns so many bytes from a position on, or all that there are, and the `errno` that ended the reading, 0 if none did.
    package func read(_ count: Int, at position: Int64) -> (bytes: [UInt8], error: Int32) {
        let count = min(count, Int(max(0, length - position)))
        // Of no bytes Swift writes the count of the one empty array that all threads share.
        if count <= 0 { return ([], 0) }
        var error: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { room, used in
            (used, error) = unsafe read(into: UnsafeMutableRawBufferPointer(room), at: position)
        }
        return (bytes, error)
    }

    /// Gives the file to a user and a group; the largest number leaves it to whom it belongs. Returns whether the system lets this user.
    func give(owner: uid_t, group: gid_t) -> Bool { fchown(number, owner, group) == 0 }

    func give(mode: mode_t) { fchmod(number, mode) }

    /// Has the disk store the file. Returns 0 or an `errno`.
    func store() -> Int32 {
        var result: Int32
        repeat { result = fsync(number) } while result < 0 && errno == EINTR
        // Some file systems have nothing to do for it, and say so.
        return result == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno
    }

    /// Shortens the file.
    ///
    /// - Returns: 0 or an `errno`.
    @discardableResult
    package func truncate(to length: Int64) -> Int32 {
        var result: Int32
        repeat { result = ftruncate(number, Int(length)) } while result < 0 && errno == EINTR
        return result < 0 ? errno : 0
    }

    /// Closes the file. Disks across a network report errors of storing here.
    ///
    /// - Returns: 0 or an `errno`. The descriptor is gone in any case; Linux frees it also where it was interrupted.
    package consuming func close() -> Int32 {
        let open = number
        number = -1
        return Glibc.close(open) == 0 || errno == EINTR ? 0 : errno
    }
}
