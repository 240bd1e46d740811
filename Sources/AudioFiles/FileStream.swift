internal import CSndFile
internal import DiskFiles
internal import Glibc

/// An open file as the library sees it: every byte that it reads or writes passes here.
///
/// So it knows the `errno` of a failed call, and the bytes that a full disk cut off. A library that is lost in a
/// damaged file runs dry: it has a budget of bytes and calls for each request.
struct FileStream: ~Copyable {
    let file: FileDescriptor
    private let isWriting: Bool
    /// The byte at which the library is.
    private(set) var position: Int64 = 0
    /// Bytes in the file.
    private(set) var length: Int64
    /// The first `errno`, 0 before.
    private(set) var failure: Int32 = 0
    /// The byte at which the write began that failed.
    private(set) var failedAt: Int64 = 0
    /// Indicates whether the library asked for more than makes sense.
    private(set) var isExhausted = false
    private var bytesLeft: Int64 = .max
    private var callsLeft: Int64 = .max
    /// The bytes that are read in the place of a few bytes of the file.
    private var correction: (position: Int64, bytes: [UInt8])?
    /// The bytes that are read between two bytes of the file.
    private var insertion: (position: Int64, bytes: [UInt8])?
    /// The last page of an Ogg file that is written.
    var page: OggPage?
    /// A failure for tests: of a read from a byte of the file on, or of a write.
    var failsFrom: (position: Int64, error: Int32)?

    init(_ file: consuming FileDescriptor, isWriting: Bool) {
        length = isWriting ? 0 : file.length
        correction = isWriting ? nil : PromisedLength(of: file).correction
        if !isWriting, let frames = MPEGFrames(of: file) {
            insertion = (frames.start, frames.information)
            length += Int64(frames.information.count)
        }
        self.file = file
        self.isWriting = isWriting
    }

    /// Renews the budget before a call that makes the library read. The library needs far less for `bytes` bytes of
    /// samples, except in a file that leads it in circles.
    mutating func allow(_ bytes: Int64) {
        let all = 4 * length + 16 * bytes + (64 << 20)
        (bytesLeft, callsLeft) = (all, 1_000_000 + all / 64)
        isExhausted = false
    }

    /// Forgets that a read failed: the next one may succeed.
    mutating func clearFailure() { failure = 0 }

    mutating func seek(by offset: Int64, from origin: Int32) -> Int64 {
        if isSpent() { return -1 }
        let (target, overflow) =
            switch origin {
            case SEEK_CUR: position.addingReportingOverflow(offset)
            case SEEK_END: length.addingReportingOverflow(offset)
            default: (offset, false)
            }
        if overflow || target < 0 { return -1 }
        position = target
        return target
    }

    mutating func read(into bytes: UnsafeMutableRawBufferPointer) -> Int {
        if isSpent() || isWriting || failure != 0 { return 0 }
        bytesLeft -= Int64(bytes.count)
        if let failsFrom, position + Int64(bytes.count) > failsFrom.position {
            failure = failsFrom.error
            return 0
        }
        let (count, error) = unsafe readThrough(bytes)
        if error != 0 { failure = error }
        if let correction {
            for (index, byte) in correction.bytes.enumerated() {
                let place = correction.position + Int64(index) - position
                if place >= 0 && place < Int64(count) { unsafe bytes[Int(place)] = byte }
            }
        }
        position += Int64(count)
        return count
    }

    /// Reads the bytes for the library from its position on.
    private func readThrough(_ bytes: UnsafeMutableRawBufferPointer) -> (read: Int, error: Int32) {
        guard let insertion, position + Int64(bytes.count) > insertion.position else {
            return unsafe file.read(into: bytes, at: position)
        }
        var done = 0
        while done < bytes.count {
            let place = position + Int64(done) - insertion.position
            var rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
            if place >= 0 && place < Int64(insertion.bytes.count) {
                unsafe rest[0] = insertion.bytes[Int(place)]
                done += 1
                continue
            }
            if place < 0 && Int64(rest.count) > -place {
                unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[..<Int(-place)])
            }
            let first = place < 0 ? position + Int64(done) : insertion.position + place - Int64(insertion.bytes.count)
            let (count, error) = unsafe file.read(into: rest, at: first)
            done += count
            if error != 0 || count < rest.count { return (done, error) }
        }
        return (done, 0)
    }

    /// Writes bytes. After a failure only bytes that are in the file may be changed: its header.
    mutating func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        if !isWriting || (failure != 0 && position + Int64(bytes.count) > length) { return 0 }
        let (count, error) =
            if let failsFrom, position + Int64(bytes.count) > failsFrom.position {
                (0, failsFrom.error)
            } else {
                unsafe file.write(bytes, at: position)
            }
        if error != 0 && failure == 0 { (failure, failedAt) = (error, position) }
        unsafe page?.take(bytes, at: position)
        position += Int64(count)
        length = max(length, position)
        return count
    }

    /// Overwrites bytes behind the library's back.
    borrowing func patch(_ bytes: [UInt8], at position: Int64) {
        _ = unsafe bytes.withUnsafeBytes { unsafe file.write($0, at: position) }
    }

    /// Cuts off an incomplete write of a full disk.
    mutating func truncate(to newLength: Int64) {
        guard newLength < length else { return }
        file.truncate(to: newLength)
        length = newLength
        position = min(position, newLength)
    }

    private mutating func isSpent() -> Bool {
        callsLeft -= 1
        if callsLeft < 0 || bytesLeft < 0 { isExhausted = true }
        return isExhausted
    }

    consuming func close() -> Int32 { file.close() }
}

extension FileStream {
    /// Returns the functions that the library calls.
    static func callbacks() -> SF_VIRTUAL_IO {
        unsafe SF_VIRTUAL_IO(
            get_filelen: { unsafe FileStream.at($0).pointee.length },
            seek: { unsafe FileStream.at($2).pointee.seek(by: $0, from: $1) },
            read: { unsafe Int64(FileStream.at($2).pointee.read(into: .init(start: $0, count: Int(max(0, $1))))) },
            write: { unsafe Int64(FileStream.at($2).pointee.write(.init(start: $0, count: Int(max(0, $1))))) },
            tell: { unsafe FileStream.at($0).pointee.position })
    }

    private static func at(_ address: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<FileStream> {
        unsafe address!.assumingMemoryBound(to: FileStream.self)
    }
}
