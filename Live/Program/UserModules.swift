import Glibc

/// The user's own modules: library targets of a package that depends on RenderStack.
final class UserModules {
    /// The folder of the package; `nil` until a loop imports one of its targets.
    private(set) var package: String?
    private let root: String
    private let tools: Compiler.Tools
    private let say: (String) -> Void
    private var names: Set<String> = []
    private var stamps: [Folder.Stamp] = []
    private var sources: [String] = []
    private var build = 0
    private var nextLook = 0.0
    /// The libraries that are loaded.
    private(set) var libraries: [String] = []
    /// The folder in which the compiler finds the modules.
    var modules: [String] { package.map { ["\($0)/.build/release/Modules"] } ?? [] }
    /// A sentence about imports for which there is no package.
    private(set) var hint: String?

    /// The work under way: targets that are yet to be built, or the library that is being linked.
    private enum Work {
        case building(ChildProcess, next: [String])
        case linking(ChildProcess, library: String, sources: [String])
    }
    private var work: Work?
    /// Indicates whether modules are being built.
    var isBusy: Bool { work != nil }

    /// - Parameter package: The folder of the package; by default that which is around the loop.
    init(package: String?, root: String, tools: Compiler.Tools, say: @escaping (String) -> Void) throws(LiveError) {
        (self.root, self.tools, self.say) = (root, tools, say)
        guard let package else { return }
        guard let found = Folder.absolute(package), Folder.read("\(found)/Package.swift") != nil else {
            throw LiveError("--package \(package): there is no Package.swift")
        }
        self.package = found
    }

    /// Ends what is being built.
    func stop() {
        switch work {
        case .building(let process, _), .linking(let process, _, _): process.stop()
        case nil: break
        }
        work = nil
    }

    /// Begins to build the targets that a loop imports and that are not built yet. Returns whether there are any.
    func prepare(_ loop: LoopSources) throws(LiveError) -> Bool {
        hint = nil
        let own = loop.imports.filter { name in
            Folder.read("\(tools.build)/Modules/\(name).swiftmodule") == nil && !UserModules.isOfSystem(name, tools)
        }
        if own.isSubset(of: names) { return false }
        let first = loop.files[0].path
        if package == nil {
            package = Folder.absolute(first).flatMap { UserModules.package(around: $0, but: root) }
        }
        guard package != nil else {
            hint =
                "\(first):1:1: note: there is no package around the loop that could have the module "
                + "\(own.sorted().joined(separator: ", ")); name one with --package"
            return false
        }
        names.formUnion(own)
        do { try begin() } catch {
            names.subtract(own)
            throw error
        }
        return true
    }

    private static func isOfSystem(_ name: String, _ tools: Compiler.Tools) -> Bool {
        if ["Swift", "Glibc", "Foundation", "FoundationEssentials", "Dispatch", "Synchronization"].contains(name) {
            return true
        }
        let folder = tools.swiftc.split(separator: "/").dropLast(2).joined(separator: "/")
        return Folder.exists("/\(folder)/lib/swift/linux/\(name).swiftmodule")
    }

    private static func package(around path: String, but root: String) -> String? {
        var parts = path.split(separator: "/").dropLast()
        while !parts.isEmpty {
            let folder = "/" + parts.joined(separator: "/")
            if folder != root, Folder.read("\(folder)/Package.swift") != nil { return folder }
            parts = parts.dropLast()
        }
        return nil
    }

    /// Returns whether a source has changed since the modules were built. It looks ten times a second.
    func haveChanged() -> Bool {
        if isBusy || names.isEmpty || now() < nextLook { return false }
        nextLook = now() + 0.1
        return look() != stamps
    }

    /// The stamps of all sources, of the package's manifest, and of the folders, in which files can come and go.
    private func look() -> [Folder.Stamp] {
        let folders = Set(sources.map { $0.components(beforeLast: "/") })
        return (sources + [package ?? ""].map { "\($0)/Package.swift" }).flatMap(Folder.stamps)
            + folders.sorted().flatMap(Folder.stamps)
    }

    /// Begins to build the modules.
    func begin() throws(LiveError) {
        guard let package else { return }
        stamps = look()
        say("Building \(names.sorted().joined(separator: ", ")) of \(package) …")
        try buildNext(names.sorted())
    }

    private func buildNext(_ waiting: [String]) throws(LiveError) {
        guard let name = waiting.first, let package else { return try link() }
        // `swift` is beside `swiftc`.
        let words = [
            String(tools.swiftc.dropLast()), "build", "-c", "release", "--package-path", package, "--target", name,
        ]
        work = .building(try ChildProcess(words, within: 1_800), next: Array(waiting.dropFirst()))
    }

    /// Takes the work a step further. Returns whether all modules have become loaded.
    func poll() throws(LiveError) -> Bool {
        switch work {
        case nil: return false
        case .building(let process, let next):
            guard let end = process.poll() else { return false }
            work = nil
            guard end == .exited(0) else {
                // The targets are asked for again at the next save.
                if libraries.isEmpty { names = [] }
                let errors = process.output.split(separator: "\n").filter { $0.contains("error:") }
                throw LiveError(errors.isEmpty ? process.output : errors.joined(separator: "\n"))
            }
            try buildNext(next)
            return false
        case .linking(let process, let library, let files):
            guard let end = process.poll() else { return false }
            work = nil
            guard end == .exited(0) else { throw LiveError("The modules cannot be linked: \(process.output)") }
            guard unsafe dlopen(library, RTLD_NOW | RTLD_LOCAL) != nil else {
                throw LiveError("The modules cannot be loaded: \(unsafe String(cString: dlerror()))")
            }
            sources = files
            stamps = look()
            libraries = [library]
            return true
        }
    }

    private func link() throws(LiveError) {
        guard let package else { return }
        let folder = "\(package)/.build/release"
        guard let core = Folder.text("\(folder)/RenderCore.build/sources")?.split(separator: "\n").first else {
            throw LiveError("\(package) does not depend on RenderStack.")
        }
        let place = Folder.absolute(String(core).trimmed) ?? String(core)
        guard place.hasPrefix(root + "/") else {
            let other = place.components(before: "/Sources/RenderCore")
            throw LiveError("\(package) uses the RenderStack in \(other): run \(other)/scripts/live.")
        }
        var (waiting, targets, files): ([String], [String], [String]) = (names.sorted(), [], [])
        while let name = waiting.popLast() {
            if targets.contains(name) { continue }
            targets.append(name)
            let list =
                Folder.text("\(folder)/\(name).build/sources")?.split(separator: "\n").map { String($0).trimmed } ?? []
            files += list
            for path in list {
                for other in LoopSources(path)?.imports ?? []
                where !targets.contains(other) && !waiting.contains(other)
                    && Folder.read("\(tools.build)/Modules/\(other).swiftmodule") == nil
                    && Folder.exists("\(folder)/\(other).build")
                {
                    waiting.append(other)
                }
            }
        }
        build += 1
        let library = "\(tools.folder)/modules\(build).so"
        var objects: [String] = []
        for target in targets {
            objects += Folder.names("\(folder)/\(target).build").filter { $0.hasSuffix(".o") }
                .map { "\(folder)/\(target).build/\($0)" }
        }
        let words = [
            tools.swiftc, "-emit-library", "-o", library, "-Xlinker", "--unresolved-symbols=ignore-all",
        ]
        work = .linking(try ChildProcess(words + objects, within: 60), library: library, sources: files)
    }
}

extension String {
    /// The text without white space and quotation marks at its ends.
    var trimmed: String {
        var text = self[...]
        while let last = text.last, last.isWhitespace || last == "'" || last == "\"" { text.removeLast() }
        while let first = text.first, first.isWhitespace || first == "'" || first == "\"" { text.removeFirst() }
        return String(text)
    }

    /// The text before the last of a character.
    func components(beforeLast character: Character) -> String {
        lastIndex(of: character).map { String(self[..<$0]) } ?? ""
    }

    /// The text before a part of it.
    func components(before part: String) -> String {
        firstRange(of: part).map { String(self[..<$0.lowerBound]) } ?? self
    }
}
