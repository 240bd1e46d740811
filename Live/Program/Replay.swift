import Glibc
import RenderStackLive

/// A recorded performance that is rendered again: the same samples, as fast as the machine can.
enum Replay {
    static func run(_ folder: String, into path: String, package: String?, tools: Compiler.Tools) throws {
        let score = try Performance.Score(folder)
        if Folder.absolute(path) != nil, Folder.absolute(path) == Folder.absolute("\(folder)/take.wav") {
            throw LiveError("\(path) is the take itself; give another file.")
        }
        let renderer = Renderer(sampleRate: score.rate, channels: score.channels)
        let session = Session(
            folder, renderer: renderer, keeper: Keeper(followsFile: score.followsFile), fade: .zero, ringOut: .zero,
            recorder: nil, say: { write($0, to: STDOUT_FILENO) })
        let compiler = Compiler(tools)
        let modules = try UserModules(
            package: package ?? score.package, root: Places.root, tools: tools,
            say: { write($0, to: STDOUT_FILENO) })
        var libraries: [Int: Session.Version] = [:]
        var file = try AudioFileWriter(
            path: path, format: .wav(.float32), sampleRate: score.rate, channels: score.channels)
        for event in score.events {
            while renderer.sampleTime < event.frame {
                let isBefore = renderer.sampleTime < score.first
                let end = isBefore ? min(score.first, event.frame) : event.frame
                let block = renderer.renderOffline(frames: min(48_000, Int(end - renderer.sampleTime)))
                if !isBefore { try file.write(block) }
                session.lookAround()
            }
            let words = event.words
            switch (words[0], words.count) {
            case ("version", 4):
                guard let number = Int(words[1]), let fade = Double(words[2]), let ring = Double(words[3]),
                    abs(fade) <= 1e9, abs(ring) <= 1e9
                else { throw LiveError("\(folder)/performance.txt: \"\(words.joined(separator: " "))\" is no event") }
                session.fade = .seconds(fade)
                session.ringOut = .seconds(ring)
                let version = try libraries[number] ?? load(number, folder, compiler, modules)
                libraries[number] = version
                try session.add(version)
            case ("set", 3...):
                _ = try session.set(words[1..<words.count - 1].joined(separator: " "), to: words[words.count - 1])
            case ("mute", 2): session.setMuted(words[1] == "on")
            case ("end", 1): break
            default: throw LiveError("\(folder)/performance.txt: \"\(words.joined(separator: " "))\" is no event")
            }
        }
        try file.finish()
        write(
            "\(path): \(max(0, renderer.sampleTime - score.first)) frames, \(libraries.count) versions",
            to: STDOUT_FILENO)
    }

    private static func load(_ number: Int, _ folder: String, _ compiler: Compiler, _ modules: UserModules) throws
        -> Session.Version
    {
        guard let sources = LoopSources("\(folder)/versions/\(number)") else {
            throw LiveError("\(folder)/versions/\(number) cannot be read: \(errorText())")
        }
        if try modules.prepare(sources) {
            while try !modules.poll() { usleep(2_000) }
            compiler.tools.libraries = modules.libraries
            compiler.tools.modules = modules.modules
        }
        let job = try compiler.begin(number, sources)
        while true {
            switch compiler.poll(job) {
            case nil: usleep(2_000)
            case .refused(let messages):
                throw LiveError((messages + [modules.hint].compactMap(\.self)).joined(separator: "\n"))
            case .stale: return try load(number, folder, compiler, modules)
            case .library:
                return Session.Version(number: number, sources: sources, library: try LoopLibrary(job.library))
            }
        }
    }
}
