import Glibc

/// Compiles loops into libraries.
final class Compiler {
    /// The programs and folders that it needs.
    struct Tools {
        let swiftc: String
        /// The folder of the build: modules, and the maps of those of C.
        let build: String
        /// The folder for libraries, which this program removes at its end.
        let folder: String
        /// Libraries of the user's own modules, and the folders in which the compiler finds them.
        var libraries: [String] = []
        var modules: [String] = []
    }
    var tools: Tools
    private lazy var maps: [String] =
        Folder.names(tools.build).sorted().filter { $0.hasSuffix(".build") }
        .map { "\(tools.build)/\($0)/module.modulemap" }.filter { Folder.read($0) != nil }
        + Folder.names("\(Places.root)/Sources/System").sorted().map {
            "\(Places.root)/Sources/System/\($0)/module.modulemap"
        }

    init(_ tools: Tools) { self.tools = tools }

    /// A version that is being compiled.
    struct Job {
        let number: Int
        let sources: LoopSources
        /// The folder with the copy of the sources.
        let folder: String
        let library: String
        fileprivate let process: ChildProcess
        let start: Double
    }

    /// The outcome of compiling.
    enum Outcome {
        /// It has become a library. The messages are warnings.
        case library(messages: [String])
        /// It does not compile: messages in the form that editors read, or a sentence.
        case refused(messages: [String])
        /// The compiler's cache of C modules was out of date, and has been removed: compile once more.
        case stale
    }

    /// The place of the call of the file's function.
    ///
    /// Its `run` stands before that of RenderStack in the loop's files. The one of RenderStack is made anew at each
    /// place that calls it: in a loop of 100 lines the compiler spends three quarters of its time on that.
    private static let entryName = "renderstack-live-entry.swift"
    private static let entry = """
        import RenderStackLive

        @_cdecl("renderstack_live_loop")
        public func renderstackLiveLoop(_ entry: UnsafeRawPointer) {
            LiveEntry.load(entry) { live in try loop(live) }
        }

        extension RenderContext {
            @inline(never) mutating func run<M: Module>(_ module: M) { runModule(module) }
        }

        """

    /// Begins to compile a version.
    func begin(_ number: Int, _ sources: LoopSources) throws(LiveError) -> Job {
        let folder = "\(tools.folder)/\(number)"
        let paths = try sources.write(to: folder, asCompiled: true)
        try Folder.write(Self.entry, to: "\(folder)/\(Self.entryName)")
        let library = "\(tools.folder)/loop\(number).so"
        // Without the names of inlined functions the watchdog would not find the line of the loop around them.
        let lines = unsafe getenv("RENDERSTACK_LIVE_WATCHED") == nil ? "-gline-tables-only" : "-g"
        var words = [tools.swiftc, "-O", "-wmo", lines, "-emit-library", "-parse-as-library"]
        words += ["-module-name", "loop\(number)", "-swift-version", "6", "-o", library]
        // Flags that differ from version to version would have the compiler make its modules of C anew each time.
        words += ["-diagnostic-style", "llvm", "-no-color-diagnostics"]
        words += ["-module-cache-path", cache, "-I", "\(tools.build)/Modules"]
        words += ["-Xcc", "-fno-omit-frame-pointer"]
        // These look for the earliest end of each module's life, through the whole function: with 200 modules, half of the time
        // that the compiler takes. A loop's modules live as long as the loop, and the code is the same.
        for pass in ["copy-propagation", "destroy-hoisting"] { words += ["-Xfrontend", "-enable-\(pass)=false"] }
        for map in maps { words += ["-Xcc", "-fmodule-map-file=\(map)"] }
        for module in tools.modules { words += ["-I", module] }
        words += ["-Xlinker", "--unresolved-symbols=ignore-all"]
        words += paths + ["\(folder)/\(Self.entryName)"] + tools.libraries
        let process = try ChildProcess(words, within: 60)
        return Job(
            number: number, sources: sources, folder: folder, library: library, process: process, start: now())
    }

    /// Returns what has become of a version; `nil` while it is being compiled.
    func poll(_ job: Job) -> Outcome? {
        guard let end = job.process.poll() else { return nil }
        let name = job.sources.files[0].path
        if job.process.tookTooLong {
            return .refused(messages: ["\(name):1:1: error: the compiler took more than a minute, and was ended"])
        }
        if end != .exited(0), !hasForgotten, isStale(job.process.output) {
            hasForgotten = true
            Folder.remove(cache)
            return .stale
        }
        let messages = messages(job.process.output, job)
        if end == .exited(0) { return .library(messages: messages) }
        let isCrash =
            job.process.output.contains("Stack dump:") || job.process.output.contains("Please submit a bug report")
        if case .killed(let signal) = end, !isCrash {
            return .refused(messages: ["\(name):1:1: error: the compiler was ended by signal \(signal)"])
        }
        if isCrash {
            let last = messages.filter { $0.contains(": error: ") }
            return .refused(
                messages: last + ["\(name):1:1: error: the compiler crashed over this version; write it in another way"]
            )
        }
        return .refused(
            messages: messages.isEmpty ? ["\(name):1:1: error: the compiler failed, and did not say why"] : messages)
    }

    private var cache: String { "\(tools.build)/LiveModules" }
    private var hasForgotten = false

    /// Indicates whether it was not the loop that failed: the folder has been moved, or the compiler is another one.
    private func isStale(_ output: String) -> Bool {
        ["is defined in both", "missing required module", "module cache path", "has been modified since", ".pcm"]
            .contains { output.contains($0) } && output.contains("<unknown>:0: error: ")
    }

    /// Ends a compilation that has been overtaken.
    func stop(_ job: Job) { job.process.stop() }

    /// The compiler's messages, but for those about the entry.
    private func messages(_ output: String, _ job: Job) -> [String] {
        var messages: [String] = []
        var isInEntry = false
        var output = output
        // The compiler leaves names as the copy of the sources spells them.
        for file in job.sources.files where file.path != file.spelled {
            output = output.replacing(file.spelled, with: file.path)
        }
        for line in output.split(separator: "\n").map(String.init) {
            let isMessage = ["error: ", "warning: ", "note: "].contains { line.contains($0) }
            if isMessage { isInEntry = line.contains(Self.entryName) }
            if isInEntry {
                if line.contains("error: ") {
                    let sentence = "error: the file needs a function `func loop(_ live: Live) throws -> RenderLoop`"
                    messages.append("\(job.sources.files[0].path):1:1: \(sentence), outside of any type")
                }
            } else if isMessage || !messages.isEmpty {
                let isNowhere = line.hasPrefix("<unknown>:0:")
                messages.append(isNowhere ? "\(job.sources.files[0].path):1:1:\(line.dropFirst(12))" : line)
            }
        }
        return messages
    }
}
