internal import Glibc

/// A file that gets its name when it is whole, so that no program takes a half one for it.
public struct Draft: Sendable {
    /// The name that it is to have.
    public let path: String
    /// The name that it has until then, beside it: hidden, with the same extension.
    public let temporaryPath: String

    /// Makes a draft of a file. A device or a pipe is written as it is.
    public init(of path: String) {
        self.path = path
        var status = stat()
        let isSpecial = unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
        let split = path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex
        temporaryPath = isSpecial ? path : path[..<split] + ".partial-" + path[split...]
    }

    /// Gives it its name, in the place of what has it.
    ///
    /// - Throws: An error if that fails.
    public func keep() throws(Unkept) {
        if temporaryPath != path { try Self.rename(temporaryPath, to: path) }
    }

    /// Gives a file another name, in the place of what has it.
    ///
    /// - Throws: An error if that fails.
    public static func rename(_ path: String, to name: String) throws(Unkept) {
        if unsafe Glibc.rename(path, name) != 0 {
            throw Unkept(description: "\(name) cannot be replaced: \(unsafe String(cString: strerror(errno)))")
        }
    }

    /// Throws it away.
    public func discard() {
        if temporaryPath != path { _ = unsafe unlink(temporaryPath) }
    }

    /// Returns an error that says the name that the file was to have, where it says the other one.
    public func explained(_ error: any Error) -> any Error {
        let sentence = "\(error)"
        guard temporaryPath != path, sentence.contains(temporaryPath) else { return error }
        return Unkept(description: sentence.replacing(temporaryPath, with: path))
    }

    /// It cannot get its name.
    public struct Unkept: Error, CustomStringConvertible {
        /// One sentence.
        public let description: String
    }
}
