import Glibc

/// The user's own modules: library targets of a package that depends on RenderStack.
final class UserModules {
    private let package: String
    private let root: String
    private let tools: Compiler.Tools
    private let say: (String) -> Void
    private let names: [String]
    private var stamps: [Folder.Stamp] = []
    private var sources: [String] = []
    private var build = 0
    /// The libraries that are loaded, and the folder of the modules.
    private(set) var libraries: [String] = []
    var modules: String { "\(package)/.build/release/Modules" }

    /// Finds the targets that a loop imports; `nil` if it imports none.
    init?(
        _ loop: LoopSources, package: String?, root: String, tools: Compiler.Tools, say: @escaping (String) -> Void
    ) throws(LiveError) {
        let own = loop.imports.filter { name in
            Folder.read("\(tools.build)/Modules/\(name).swiftmodule") == nil && !UserModules.isOfSystem(name, tools)
        }
        if own.isEmpty { return nil }
        let first = loop.files[0].path
        guard let place = Folder.absolute(first),
            let found = package.flatMap({ Folder.absolute($0) }) ?? UserModules.package(around: place, but: root)
        else {
            throw LiveError(
                "\(first):1:1: error: it imports \(own.sorted().joined(separator: ", ")), and there is no package around it; "
                    + "name the package of that library target with --package")
        }
        (self.package, self.root, self.tools, self.say, names) = (found, root, tools, say, own.sorted())
        try make()
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

    /// Returns whether a source has changed since the modules were built.
    func haveChanged() -> Bool { sources.flatMap(Folder.stamps) != stamps }

    /// Builds the modules, and links those that changed into a library.
    func make() throws(LiveError) {
        stamps = sources.flatMap(Folder.stamps)
        say("Building \(names.joined(separator: ", ")) of \(package) …")
        let swift = tools.swiftc.dropLast()
        for name in names {
            let process = try ChildProcess(
                [String(swift), "build", "-c", "release", "--package-path", package, "--target", name], within: 1_800)
            guard process.wait() == .exited(0) else {
                let errors = process.output.split(separator: "\n").filter { $0.contains("error:") }
                throw LiveError(errors.isEmpty ? process.output : errors.joined(separator: "\n"))
            }
        }
        let folder = "\(package)/.build/release"
        guard let core = Folder.text("\(folder)/RenderCore.build/sources")?.split(separator: "\n").first else {
            throw LiveError("\(package) does not depend on RenderStack.")
        }
        let place = Folder.absolute(String(core).trimmed) ?? String(core)
        guard place.hasPrefix(root + "/") else {
            let other = place.components(before: "/Sources/RenderCore")
            throw LiveError("\(package) uses the RenderStack in \(other): run \(other)/scripts/live.")
        }
        var (waiting, targets, files): ([String], [String], [String]) = (names, [], [])
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
        let link = try ChildProcess(
            [tools.swiftc, "-emit-library", "-o", library, "-Xlinker", "--unresolved-symbols=ignore-all"] + objects,
            within: 60)
        guard link.wait() == .exited(0) else { throw LiveError("The modules cannot be linked: \(link.output)") }
        guard unsafe dlopen(library, RTLD_NOW | RTLD_LOCAL) != nil else {
            throw LiveError("The modules cannot be loaded: \(unsafe String(cString: dlerror()))")
        }
        sources = files
        stamps = sources.flatMap(Folder.stamps)
        libraries = [library]
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

    /// The text before a part of it.
    func components(before part: String) -> String {
        firstRange(of: part).map { String(self[..<$0.lowerBound]) } ?? self
    }
}
