import Glibc
import RenderStackLive
import Synchronization

/// Plays a loop file until the end, and plays each version of it that is saved.
final class Player {
    private let options: LiveOptions
    private let console = Console()
    private let compiler: Compiler
    private let root: String
    private let session: Session
    private let renderer: Renderer
    private let performance: Performance?
    private let recorder: FileRecorder?
    private var modules: UserModules?
    private var output: (any RenderOutput)?
    private var subscriptions: [Subscription] = []

    /// The version on its way: being compiled, being tried, or waiting for the cross-fade before it to end.
    private enum Way {
        case compiling(Compiler.Job)
        case trying(Compiler.Job, ChildProcess)
        case waiting(Compiler.Job, LoopLibrary)
    }
    private var way: Way?
    private var waiting: LoopSources?
    private var lastNumber = 0
    private var loads = 0
    private var hasWarned = false

    init(_ options: LiveOptions, tools: Compiler.Tools, root: String) throws {
        self.options = options
        self.root = root
        compiler = Compiler(tools)
        renderer = Renderer()
        recorder = try options.record.map { folder in
            try Folder.make(folder)
            return try FileRecorder(path: "\(folder)/take.wav", format: .wav(.float32))
        }
        performance = try options.record.map { try Performance($0, rate: 48_000, channels: 2) }
        let console = console
        session = Session(
            options.loop, renderer: renderer, keeper: Keeper(followsFile: options.followsFile),
            fade: .seconds(options.fade), ringOut: .seconds(options.ringOut), recorder: recorder,
            say: { console.say($0) })
    }

    private func recordEvents() {
        guard let performance else { return }
        session.record = { [weak self] frame, text in
            do { try performance.note(frame, text) } catch { self?.say("\(error)") }
        }
    }

    private func say(_ text: String) { console.say(text) }

    /// Plays. Returns the exit status of the program.
    func play() async throws -> Int32 {
        defer { console.restore() }
        if options.new { try writeFirstLoop() }
        recordEvents()
        guard let first = LoopSources(options.loop) else {
            throw LiveError(
                "\(options.loop) cannot be read: \(Folder.exists(options.loop) ? "the folder has no Swift files" : errorText()). "
                    + "A first loop: scripts/live --new \(options.loop)")
        }
        modules = try UserModules(
            first, package: options.package, root: root, tools: compiler.tools, say: { [console] in console.say($0) })
        useModules()
        var watcher = Watcher(options.loop, first)
        begin(first)
        if case .file(let path) = options.output { return try await renderFile(path) }

        try session.prepare()
        try start()
        if let recorder, let performance {
            // Soon, so that its first frame is known.
            let first = renderer.sampleTime + Int64(renderer.sampleRate / 4)
            recorder.begin(at: .sample(first))
            try performance.begin(at: first)
        }
        let flag = Flag()
        let interruption = Task { if await !Interruption.wait() { flag.value.store(true, ordering: .relaxed) } }
        // The time that it plays begins when the first version does, or is refused.
        var end: Double?
        var drawn = 0.0
        playing: while !flag.value.load(ordering: .relaxed) {
            if end == nil, way == nil, waiting == nil { end = now() + (options.seconds ?? .infinity) }
            if let end, now() >= end { break }
            for order in console.orders(within: 5) where !obey(order) { break playing }
            switch watcher.look() {
            case .saved(let sources): begin(sources)
            case .gone: say("\(options.loop) is gone; the loop plays on.")
            case nil: break
            }
            lookAtModules(watcher)
            advance()
            session.lookAround()
            for sentence in mail.take() { say(sentence) }
            if now() - drawn > 0.1 {
                drawn = now()
                console.draw(status)
            }
        }
        interruption.cancel()
        stopWay()
        output?.stop()
        session.lookAround()
        try await finish()
        return 0
    }

    private final class Flag: Sendable { let value = Atomic<Bool>(false) }

    // MARK: Versions

    private func begin(_ sources: LoopSources) {
        waiting = sources
        // A version that is being compiled has been overtaken; one that is being tried is heard first.
        if case .compiling(let job) = way {
            compiler.stop(job)
            way = nil
        }
        advance()
    }

    /// Takes the version on its way a step further.
    private func advance() {
        switch way {
        case nil:
            guard let sources = waiting else { return }
            waiting = nil
            lastNumber += 1
            do { way = .compiling(try compiler.begin(lastNumber, sources)) } catch { say("\(error)") }
        case .compiling(let job):
            guard let outcome = compiler.poll(job) else { return }
            way = nil
            switch outcome {
            case .refused(let messages):
                // A file that is no text has as many mistakes as it has lines.
                for message in messages.prefix(60) { say(message) }
                if messages.count > 60 { say("… and \(messages.count - 60) lines more.") }
                refuse(job)
            case .library(let messages):
                for message in messages { say(message) }
                attempt(job) {
                    way = .trying(
                        job,
                        try Trial.begin(
                            job.library, libraries: compiler.tools.libraries, rate: renderer.sampleRate,
                            channels: renderer.channelCount))
                }
            }
        case .trying(let job, let process):
            guard let end = process.poll() else { return }
            way = nil
            if let sentence = Trial.sentence(process, end, job.sources) {
                say(sentence)
                return refuse(job)
            }
            attempt(job) {
                way = .waiting(job, try LoopLibrary(job.library))
                advance()
            }
        case .waiting(let job, let library):
            guard now() >= session.quietFrom else { return }
            way = nil
            attempt(job) {
                try session.add(Session.Version(number: job.number, sources: job.sources, library: library))
                try performance?.keep(job.number, job.sources)
                say("\(options.loop): version \(job.number), \(Int((now() - job.start) * 1_000)) ms")
            }
            tidy(job)
        }
    }

    private func attempt(_ job: Compiler.Job, _ body: () throws -> Void) {
        do { try body() } catch {
            say("\(job.sources.files[0].path):1:1: error: \(error)")
            refuse(job)
        }
    }

    private func refuse(_ job: Compiler.Job) {
        if output != nil {
            say(
                session.current.map { "Version \($0.number) plays on." }
                    ?? "Nothing plays yet: correct the file and save it.")
        }
        tidy(job)
    }

    /// Removes the files of a version: the library is in memory.
    private func tidy(_ job: Compiler.Job) {
        Folder.remove(job.folder)
        if unsafe getenv("RENDERSTACK_LIVE_WATCHED") == nil { Folder.remove(job.library) }
        loads += 1
        if loads % 32 == 0, !hasWarned, let warning = Mappings.now.warning {
            hasWarned = true
            say(warning)
        }
    }

    private func stopWay() {
        switch way {
        case .compiling(let job): compiler.stop(job)
        case .trying(_, let process): process.stop()
        default: break
        }
        way = nil
    }

    // MARK: Modules of the user's own

    private func useModules() {
        compiler.tools.libraries = modules?.libraries ?? []
        compiler.tools.modules = modules.map { [$0.modules] } ?? []
    }

    private func lookAtModules(_ watcher: Watcher) {
        guard let modules, modules.haveChanged() else { return }
        do {
            try modules.make()
            useModules()
            say("Modules of that package that are kept by name are made anew.")
            if let sources = LoopSources(options.loop) { begin(sources) }
        } catch {
            say("\(error)")
            say(session.current.map { "Version \($0.number) plays on." } ?? "Nothing plays yet.")
        }
    }

    // MARK: Orders

    /// Follows an order. `false` ends the program.
    private func obey(_ order: Console.Order) -> Bool {
        do {
            switch order {
            case .quit: return false
            case .mute:
                session.setMuted(!session.isMuted)
                say(session.isMuted ? "Muted." : "Heard again.")
            case .previous: say("Back to version \(try session.goBack()).")
            case .save(let name): say("Saved as \(try save(name)).")
            case .list: for parameter in session.parameters { say("    \(parameter)") }
            case .set(let name, let value): say("    \(try session.set(name, to: value))")
            case .status: say(status)
            case .help: say(LiveOptions.usage)
            case .unknown(let line):
                say(
                    "\"\(line)\" is no order. There are mute, previous, save, list, set NAME VALUE, status, help and quit."
                )
            }
        } catch { say("\(error)") }
        return true
    }

    /// Saves the version that is heard beside the loop.
    private func save(_ name: String?) throws(LiveError) -> String {
        guard let version = session.current else { throw LiveError("There is no version yet.") }
        let isFolder = Folder.exists(options.loop)
        var stem = options.loop
        while stem.hasSuffix("/") { stem.removeLast() }
        if stem.hasSuffix(".swift") { stem.removeLast(6) }
        let path = name ?? "\(stem).\(version.number)\(isFolder ? "" : ".swift")"
        if Folder.read(path) != nil || Folder.exists(path) {
            throw LiveError("\(path) exists already; give another name: save NAME")
        }
        if isFolder {
            _ = try version.sources.write(to: path)
        } else {
            try Folder.write(version.sources.files[0].text, to: path)
        }
        return path
    }

    /// Meters and load on one line.
    private var status: String {
        let levels = session.meter.levels.map { level in
            level.peak.isFinite ? "\((level.peak * 10).rounded() / 10) dB" : "-inf dB"
        }
        let statistics = output?.statistics
        let load = statistics.map {
            "load \(Int(($0.loadMedian * 100).rounded())) %, \($0.missedDeadlines) missed, \($0.faults) faults"
        }
        let parts = [
            session.current.map { "version \($0.number)" } ?? "no version", levels.joined(separator: "  "), load ?? "",
            session.isMuted ? "muted" : "",
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    // MARK: Sound

    private func start() throws {
        let output: any RenderOutput
        switch options.output {
        case .clock: output = ClockOutput(renderer)
        #if JACK
            case .jack: output = JACKOutput(renderer, name: "live")
        #endif
        #if ALSA
            case .alsa(let device): output = ALSAOutput(renderer, device: device)
        #endif
        default: output = try AudioOutput(renderer, name: "live")
        }
        let mail = mail
        subscriptions = [
            renderer.by({ $0() }) { event in mail.put("\(event)") },
            output.by({ $0() }) { event in mail.put("\(event)") },
        ]
        try output.start()
        self.output = output
        if renderer.sampleRate != 48_000 { try performance?.setRate(renderer.sampleRate) }
    }
    private let mail = Mail()

    private func writeFirstLoop() throws(LiveError) {
        if Folder.read(options.loop) != nil || Folder.exists(options.loop) {
            throw LiveError("\(options.loop) exists already: leave --new out to play it, or give another name.")
        }
        guard options.loop.hasSuffix(".swift") else {
            throw LiveError("\(options.loop): a loop's name ends in .swift.")
        }
        try Folder.write(firstLoop, to: options.loop)
        say("Wrote \(options.loop). Change a number in it, and save: you hear it at once.")
    }

    /// Waits until the first version plays.
    private func awaitFirst() throws {
        while way != nil || waiting != nil {
            advance()
            usleep(2_000)
        }
        if session.current == nil { throw LiveError("There is no version to render.") }
    }

    private func renderFile(_ path: String) async throws -> Int32 {
        try awaitFirst()
        let file = try FileOutput(renderer, path: path)
        try await file.run(for: .seconds(options.seconds ?? 0))
        try await file.finish()
        say("\(path): \(file.frameCount) frames")
        return 0
    }

    private func finish() async throws {
        if let output { say("\(output.statistics)") }
        subscriptions = []
        guard let recorder, let performance else { return }
        let end = renderer.sampleTime
        try await recorder.finish()
        try performance.note(end, "end")
        say("\(performance.folder): \(recorder.recordedFrameCount) frames, \(lastNumber) versions")
    }
}
