import DiskFiles
import Glibc

/// The text of a loop: of a file, or of all Swift files of a folder.
struct LoopSources: Equatable {
    /// A file.
    struct File: Equatable {
        /// Its path, as the user wrote it.
        let path: String
        let text: [UInt8]
        /// The path between quotation marks in a source.
        var spelled: String { String(path.flatMap { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }) }
    }
    let files: [File]

    /// Reads a file or a folder; `nil` if there is no such thing, or it is being exchanged at this moment.
    init?(_ path: String) {
        var files: [File] = []
        for path in Self.paths(path) {
            guard var text = Folder.read(path) else { return nil }
            // Some editors of other systems begin a file with this mark, which the compiler knows at that place alone.
            if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
            files.append(File(path: path, text: text))
        }
        if files.isEmpty { return nil }
        self.files = files
    }

    /// The files of a loop: the file itself, or those of the folder.
    private static func paths(_ path: String) -> [String] {
        if !Folder.exists(path) { return [path] }
        return Folder.names(path).filter { $0.hasSuffix(".swift") && !$0.hasPrefix(".") }.sorted()
            .map { path.hasSuffix("/") ? path + $0 : "\(path)/\($0)" }.filter { !Folder.exists($0) }
    }

    /// The reason for which a loop cannot be read.
    static func fault(_ path: String) -> String {
        let paths = paths(path)
        if paths.isEmpty { return "\(path) cannot be read: the folder has no Swift files" }
        for path in paths where Folder.read(path) == nil {
            let reason = errorText()
            let isOdd = path.unicodeScalars.contains("\u{FFFD}")
            return "\(path) cannot be read: \(isOdd ? "its name is not UTF-8" : reason)"
        }
        return "\(path) was being exchanged"
    }

    /// Writes the files into a folder, which is made. Returns their paths there.
    ///
    /// - Parameter asCompiled: `true` to have the compiler take each file for the user's own, in messages and in the tables
    ///   by which a trap or the watchdog finds its line.
    func write(to folder: String, asCompiled: Bool = false) throws(LiveError) -> [String] {
        try Folder.make(folder)
        var paths: [String] = []
        for (index, file) in files.enumerated() {
            let path =
                asCompiled
                ? "\(folder)/source-\(index).swift"
                : "\(folder)/\(file.path.split(separator: "/").last ?? "loop.swift")"
            let place = "#sourceLocation(file: \"\(file.spelled)\", line: 1)\n"
            try Folder.write(asCompiled ? Array(place.utf8) + file.text : file.text, to: path)
            paths.append(path)
        }
        return paths
    }

    /// The names of the modules that the files import.
    var imports: Set<String> {
        var names: Set<String> = []
        for file in files { names.formUnion(Imports.of(String(decoding: file.text, as: UTF8.self))) }
        return names
    }
}

/// Notices that a loop was saved.
///
/// It looks at the files' times, sizes and numbers many times a second, and not at the events of the kernel: so it works in
/// every way of saving and on every file system. A save counts when the files have stayed as they are for a moment.
struct Watcher {
    let path: String
    private var stamp: [Folder.Stamp] = []
    private var seen: LoopSources
    private var changed: Double?
    private var firstChange: Double?
    /// The time since which the loop cannot be read.
    private var missing: Double?
    private var hasToldMissing = false

    init(_ path: String, _ sources: LoopSources) {
        self.path = path
        seen = sources
        stamp = Folder.stamps(path)
    }

    /// The changes that were noticed.
    enum Notice {
        case saved(LoopSources)
        case gone
    }

    /// Looks at the files.
    mutating func look() -> Notice? {
        let time = now()
        let new = Folder.stamps(path)
        if new != stamp {
            stamp = new
            changed = time
            firstChange = firstChange ?? time
        }
        // Two looks are alike; or the files are being saved without end.
        guard let first = firstChange, let last = changed, time - last >= 0.02 || time - first >= 0.3 else {
            return nil
        }
        guard let sources = LoopSources(path) else {
            missing = missing ?? time
            if time - missing! > 1.5 && !hasToldMissing {
                hasToldMissing = true
                return .gone
            }
            return nil
        }
        // They were written to while they were read: once more.
        if Folder.stamps(path) != stamp && time - first < 0.3 { return nil }
        (changed, firstChange, missing, hasToldMissing) = (nil, nil, nil, false)
        if sources == seen { return nil }
        // A file that is emptied before it is written again.
        if sources.files.contains(where: \.text.isEmpty) && time - last < 0.2 {
            (changed, firstChange) = (last, first)
            return nil
        }
        seen = sources
        return .saved(sources)
    }
}

/// The file system.
enum Folder {
    struct Stamp: Equatable {
        let name: String
        let node: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    static func names(_ path: String) -> [String] {
        guard let folder = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { place in
                unsafe place.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    static func stamps(_ path: String) -> [Stamp] {
        let isSource = { (name: String) in name.hasSuffix(".swift") && !name.hasPrefix(".") }
        let paths = exists(path) ? names(path).filter(isSource).sorted().map { "\(path)/\($0)" } : [path]
        return paths.map { path in
            var status = stat()
            if unsafe stat(path, &status) != 0 {
                return Stamp(name: path, node: 0, size: -1, seconds: 0, nanoseconds: 0)
            }
            return Stamp(
                name: path, node: UInt(status.st_ino), size: Int(status.st_size), seconds: status.st_mtim.tv_sec,
                nanoseconds: status.st_mtim.tv_nsec)
        }
    }

    /// Returns what is in a file. A pipe or a device has no end that one could wait for: `nil`, as for a file of over 64 MB.
    static func read(_ path: String) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { return nil }
        if status.st_mode & S_IFMT != S_IFREG {
            errno = status.st_mode & S_IFMT == S_IFDIR ? EISDIR : ESPIPE
            return nil
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe Glibc.read(file, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0 && errno == EINTR { continue }
            if count > 0 && bytes.count > 64 << 20 { errno = EFBIG }
            if count < 0 || bytes.count > 64 << 20 { return nil }
            bytes += buffer[..<count]
        }
    }

    static func text(_ path: String) -> String? { read(path).map { String(decoding: $0, as: UTF8.self) } }

    static func write(_ bytes: [UInt8], to path: String) throws(LiveError) {
        do throws(DiskFault) { try Replacement.write(bytes, to: path) } catch { throw LiveError(error) }
    }

    /// Writes behind what a file has.
    static func append(_ text: String, to path: String) throws(LiveError) {
        do throws(DiskFault) {
            let file = try FileDescriptor(appendingTo: path)
            let (error, closing) = (file.write(Array(text.utf8), at: file.length), file.close())
            if error != 0 || closing != 0 { throw DiskFault(path: path, code: error != 0 ? error : closing) }
        } catch { throw LiveError(error) }
    }

    static func write(_ text: String, to path: String) throws(LiveError) { try write(Array(text.utf8), to: path) }

    static func make(_ path: String) throws(LiveError) {
        if exists(path) { return }
        let parts = path.split(separator: "/").dropLast()
        if !parts.isEmpty {
            let outer = (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
            if !exists(outer) { try make(outer) }
        }
        if unsafe mkdir(path, 0o777) == 0 { return }
        // Of the making, and not of the look at whether another program has made it meanwhile.
        let error = errno
        if !exists(path) { throw LiveError("The folder \(path) cannot be made: \(errorText(error)).") }
    }

    /// Removes a folder of this program's own with all that is in it.
    static func remove(_ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in names(path) { remove("\(path)/\(name)") }
            unsafe rmdir(path)
        } else {
            unsafe unlink(path)
        }
    }

    /// Returns the whole path of something that exists.
    static func absolute(_ path: String) -> String? {
        guard let text = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }
}

extension LiveError {
    init(_ fault: DiskFault) { self.init("\(fault.path) cannot be written: \(fault.explanation).") }
}
