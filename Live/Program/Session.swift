import Glibc
import RenderStackLive
import Synchronization

/// The session: the versions of a loop, the one that is heard, and the way from one to the next.
final class Session {
    /// A version that compiles and has passed its trial.
    struct Version {
        let number: Int
        let sources: LoopSources
        let library: LoopLibrary
    }

    let renderer: Renderer
    let keeper: Keeper
    let path: String
    var fade: Duration
    var ringOut: Duration
    let meter = LevelMeter()
    private let volume = Gain(1)
    private let recorder: FileRecorder?
    private let say: (String) -> Void
    /// Called with the frame at which a version, or a value, was heard first.
    var record: (Int64, String) -> Void = { _, _ in }

    private(set) var versions: [Version] = []
    private(set) var current: Version?
    private var loop: RenderLoop?
    private var modules: [any Module] = []
    private var change: LoopChange?
    /// Changes that have not been heard yet, in order.
    private var unheard: [Unheard] = []
    private struct Unheard {
        /// The text for the recording.
        let text: String
        /// The version, if it is one.
        var version: Int?
        /// The frame at which it was heard first.
        let frame: () -> Int64?
        /// The action for that moment.
        var heard: () -> Void = {}
        let since = now()
    }
    /// The time at which the cross-fade that is under way is over.
    private(set) var quietFrom = 0.0

    init(
        _ path: String, renderer: Renderer, keeper: Keeper, fade: Duration, ringOut: Duration, recorder: FileRecorder?,
        say: @escaping (String) -> Void
    ) {
        (self.path, self.renderer, self.keeper, self.fade) = (path, renderer, keeper, fade)
        (self.ringOut, self.recorder, self.say) = (ringOut, recorder, say)
    }

    /// Puts the volume, the meter and the recorder in place, before there is a version.
    func prepare() throws { try renderer.replaceLoop(wholeLoop({ _ in }, [])) }

    /// Adds a version, and has it heard.
    ///
    /// - Parameter heard: The closure that is called when it is.
    func add(_ version: Version, whenHeard heard: @escaping () -> Void = {}) throws {
        try install(version, heard)
        versions.append(version)
        // The session forgets older versions, so that their texts do not fill the memory.
        if versions.count > 200 { versions.removeFirst() }
    }

    /// Has a version before this one heard again.
    ///
    /// - Parameter heard: The closure that is called with its number when it is.
    func goBack(by steps: Int, whenHeard heard: @escaping (Int) -> Void) throws {
        guard let current, let place = versions.firstIndex(where: { $0.number == current.number }), place > 0 else {
            throw LiveError("There is no version before this one.")
        }
        let version = versions[max(0, place - steps)]
        try install(version) { heard(version.number) }
    }

    /// Indicates whether another version may take the place of this one: it has been heard, and the last cross-fade is over.
    var isReady: Bool { now() >= quietFrom && !unheard.contains { $0.version != nil } }

    /// A sentence about a version that is in place for more than a second and has not been heard.
    var silence: String? {
        guard let version = unheard.first(where: { $0.version != nil && now() - $0.since > 1 })?.version else {
            return nil
        }
        let why = renderer.endlessCycle() ?? "The output renders nothing at present."
        return "Version \(version) is not heard yet. \(why)"
    }

    /// Has a version heard, all at once with what its set-up changes.
    private func install(_ version: Version, _ heard: @escaping () -> Void) throws {
        let live = Live(keeper, fade: fade, ringOut: ringOut, sampleRate: renderer.sampleRate, isTrial: false)
        var new: (loop: RenderLoop, modules: [any Module], notices: [String], change: LoopChange)?
        do {
            try renderer.transaction {
                let loop = try version.library.load(live)
                if let tempo = live.beatsPerMinute, renderer.tempo.beatsPerMinute != tempo {
                    renderer.tempo.beatsPerMinute = tempo
                }
                let (modules, notices) = try renderer.inspect(loop)
                keeper.restoreTurned(modules, in: live)
                let change = makeChange(to: loop, modules, live)
                try renderer.replaceLoop(wholeLoop(change.run, modules))
                new = (loop, modules, notices, change)
            }
        } catch {
            keeper.discard()
            throw error
        }
        guard let new else { return }
        (loop, modules, change) = (new.loop, new.modules, new.change)
        current = version
        let news = keeper.commit(live)
        quietFrom = now() + live.fade.seconds + 0.03
        unheard.append(
            Unheard(
                text: "version \(version.number) \(live.fade.seconds) \(live.ringOut.seconds)", version: version.number,
                frame: { new.change.firstFrame }, heard: heard))
        tell(news, new.notices)
    }

    private func makeChange(to loop: @escaping RenderLoop, _ modules: [any Module], _ live: Live) -> LoopChange {
        let rate = renderer.sampleRate
        var leaving = change?.leaving.filter { !$0.isOver } ?? []
        if let old = self.loop {
            // A loop may set any time: more than a day is as good as a day, and its frames can be counted.
            func frames(_ time: Duration) -> Int { Int(max(0, min(time.seconds, 86_400)) * rate) }
            leaving.insert(
                LoopChange.Leaving(old, modules: self.modules, fade: frames(live.fade), ring: frames(live.ringOut)),
                at: 0)
        }
        return LoopChange(
            to: loop, modules: modules, leaving: leaving, layout: renderer.layout,
            outputs: renderer.outputChannelCounts)
    }

    /// The loop of a version, and behind it the volume, the meter and the recorder.
    private func wholeLoop(_ loop: @escaping RenderLoop, _ modules: [any Module]) -> RenderLoop {
        let (volume, meter, recorder) = (volume, meter, recorder)
        guard let recorder else {
            return { context in
                loop(&context)
                context.takeOutput()
                context.run(volume)
                context.run(meter)
                context.output()
            }
        }
        return { context in
            loop(&context)
            context.takeOutput()
            context.run(volume)
            context.run(meter)
            context.run(recorder)
            context.output()
        }
    }

    private func tell(_ news: Keeper.News, _ notices: [String]) {
        var parts: [String] = []
        func add(_ names: [String], _ one: String, _ several: String) {
            if !names.isEmpty { parts.append("\(Self.list(names)) \(names.count == 1 ? one : several)") }
        }
        add(news.goesOn, "goes on", "go on")
        add(news.new, "is new", "are new")
        add(news.gone, "has gone", "have gone")
        if !parts.isEmpty { say("    " + parts.joined(separator: "; ")) }
        for name in news.doubled {
            say("\(path):1:1: warning: two modules have the name \"\(name)\"; give each a name of its own")
        }
        for notice in notices { say("\(path):1:1: warning: \(notice)") }
    }

    /// Names for a sentence: of very many the first ones.
    private static func list(_ names: [String]) -> String {
        let rest = names.count - 20
        if rest < 2 { return names.joined(separator: ", ") }
        return "\(names.prefix(20).joined(separator: ", ")) and \(rest) others"
    }

    /// Does what is due: puts the loop alone in place when the fade is over, and records what is heard.
    func lookAround() {
        if let change, change.isOver, let loop {
            self.change = nil
            do {
                try renderer.replaceLoop(wholeLoop(loop, modules))
            } catch {
                // It was let in a moment ago, by the same dry run.
                say("\(path):1:1: warning: \(error)")
            }
        }
        while let next = unheard.first, let frame = next.frame() {
            record(frame, next.text)
            unheard.removeFirst()
            next.heard()
        }
    }

    // MARK: Parameters

    var parameters: [ParameterReference] { keeper.parameters(of: modules) }

    /// Sets a parameter by hand.
    func set(_ name: String, to text: String) throws(LiveError) -> String {
        let all = parameters
        let found = all[name] ?? all.first { $0.name.lowercased() == name.lowercased() }
        guard let parameter = found else {
            let names = all.map(\.name)
            throw LiveError(
                names.isEmpty
                    ? "There are no parameters."
                    : "There is no parameter \(name). There are \(Self.list(names)).")
        }
        guard let value = Float(text), value.isFinite else { throw LiveError("\"\(text)\" is not a number.") }
        perform("set \(parameter.name) \(value)") { parameter.value = value }
        keeper.note(parameter.name, turnedTo: parameter.value)
        if parameter.range.contains(value) { return "\(parameter)" }
        return
            "\(parameter.name) goes from \(parameter.range.lowerBound) to \(parameter.range.upperBound): \(parameter)"
    }

    var isMuted: Bool { volume.level.value == 0 }

    func setMuted(_ isMuted: Bool) {
        perform("mute \(isMuted ? "on" : "off")") { volume.level.value = isMuted ? 0 : 1 }
    }

    /// Makes a change of values, and learns the frame at which it is heard.
    private func perform(_ text: String, _ body: () -> Void) {
        let moment = Moment()
        renderer.transaction {
            body()
            // When the queue is full, the change is heard and not recorded.
            try? renderer.messages.send { context in moment.frame.store(context.sampleTime, ordering: .releasing) }
        }
        unheard.append(Unheard(text: text, frame: { moment.value }))
    }
}

/// The frame at which something was heard.
final class Moment: Sendable {
    let frame = Atomic<Int64>(.min)
    var value: Int64? {
        let value = frame.load(ordering: .acquiring)
        return value == .min ? nil : value
    }
}

extension Duration {
    /// The duration as a number of seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
