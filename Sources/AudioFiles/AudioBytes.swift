internal import Glibc
internal import RenderCore
internal import Synchronization

/// The bytes of a sound on their way: from memory, from a pipe or a socket, or from a closure of the program.
///
///     let radio = AudioBytes(fileDescriptor: socket, name: "radio")
///     let song = AudioBytes(bytes)
///     let asset = AudioBytes(name: "asset") { try archive.next(8_192) }      // empty at the end
///
/// They are read once, from the first to the last, by an ``AudioStreamReader`` or a player; the format is found from the
/// bytes.
///
/// Threads: control.
public final class AudioBytes: Sendable {
    /// The name that errors have for it.
    public let name: String

    private let origin: Origin
    private let isCancelled = Atomic<Bool>(false)
    /// The rest of what the closure gave last, or of the bytes in memory. Used by the reader alone.
    private let rest: Lock<Rest>

    private enum Origin: Sendable {
        case memory
        case closure(@Sendable () throws -> [UInt8])
        case descriptor(StreamDescriptor)
    }

    private struct Rest {
        var bytes: [UInt8] = []
        var first = 0
    }

    /// Creates a stream of bytes in memory.
    ///
    /// - Parameters:
    ///   - bytes: All of them. ``AudioFileReader/init(bytes:name:)`` can also go back in them.
    ///   - name: The name that errors have for it.
    public init(_ bytes: [UInt8], name: String = "sound in memory") {
        self.name = name
        origin = .memory
        rest = Lock(Rest(bytes: bytes), .part)
    }

    /// Creates a stream of what a pipe, a socket or a file gives: the standard input is 0.
    ///
    /// It keeps a duplicate, so that you can close yours at any time; the duplicate is closed with the stream. A sender that
    /// writes faster than the sound is heard has to wait.
    ///
    /// - Parameters:
    ///   - fileDescriptor: An open descriptor, blocking or not.
    ///   - name: The name that errors have for it.
    public init(fileDescriptor: Int32, name: String = "stream") {
        self.name = name
        origin = .descriptor(StreamDescriptor(fileDescriptor))
        rest = Lock(Rest(), .part)
    }

    /// Creates a stream of what a closure hands over.
    ///
    /// - Parameters:
    ///   - name: The name that errors have for it.
    ///   - next: Returns the next bytes, as many as there are, and none at the end. One thread calls it, the reader's; it may
    ///     wait. An error that it throws ends the stream with that error, after the sound before it. While it waits, the
    ///     thread of a player that was stopped waits with it.
    public init(name: String = "stream", _ next: @escaping @Sendable () throws -> [UInt8]) {
        self.name = name
        origin = .closure(next)
        rest = Lock(Rest(), .part)
    }

    /// Ends the stream here: whoever reads it, or waits for bytes of it, comes to its end.
    public func cancel() {
        isCancelled.store(true, ordering: .releasing)
        if case .descriptor(let descriptor) = origin { descriptor.wake() }
    }

    /// Indicates whether ``cancel()`` was called.
    public var wasCancelled: Bool { isCancelled.load(ordering: .acquiring) }

    /// Waits for bytes and takes them, as many as there are and as there is room for.
    ///
    /// - Returns: The number of bytes: 0 at the end.
    func read(into room: UnsafeMutableRawBufferPointer) throws(AudioFileError) -> Int {
        if unsafe wasCancelled || room.isEmpty { return 0 }
        switch origin {
        case .memory: return unsafe take(room)
        case .descriptor(let descriptor):
            let (count, error) = unsafe descriptor.read(into: room) { wasCancelled }
            if error != 0 { throw AudioFileError(path: name, systemError: error, reading: true) }
            return wasCancelled ? 0 : count
        case .closure(let next):
            let count = unsafe take(room)
            if count > 0 { return count }
            do {
                let bytes = try next()
                rest.withLock { $0 = Rest(bytes: bytes) }
            } catch let error as AudioFileError {
                throw error
            } catch {
                throw AudioFileError(
                    path: name, reason: .system(EIO), cannot: "read", explanation: "the program says: \(error)")
            }
            return wasCancelled ? 0 : unsafe take(room)
        }
    }

    private func take(_ room: UnsafeMutableRawBufferPointer) -> Int {
        rest.withLock { rest in
            let count = min(room.count, rest.bytes.count - rest.first)
            unsafe room.copyBytes(from: rest.bytes[rest.first..<rest.first + count])
            rest.first += count
            if rest.first == rest.bytes.count { rest = Rest() }
            return count
        }
    }
}

/// A descriptor whose reader can be woken.
final class StreamDescriptor: Sendable {
    private let number: Int32
    private let error: Int32
    /// A pipe, to wake who waits.
    private let bell: (listen: Int32, ring: Int32)

    init(_ number: Int32) {
        self.number = fcntl(number, F_DUPFD_CLOEXEC, 3)
        error = self.number < 0 ? errno : 0
        var ends: [Int32] = [-1, -1]
        if unsafe pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
        }
        bell = (ends[0], ends[1])
    }

    deinit {
        if number >= 0 { close(number) }
        for end in [bell.listen, bell.ring] where end >= 0 { close(end) }
    }

    func wake() { _ = unsafe write(bell.ring, [1], 1) }

    /// Waits for bytes, and reads those that are there.
    ///
    /// - Returns: The number of bytes, 0 at the end, and the `errno` that ended it, 0 if none did.
    func read(
        into room: UnsafeMutableRawBufferPointer, until isOver: () -> Bool
    ) -> (read: Int, error: Int32) {
        if number < 0 { return (0, error) }
        while !isOver() {
            var wanted = [
                pollfd(fd: number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: bell.listen, events: Int16(POLLIN), revents: 0),
            ]
            // Without a bell it looks again by itself.
            if unsafe poll(&wanted, 2, bell.listen < 0 ? 50 : -1) <= 0 || wanted[0].revents == 0 { continue }
            // Bytes that nobody wants any more stay for the next reader.
            if isOver() { break }
            let count = unsafe Glibc.read(number, room.baseAddress, room.count)
            if count >= 0 { return (count, 0) }
            if errno != EINTR && errno != EAGAIN { return (0, errno) }
        }
        return (0, 0)
    }
}
