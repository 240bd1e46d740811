internal import Glibc
internal import RenderCore

/// The reason why an audio file could not be made, written or read: one sentence that says what to do.
///
///     Cannot write "takes/one.wav": the folder "takes" does not exist; create it or choose another one.
public struct AudioFileError: Error, Hashable, CustomStringConvertible {
    /// The reasons for which an operation on a file fails.
    public enum Reason: Sendable, Hashable {
        /// There is no such file.
        case missingFile
        /// A folder on the way to the file does not exist.
        case missingFolder
        /// The path is not one of an ordinary file: a folder, a pipe, an empty or impossible name.
        case notAFile
        /// The file has no byte in it.
        case empty
        /// The file's content is not audio, or audio of a kind that cannot be read here.
        case notAudio
        /// The file begins like an audio file, but the rest makes no sense.
        case damaged
        /// The format is a known one, but the library on this machine was built without it.
        case unavailable
        /// A frame was asked for that the file does not have.
        case outOfRange
        /// The file was removed, or replaced by another one, while it was being written.
        case deleted
        /// The rights to the file or its folder, or a medium that is read-only, forbid it.
        case notPermitted
        /// The disk, or the part of it that the user may fill, is full.
        case diskFull
        /// The file would become longer than its format, or the system, allows.
        case tooLong
        /// The sample rate, the number of channels or the shape of a block does not fit the format.
        case unsuitableFormat
        /// The file was finished before.
        case finished
        /// The system refused for another reason: an `errno`.
        case system(Int32)
    }

    /// The path of the file, as the program gave it.
    public let path: String
    /// The reason of the error.
    public let reason: Reason
    /// The sentence.
    public let description: String

    /// Creates an error with the sentence "Cannot `verb` "`path`": `explanation`."
    public init(path: String, reason: Reason, cannot verb: String = "write", explanation: String) {
        self.path = path
        self.reason = reason
        description = "Cannot \(verb) \"\(path.shown)\": \(explanation)."
    }

    /// Creates the error for an `errno` that the system gave while it opened, wrote or read this file.
    init(path: String, systemError code: Int32, reading: Bool = false) {
        let (reason, explanation): (Reason, String)
        switch code {
        case ENOENT where path.isEmpty:
            (reason, explanation) = (.notAFile, "it has no name; give it one")
        case ENOENT where reading:
            (reason, explanation) = (.missingFile, "there is no such file; look at the name and at the folder")
        case EISDIR where reading:
            (reason, explanation) = (.notAFile, "it is a folder; name a file in it")
        case EACCES where reading, EPERM where reading:
            (reason, explanation) = (
                .notPermitted, "you may not read it; change the rights of the file or its folder"
            )
        case EIO where reading:
            (reason, explanation) = (.system(EIO), "the disk cannot read it; copy what is left to another disk")
        case ENOENT, ENOTDIR:
            let folder = AudioFileError.folder(of: path)
            let fault = code == ENOENT ? "does not exist" : "is not a folder"
            (reason, explanation) = (
                .missingFolder, "the folder \"\(folder)\" \(fault); create it or choose another one"
            )
        case EISDIR:
            (reason, explanation) = (.notAFile, "it is a folder; add a file name to it")
        case ENXIO, ESPIPE:
            (reason, explanation) = (.notAFile, "it is not an ordinary file; choose another name")
        case ENAMETOOLONG, ELOOP, EINVAL:
            (reason, explanation) = (.notAFile, "its name is impossible here; choose another one")
        case EACCES, EPERM:
            (reason, explanation) = (
                .notPermitted, "you may not write there; change the rights of the file or its folder, or choose another"
            )
        case EROFS:
            (reason, explanation) = (.notPermitted, "the disk is read-only; choose another one")
        case ENOSPC, EDQUOT:
            (reason, explanation) = (.diskFull, "the disk is full; free some space or choose another disk")
        case EFBIG:
            (reason, explanation) = (.tooLong, "it became longer than the system allows; begin another file")
        default:
            let name = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
            (reason, explanation) = (.system(code), "the system says \"\(name)\"; try again or choose another disk")
        }
        self.init(path: path, reason: reason, cannot: reading ? "read" : "write", explanation: explanation)
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
