import Glibc
import RenderStackLive
import Synchronization

/// Plays a loop file until the end, and plays each version of it that is saved.
final class Player {
    let options: LiveOptions
    let console = Console()
    private let compiler: Compiler
    private let root: String
    let session: Session
    private let renderer: Renderer
    private let performance: Performance?
    private let recorder: FileRecorder?
    private let modules: UserModules
    private(set) var output: (any RenderOutput)?
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
    private var hasToldSilence = false
    /// The number of versions to go back by, as soon as the cross-fade that is under way is over.
    var steps = 0

    init(_ options: LiveOptions, tools: Compiler.Tools, root: String) throws {
        self.options = options
        self.root = root
        compiler = Compiler(tools)
        renderer = Renderer()
        performance = try options.record.map {
            try Performance($0, rate: 48_000, channels: 2, followsFile: options.followsFile)
        }
        recorder = try options.record.map { try FileRecorder(path: "\($0)/take.wav", format: .wav(.float32)) }
        let console = console
        session = Session(
            options.loop, renderer: renderer, keeper: Keeper(followsFile: options.followsFile),
            fade: .seconds(options.fade), ringOut: .seconds(options.ringOut), recorder: recorder,
            say: { console.say($0) })
        modules = try UserModules(
            package: options.package, root: root, tools: tools, say: { console.say($0) })
    }

    private func recordEvents() {
        guard let performance else { return }
        session.record = { [weak self] frame, text in
            do { try performance.note(frame, text) } catch { self?.say("\(error)") }
        }
    }

    func say(_ text: String) { console.say(text) }

    /// Plays. Returns the exit status of the program.
    func play() async throws -> Int32 {
        defer { console.restore() }
        if options.new { try writeFirstLoop() }
        recordEvents()
        guard let first = LoopSources(options.loop) else {
            throw LiveError(
                "\(LoopSources.fault(options.loop)). A first loop: scripts/live --new \(options.loop)")
        }
        let flag = Flag()
        let interruption = Task { if await !Interruption.wait() { flag.value.store(true, ordering: .relaxed) } }
        defer { interruption.cancel() }
        var watcher = Watcher(options.loop, first)
        begin(first)
        if case .file(let path) = options.output { return try await renderFile(path, flag) }

        try session.prepare()
        try start()
        if let recorder, let performance {
            // Soon, so that its first frame is known.
            let first = renderer.sampleTime + Int64(renderer.sampleRate / 4)
            recorder.begin(at: .sample(first))
            try performance.begin(at: first)
        }
        // The time that it plays begins when the first version does, or is refused.
        var end: Double?
        var drawn = 0.0
        playing: while !flag.value.load(ordering: .relaxed) {
            if end == nil, way == nil, waiting == nil, !modules.isBusy { end = now() + (options.seconds ?? .infinity) }
            if let end, now() >= end { break }
            for order in console.orders(within: 5) where !obey(order) { break playing }
            switch watcher.look() {
            case .saved(let sources): begin(sources)
            case .gone: say("\(options.loop) is gone (\(LoopSources.fault(options.loop))); the loop plays on.")
            case nil: break
            }
            lookAtModules()
            advance()
            goBack()
            session.lookAround()
            lookForSilence()
            for sentence in mail.take() { say(sentence) }
            if now() - drawn > 0.1 {
                drawn = now()
                console.draw(status)
            }
        }
        stopWay()
        output?.stop()
        session.lookAround()
        let endless = renderer.endlessCycle()
        try await finish()
        if let endless { throw LiveError(endless) }
        return 0
    }

    private final class Flag: Sendable { let value = Atomic<Bool>(false) }

    // MARK: Versions

    private func begin(_ sources: LoopSources) {
        waiting = sources
        // A version that is being compiled has been overtaken. One that is being tried is heard first, unless that takes long.
        switch way {
        case .compiling(let job):
            compiler.stop(job)
            tidy(job)
            way = nil
        case .trying(let job, let process) where process.age > 1:
            process.stop()
            tidy(job)
            way = nil
        // It waits for one that is not heard, and not for a cross-fade.
        case .waiting(let job, _) where session.silence != nil:
            tidy(job)
            way = nil
        default: break
        }
        advance()
    }

    /// Takes the version on its way a step further.
    private func advance() {
        switch way {
        case nil:
            guard let sources = waiting, !mustWaitForModules(sources) else { return }
            waiting = nil
            lastNumber += 1
            do { way = .compiling(try compiler.begin(lastNumber, sources)) } catch {
                say("\(error)")
                sayWhatPlays()
            }
        case .compiling(let job):
            guard let outcome = compiler.poll(job) else { return }
            way = nil
            switch outcome {
            case .stale: waiting = waiting ?? job.sources
            case .refused(let messages):
                // A file that is no text has as many mistakes as it has lines.
                for message in messages.prefix(60) { say(message) }
                if messages.count > 60 { say("… and \(messages.count - 60) lines more.") }
                if let hint = modules.hint { say(hint) }
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
            guard session.isReady else { return }
            way = nil
            attempt(job) {
                let (number, time) = (job.number, Int((now() - job.start) * 1_000))
                try session.add(Session.Version(number: number, sources: job.sources, library: library)) {
                    [weak self] in
                    guard let self else { return }
                    say("\(options.loop): version \(number), \(time) ms")
                }
                do { try performance?.keep(job.number, job.sources) } catch {
                    say("\(error) The recording lacks this version.")
                }
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
        sayWhatPlays()
        tidy(job)
    }

    private func sayWhatPlays() {
        if output == nil { return }
        if let endless = renderer.endlessCycle() { return say("\(endless) \(Self.remedy)") }
        say(
            session.current.map { "Version \($0.number) plays on." }
                ?? "Nothing plays yet: correct the file and save it.")
    }

    private static let remedy = "Nothing is heard until it does: end live (q), and start it again."

    /// Says, once for each version, that it is in place and not heard.
    private func lookForSilence() {
        let silence = session.silence
        if let silence, !hasToldSilence { say(renderer.endlessCycle() == nil ? silence : "\(silence) \(Self.remedy)") }
        hasToldSilence = silence != nil
    }

    /// Goes back to a version before this one.
    private func goBack() {
        guard steps > 0, session.isReady else { return }
        defer { steps = 0 }
        do {
            try session.goBack(by: steps) { [weak self] number in self?.say("Back to version \(number).") }
        } catch { say("\(error)") }
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
        modules.stop()
    }

    // MARK: Modules of the user's own

    /// Begins to build the modules that a version imports. Returns whether the version has to wait.
    private func mustWaitForModules(_ sources: LoopSources) -> Bool {
        if modules.isBusy { return true }
        do { return try modules.prepare(sources) } catch {
            waiting = nil
            say("\(error)")
            sayWhatPlays()
            return true
        }
    }

    private func lookAtModules() {
        do {
            if modules.haveChanged() { try modules.begin() }
            guard try modules.poll() else { return }
            let isAgain = !compiler.tools.libraries.isEmpty
            compiler.tools.libraries = modules.libraries
            compiler.tools.modules = modules.modules
            if isAgain { say("Modules of that package that are kept by name are made anew.") }
            if let package = modules.package, !isAgain { try performance?.use(package: package) }
            if let sources = LoopSources(options.loop) { begin(sources) }
        } catch {
            waiting = nil
            say("\(error)")
            sayWhatPlays()
        }
    }

    // MARK: Sound

    private func start() throws {
        let output: any RenderOutput
        switch options.output {
        case .clock: output = ClockOutput(renderer)
        #if Everything || JACK
            case .jack: output = JACKOutput(renderer, name: "live")
        #endif
        #if Everything || ALSA
            case .alsa(let device): output = ALSAOutput(renderer, device: device)
        #endif
        default: output = try AudioOutput(renderer, name: "live")
        }
        let mail = mail
        subscriptions = [
            renderer.by({ $0() }) { event in mail.put("\(event)") },
            output.by({ $0() }) { event in mail.put("\(event)") },
        ]
        recorder.map { recorder in
            subscriptions.append(
                recorder.by({ $0() }) { event in
                    switch event {
                    case .failed, .gap, .rateChanged, .unprepared: mail.put("\(event)")
                    case .began, .finished: break
                    }
                })
        }
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

    /// Waits until the first version plays. `false`: the user wants an end.
    private func awaitFirst(_ flag: Flag) throws -> Bool {
        while way != nil || waiting != nil || modules.isBusy {
            if flag.value.load(ordering: .relaxed) {
                stopWay()
                return false
            }
            lookAtModules()
            advance()
            usleep(2_000)
        }
        if session.current == nil { throw LiveError("There is no version to render.") }
        return true
    }

    private func renderFile(_ path: String, _ flag: Flag) async throws -> Int32 {
        guard try awaitFirst(flag) else { return 130 }
        let file = try FileOutput(renderer, path: path)
        let seconds = options.seconds ?? 0
        let rendering = Task { try await file.run(for: .seconds(seconds)) }
        let watch = Task {
            while !Task.isCancelled, !flag.value.load(ordering: .relaxed) {
                try? await Task.sleep(for: .milliseconds(20))
            }
            rendering.cancel()
        }
        defer { watch.cancel() }
        var isWhole = true
        do { _ = try await rendering.value } catch is CancellationError { isWhole = false }
        session.lookAround()
        try await file.finish()
        say("\(path): \(file.frameCount) frames")
        return isWhole ? 0 : 130
    }

    private func finish() async throws {
        if let output { say("\(output.statistics)") }
        subscriptions = []
        guard let recorder, let performance else { return }
        let end = renderer.sampleTime
        try await recorder.finish()
        try performance.note(end, "end")
        let frames = recorder.takes.reduce(0) { $0 + $1.frameCount }
        say("\(performance.folder): \(frames) frames, \(lastNumber) versions")
    }
}
