internal import Glibc

/// A file that gets its name when it is whole, in the place of the file that has the name: until then, and after any failure, that
/// one is as it was. A replacement that goes without ``keep()`` takes its file with it.
///
/// The new file has the mode and, as far as the system lets this user give them, the owner and the group of the old one. A symlink
/// stays one: the file to which it leads is replaced.
package struct Replacement: ~Copyable, Sendable {
    /// The path, as the program gave it.
    package let path: String
    /// The path of the new file: hidden, in the folder of the old one, with the same extension.
    package let temporaryPath: String
    /// The path of the file that is to be replaced, behind all symlinks.
    private let target: String
    private let replacesFile: Bool
    private var isKept = false

    private init(path: String, target: String, temporaryPath: String, replacesFile: Bool) {
        self.path = path
        self.target = target
        self.temporaryPath = temporaryPath
        self.replacesFile = replacesFile
    }

    /// Creates an empty file beside the one that has the name.
    package init(of path: String) throws(DiskFault) {
        if path.utf8.contains(0) { throw DiskFault(path: path, code: EINVAL) }
        var old = stat()
        let isThere = unsafe stat(path, &old) == 0
        if !isThere && errno != ENOENT { throw DiskFault(path: path, code: errno) }
        if isThere, let fault = DiskFault(path: path, old) { throw fault }
        let target = try Replacement.followed(path, to: isThere ? old : nil)
        // Who may not write into the file may not replace it either, though its folder would let him.
        if unsafe isThere && faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0 {
            throw DiskFault(path: path, code: errno)
        }
        // A name that a folder cannot have would show only at the end.
        if target.utf8.count - Replacement.folder(of: target).utf8.count > 255 {
            throw DiskFault(path: path, code: ENAMETOOLONG)
        }
        let temporaryPath = Replacement.temporary(beside: target)
        let file = try FileDescriptor(new: temporaryPath, mode: isThere ? old.st_mode & 0o777 : 0o666, named: path)
        if isThere { file.take(over: old) }
        _ = file.close()
        self.init(path: path, target: target, temporaryPath: temporaryPath, replacesFile: isThere)
    }

    deinit {
        if !isKept { _ = unsafe unlink(temporaryPath) }
    }

    /// Gives the file the name, in the place of the old one.
    package consuming func keep() throws(DiskFault) {
        // After a loss of power either file is there, and not an empty one.
        if replacesFile { try store() }
        if unsafe rename(temporaryPath, target) != 0 { throw DiskFault(path: path, code: errno) }
        isKept = true
    }

    private borrowing func store() throws(DiskFault) {
        let code = try FileDescriptor(reading: temporaryPath).store()
        if code != 0 { throw DiskFault(path: path, code: code) }
    }

    /// Writes a whole file, in the place of the one that has the name.
    package static func write(_ bytes: [UInt8], to path: String) throws(DiskFault) {
        let replacement = try Replacement(of: path)
        let file = try FileDescriptor(creating: replacement.temporaryPath, named: path)
        let (error, closing) = (file.write(bytes, at: 0), file.close())
        if error != 0 || closing != 0 { throw DiskFault(path: path, code: error != 0 ? error : closing) }
        try replacement.keep()
    }

    /// Writes a whole file of text, in the place of the one that has the name.
    package static func write(_ text: String, to path: String) throws(DiskFault) {
        try write(Array(text.utf8), to: path)
    }

    // MARK: Names

    /// Returns the path behind all symlinks at the end of a path: that of the file, or the one at which there will be a file.
    private static func followed(_ path: String, to file: stat?) throws(DiskFault) -> String {
        var place = path
        var status = stat()
        var count = 0
        while unsafe lstat(place, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK {
            count += 1
            guard count <= 40 else { throw DiskFault(path: path, code: ELOOP) }
            var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let length = unsafe bytes.withUnsafeMutableBytes { room in
                unsafe readlink(place, room.baseAddress!.assumingMemoryBound(to: CChar.self), room.count)
            }
            guard length > 0 else { throw DiskFault(path: path, code: length < 0 ? errno : ENOENT) }
            guard let link = String(validating: bytes[..<length], as: UTF8.self) else {
                throw DiskFault(path: path, code: EINVAL)
            }
            place = link.hasPrefix("/") ? link : folder(of: place) + link
        }
        if place.isEmpty { throw DiskFault(path: path, code: ENOENT) }
        if place.hasSuffix("/") { throw DiskFault(path: path, code: EISDIR) }
        // The links of /proc say what a file was called, and another one may have that name now.
        guard let file else { return place }
        guard unsafe lstat(place, &status) == 0, status.st_ino == file.st_ino, status.st_dev == file.st_dev else {
            throw DiskFault(path: path, code: ENXIO)
        }
        return place
    }

    /// Returns the path up to the last slash; an empty one for the present folder.
    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    }

    private static func temporary(beside path: String) -> String {
        let folder = folder(of: path), name = path.dropFirst(folder.count)
        let ending = name.lastIndex(of: ".").map { name[$0...] } ?? ""
        let number = String(UInt64.random(in: 0 ... .max), radix: 36)
        return "\(folder).partial-\(number)\(ending.utf8.count > 32 ? "" : ending)"
    }
}

extension FileDescriptor {
    /// Gives the file the owner, the group and the mode of another one, as far as the system lets this user do so.
    borrowing func take(over old: stat) {
        var mode = old.st_mode & 0o7777
        if !give(owner: old.st_uid, group: old.st_gid) && !give(owner: .max, group: old.st_gid) {
            // What the old group might do, another one may not.
            mode &= 0o707
        }
        give(mode: mode)
    }

    /// Writes bytes at a position. Returns 0 or an `errno`.
    package borrowing func write(_ bytes: [UInt8], at position: Int64) -> Int32 {
        unsafe bytes.withUnsafeBytes { unsafe write($0, at: position).error }
    }
}
