internal import DiskFiles
internal import Glibc
internal import RenderCore

/// The reason why an audio file could not be made, written or read: one sentence that says what to do.
///
///     Cannot write "takes/one.wav": the folder "takes" does not exist; create it or choose another one.
///
/// Threads: control.
public struct AudioFileError: Error, Hashable, CustomStringConvertible {
    /// The reasons for which an operation on a file fails.
    ///
    /// Threads: any.
    public enum Reason: Sendable, Hashable {
        /// There is no such file.
        case missingFile
        /// A folder on the way to the file does not exist.
        case missingFolder
        /// The path is not one of an ordinary file: a folder, a pipe, a device, an empty or impossible name.
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
        self.init(DiskFault(path: path, code: code, reading: reading))
    }

    /// Creates the error for a file that the system refused.
    init(_ fault: DiskFault) {
        let reason: Reason =
            switch fault.code {
            case ENOENT where fault.path.isEmpty: .notAFile
            case ENOENT where fault.isReading: .missingFile
            case ENOENT, ENOTDIR: .missingFolder
            case EISDIR, ENXIO, ESPIPE, ENAMETOOLONG, ELOOP, EINVAL: .notAFile
            case EACCES, EPERM, EROFS: .notPermitted
            case ENOSPC, EDQUOT: .diskFull
            case EFBIG: .tooLong
            default: .system(fault.code)
            }
        self.init(
            path: fault.path, reason: reason, cannot: fault.isReading ? "read" : "write",
            explanation: fault.explanation)
    }
}

/// Does what the system may refuse, and throws the error for the file.
func onDisk<Result: ~Copyable>(_ body: () throws(DiskFault) -> Result) throws(AudioFileError) -> Result {
    do throws(DiskFault) { return try body() } catch { throw AudioFileError(error) }
}

extension AudioFileError {
    /// Checks that frames that are read fit into a block.
    ///
    /// - Parameters:
    ///   - frames: The number of frames.
    ///   - channels: The number of their channels.
    ///   - block: The block.
    ///   - first: The first frame of the block to write.
    ///   - path: The file, or the name of the stream.
    static func checkRoom(
        for frames: Int, of channels: Int, in block: borrowing AudioBlock, at first: Int, path: String
    ) throws(AudioFileError) {
        let hasRoom =
            block.channelCount == channels && first >= 0 && frames >= 0 && first <= block.frameCount
            && frames <= block.frameCount - first
        if hasRoom { return }
        throw AudioFileError(
            path: path, reason: .unsuitableFormat, cannot: "read",
            explanation:
                "\(frames) frames of \(channels) channels do not fit behind frame \(first) of a block of "
                + "\(block.frameCount) frames of \(block.channelCount); give one that has room")
    }
}
