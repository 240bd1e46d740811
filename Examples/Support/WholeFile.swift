internal import DiskFiles

/// Files that an example writes in one go. A file gets its name when it is whole: what had the name stays as it was if the disk is
/// full, and gives the new file its mode. A device or a pipe is no file.
public enum WholeFile {
    /// Writes a text.
    public static func write(_ text: String, to path: String) throws(Unwritable) {
        try write(Array(text.utf8), to: path)
    }

    /// Writes bytes.
    public static func write(_ bytes: [UInt8], to path: String) throws(Unwritable) {
        do throws(DiskFault) {
            try Replacement.write(bytes, to: path)
        } catch {
            throw Unwritable(description: "\(path) cannot be written: \(error.explanation).")
        }
    }

    /// A file cannot be written.
    public struct Unwritable: Error, CustomStringConvertible {
        /// One sentence.
        public let description: String
    }
}
