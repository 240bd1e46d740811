internal import CPluginHost
internal import DiskFiles
internal import Glibc
internal import RenderCore

/// A trial of plug-ins in a child process: which of them can be loaded and run, and why others cannot.
///
///     for result in try LV2Scan().run() { print(result) }
///
/// Each plug-in is loaded, run on silence and freed. One that crashes, ends the program, prints or never comes back harms the child
/// alone, which is this program started again (its `main` does not run). The results are kept in a file, and a plug-in is tried
/// again when its library or its description changes.
///
/// Threads: control.
public struct LV2Scan: Sendable {
    /// The outcome for a plug-in.
    ///
    /// Threads: control.
    public struct Result: Sendable, Hashable, CustomStringConvertible {
        /// The plug-in's URI.
        public let uri: String
        /// A sentence that says why the plug-in cannot be used; `nil` if it can.
        public let problem: String?
        /// Indicates whether the result was known from an earlier scan.
        public let isFromCache: Bool

        /// A text with the URI and the outcome.
        public var description: String { "\(uri): \(problem ?? "good")" }
    }

    /// The file that keeps the results; `nil` for none.
    public var cache: String?
    /// The time that a plug-in has for its trial.
    public var timeLimit: Duration
    /// Folders of plug-ins besides those that are installed.
    public var bundles: [String]

    /// Creates a scan.
    ///
    /// - Parameters:
    ///   - cache: The file that keeps the results; `nil` for none. In the user's folder for such files by default.
    ///   - timeLimit: The time that a plug-in has for its trial.
    ///   - bundles: Folders of plug-ins besides those that are installed.
    public init(
        cache: String? = LV2Scan.usualCache, timeLimit: Duration = .seconds(10), bundles: [String] = []
    ) {
        self.cache = cache
        self.timeLimit = timeLimit
        self.bundles = bundles
    }

    /// The file that keeps the results by default: `renderstack/lv2-scan` in `XDG_CACHE_HOME` or `~/.cache`.
    public static var usualCache: String? {
        func variable(_ name: String) -> String? {
            guard let value = unsafe getenv(name) else { return nil }
            let text = unsafe String(cString: value)
            return text.isEmpty ? nil : text
        }
        guard let folder = variable("XDG_CACHE_HOME") ?? variable("HOME").map({ $0 + "/.cache" }) else { return nil }
        return folder + "/renderstack/lv2-scan"
    }

    /// Tries plug-ins that the cache does not know.
    ///
    /// - Parameters:
    ///   - uris: The plug-ins; all of this machine by default.
    ///   - progress: Is called before each plug-in that is tried, with the number of those that are done, and of all.
    /// - Returns: A result for each, in their order.
    /// - Throws: A sentence: a child process cannot be started, or one of the folders is none.
    public func run(
        _ uris: [String]? = nil, progress: (_ done: Int, _ all: Int) -> Void = { _, _ in }
    ) throws(LV2Error) -> [Result] {
        for bundle in bundles { _ = unsafe try LV2Error.calling { unsafe clv2_load_bundle(bundle, $0) ? true : nil } }
        let uris = uris ?? LV2Description.uris
        let known = cache.map(ScanCache.read) ?? [:]
        var fresh: [String: ScanCache.Entry] = [:]
        var results: [Result] = []
        var child: ScanChild?
        defer { child?.end() }
        for (index, uri) in uris.enumerated() {
            let description: LV2Description
            do throws(LV2Error) { description = try LV2Description(uri: uri) } catch {
                results.append(Result(uri: uri, problem: "\(error)", isFromCache: false))
                continue
            }
            let stamp = ScanCache.stamp(of: description)
            if let entry = known[uri], entry.stamp == stamp {
                fresh[uri] = entry
                results.append(Result(uri: uri, problem: entry.problem, isFromCache: true))
                continue
            }
            progress(index, uris.count)
            var problem: String?
            if let missing = description.missingFeature {
                problem = "It requires \(missing), which RenderStack does not have."
            } else {
                var isFirst = child == nil
                repeat {
                    let trying: ScanChild
                    if let child { trying = child } else { trying = try ScanChild(bundles: bundles) }
                    switch trying.tries(uri, within: timeLimit) {
                    case .good: (child, problem) = (trying, nil)
                    case .bad(let sentence): (child, problem) = (trying, sentence)
                    case .ended(let sentence): (child, problem) = (nil, sentence)
                    }
                    // An earlier one may have brought the child down, by a thread that it left behind: a child of its own tells.
                    if child != nil || isFirst { break }
                    isFirst = true
                } while true
            }
            fresh[uri] = ScanCache.Entry(stamp: stamp, problem: problem)
            results.append(Result(uri: uri, problem: problem, isFromCache: false))
        }
        if let cache, results.contains(where: { !$0.isFromCache }) {
            ScanCache.write(known.merging(fresh) { $1 }, to: cache)
        }
        return results
    }
}

/// The child process of a scan.
private struct ScanChild {
    private let process: Int32
    private let to: Int32
    private let from: Int32

    enum Outcome {
        case good
        case bad(String)
        /// There is no child any more.
        case ended(String)
    }

    init(bundles: [String]) throws(LV2Error) {
        var (to, from): (Int32, Int32) = (-1, -1)
        process = unsafe try LV2Error.calling { error in
            let process = unsafe clv2_scan_start(&to, &from, error)
            return process < 0 ? nil : process
        }
        (self.to, self.from) = (to, from)
        for bundle in bundles { write("bundle \(bundle)") }
    }

    /// Has the child try a plug-in.
    func tries(_ uri: String, within limit: Duration) -> Outcome {
        write(uri)
        let end = ContinuousClock.now + limit
        var begun = false
        var line: [UInt8] = []
        while true {
            let left = max(.zero, end - ContinuousClock.now) / .milliseconds(1)
            var waiting = pollfd(fd: from, events: Int16(POLLIN), revents: 0)
            let count = unsafe poll(&waiting, 1, Int32(min(left, 1e8)))
            if count < 0 && errno == EINTR { continue }
            if count == 0 {
                kill(process, SIGKILL)
                _ = reap()
                return .ended("It does not come back within \(limit).")
            }
            var byte: UInt8 = 0
            guard unsafe read(from, &byte, 1) == 1 else { return .ended(reap(within: limit)) }
            if byte != UInt8(ascii: "\n") {
                line.append(byte)
                continue
            }
            let text = String(decoding: line, as: UTF8.self)
            line = []
            if text == "begin \(uri)" {
                begun = true
            } else if begun && text.hasPrefix("good ") {
                return .good
            } else if begun && text.hasPrefix("bad ") {
                return .bad(text.dropFirst(4) + ".")
            }
        }
    }

    func end() {
        close(to)
        kill(process, SIGKILL)
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
        close(from)
    }

    private func write(_ line: String) {
        // A child that has died makes no signal of the pipe, but an error: its answers tell.
        var set = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &set, &before)
        let bytes = Array((line + "\n").utf8)
        if unsafe Glibc.write(to, bytes, bytes.count) < 0 && errno == EPIPE {
            var now = timespec(tv_sec: 0, tv_nsec: 0)
            _ = unsafe sigtimedwait(&set, nil, &now)
        }
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    /// Waits for the end of the child, and says how it ended. A child that has closed its files and lives on is ended.
    private func reap(within limit: Duration = .zero) -> String {
        close(to)
        close(from)
        var status: Int32 = 0
        let end = ContinuousClock.now + limit
        var isLate = false
        while unsafe waitpid(process, &status, WNOHANG) == 0 {
            if ContinuousClock.now >= end {
                isLate = true
                kill(process, SIGKILL)
            }
            usleep(2_000)
        }
        if isLate { return "It does not come back within \(limit)." }
        let signal = status & 0x7F
        return signal != 0
            ? "It crashes when it is tried (signal \(signal))."
            : "It ends the program that tries it (status \(status >> 8 & 0xFF))."
    }
}

/// The results of earlier scans: a file with a line for each plug-in.
private enum ScanCache {
    struct Entry {
        let stamp: String
        let problem: String?
    }

    private static var title: String { "RenderStack LV2 scan 1" }

    /// Returns a text that changes when the plug-in's files do.
    static func stamp(of plugin: LV2Description) -> String {
        [plugin.library, plugin.bundle + "manifest.ttl"].map { path in
            var about = stat()
            guard unsafe stat(path, &about) == 0 else { return "-" }
            return "\(about.st_mtim.tv_sec).\(about.st_mtim.tv_nsec).\(about.st_size)"
        }.joined(separator: "/")
    }

    static func read(_ path: String) -> [String: Entry] {
        guard let file = try? FileDescriptor(reading: path) else { return [:] }
        let lines = String(decoding: file.read(.max, at: 0).bytes, as: UTF8.self).split(separator: "\n")
        guard lines.first.map(String.init) == title else { return [:] }
        var entries: [String: Entry] = [:]
        for line in lines.dropFirst() {
            let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard words.count == 3 else { continue }
            entries[words[0]] = Entry(stamp: words[1], problem: words[2].isEmpty ? nil : words[2])
        }
        return entries
    }

    /// Writes the file as a whole or not at all: a scan without one is only slower.
    static func write(_ entries: [String: Entry], to path: String) {
        var folder = ""
        for part in path.split(separator: "/").dropLast() {
            folder += "/" + part
            unsafe mkdir(folder, 0o755)
        }
        let lines = entries.sorted { $0.key < $1.key }.map { uri, entry in
            "\(uri)\t\(entry.stamp)\t\((entry.problem ?? "").filter { $0 != "\t" && !$0.isNewline })"
        }
        try? Replacement.write(([title] + lines).joined(separator: "\n") + "\n", to: path)
    }
}
