internal import Glibc

/// The reason why a file cannot be opened, read or written: an error of the system, and what to do about it.
package struct DiskFault: Error, Hashable, Sendable {
    /// The path of the file, as the program gave it.
    package let path: String
    /// The `errno`. What is not an ordinary file has that of a folder, or that of a device.
    package let code: Int32
    /// Indicates whether the file was to be read; else it was to be written.
    package let isReading: Bool

    /// Creates the fault for an `errno`.
    package init(path: String, code: Int32, reading isReading: Bool = false) {
        self.path = path
        self.code = code
        self.isReading = isReading
    }

    /// Returns the fault for what is not an ordinary file: a folder, a device, a pipe or a socket; `nil` for a file.
    init?(path: String, _ status: stat, reading isReading: Bool = false) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: self.init(path: path, code: EISDIR, reading: isReading)
        default: self.init(path: path, code: ENXIO, reading: isReading)
        }
    }

    /// What is wrong and what to do: the part of a sentence behind "Cannot write this file: ".
    package var explanation: String {
        switch code {
        case ENOENT where path.isEmpty: "it has no name; give it one"
        case ENOENT where isReading: "there is no such file; look at the name and at the folder"
        case EISDIR where isReading: "it is a folder; name a file in it"
        case EACCES where isReading, EPERM where isReading:
            "you may not read it; change the rights of the file or its folder"
        case EIO where isReading: "the disk cannot read it; copy what is left to another disk"
        case ENOENT: "the folder \"\(folder)\" does not exist; create it or choose another one"
        case ENOTDIR: "the folder \"\(folder)\" is not a folder; create it or choose another one"
        case EISDIR: "it is a folder; add a file name to it"
        case ENXIO, ESPIPE: "it is not an ordinary file; choose another name"
        case ENAMETOOLONG, ELOOP, EINVAL: "its name is impossible here; choose another one"
        case EACCES, EPERM:
            "you may not write there; change the rights of the file or its folder, or choose another"
        case EROFS: "the disk is read-only; choose another one"
        case ENOSPC, EDQUOT: "the disk is full; free some space or choose another disk"
        case EFBIG: "it became longer than the system allows; begin another file"
        default:
            "the system says \"\(unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)")\"; "
                + "try again or choose another disk"
        }
    }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
