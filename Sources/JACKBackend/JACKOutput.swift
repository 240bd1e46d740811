internal import CJACK
internal import Glibc
public import RenderCore
internal import Synchronization

/// Plays a renderer through a JACK server, together with all other programs that do.
///
///     let output = JACKOutput(renderer, name: "synth")
///     try output.start()
///
/// It renders straight into the server's buffers, once per cycle, with the server's rate and length of cycle. Ports are
/// `out_1`, `out_2` … for the channels of the renderer's outputs, `in_1` … for those of its `AudioInput` modules,
/// `midi_in_1` and `midi_out_1` …
///
/// When the server dies, the output waits for another one of that name, joins it, and makes the connections that there
/// were as their other ends come back.
public final class JACKOutput: RenderOutput {
    private let session: JACKSession

    /// An output; ``start()`` looks for the server.
    ///
    /// - Parameters:
    ///   - renderer: what it drives.
    ///   - name: what other programs see; the server may append a number where it is taken (`OutputEvent.renamed(_:)`).
    ///   - server: the name of the server; JACK's own choice if nothing is said (`JACK_DEFAULT_SERVER`, else "default").
    ///   - inputs: where sound comes in; those that the renderer's closure runs if nothing is said.
    ///   - midiInputs: where events come in.
    ///   - midiOutputs: where events go out.
    ///   - connect: where the ports are connected at the start. `RENDERSTACK_JACK_CONNECT=no` or `=physical` in the
    ///     environment has the last word.
    ///   - rejoins: whether it waits for the server when that dies.
    ///   - compensatesLatency: whether host times are those at which a frame is heard, and was captured; else those at
    ///     which its cycle began.
    ///   - startsServer: whether JACK may start a server where none runs, as `~/.jackdrc` says; not with
    ///     `JACK_NO_START_SERVER` in the environment.
    ///   - startsOverInFreewheel: whether the first cycle of a freewheel is frame 0, with all modules reset, so that each
    ///     bounce is the same.
    public init(
        _ renderer: Renderer, name: String = "RenderStack", server: String? = nil, inputs: [AudioInput]? = nil,
        midiInputs: [MIDIInput] = [], midiOutputs: [MIDIOutput] = [], connect: JACKConnect = .physical,
        rejoins: Bool = true, compensatesLatency: Bool = true, startsServer: Bool = false,
        startsOverInFreewheel: Bool = true
    ) {
        let environment = unsafe getenv("RENDERSTACK_JACK_CONNECT").map { unsafe String(cString: $0) }
        let settings = JACKSettings(
            name: name, server: server, inputs: inputs ?? renderer.modules.compactMap { $0 as? AudioInput },
            midiInputs: midiInputs, midiOutputs: midiOutputs, connect: connect.overridden(by: environment),
            rejoins: rejoins, compensatesLatency: compensatesLatency, startsServer: startsServer,
            startsOverInFreewheel: startsOverInFreewheel)
        session = JACKSession(renderer, settings)
    }

    deinit {
        stop()
        session.hub.finish()
    }

    /// Joins the server and begins to render. Does nothing if it has been started.
    ///
    /// - Throws: ``JACKError``: no server, and how to start one, or why the server refuses.
    public func start() throws { try JACKLibrary.shared.start(session) }

    /// Leaves the server after the cycle that is being rendered. May be started again.
    public func stop() { JACKLibrary.shared.stop(session) }

    /// Whether it is rendering, or waiting for its server to come back.
    public var state: OutputState {
        switch session.shownState.load(ordering: .acquiring) {
        case 1: .running
        case 2: .waiting
        default: .stopped
        }
    }

    /// How it has been doing since it was started last. Interruptions that JACK tells of count as missed deadlines.
    public var statistics: OutputStatistics {
        var statistics = session.load.statistics
        statistics.faults = session.renderer.faultCount - session.faultsBefore.load(ordering: .relaxed)
        statistics.slowestModule = session.renderer.moduleTimes.max { $0.nanoseconds < $1.nanoseconds }
        return statistics
    }

    /// What happens to it, from now on.
    public var events: AsyncStream<OutputEvent> { session.hub.subscribe() }

    /// The name that the server has given.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func clientName() throws(JACKError) -> String { try withClient { $0.name } }

    /// The full names of the ports, in order: `synth:out_1`.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func portNames() throws(JACKError) -> [String] {
        try withClient { client in client.ports.map { "\(client.name):\($0.plan.name)" } }
    }

    /// Frames in a cycle.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func bufferSize() throws(JACKError) -> Int {
        try withClient { $0.cycle.bufferSize.load(ordering: .relaxed) }
    }

    func withClient<Result>(_ body: (JACKClient) -> Result) throws(JACKError) -> Result {
        try JACKLibrary.shared.withClient(of: session, body)
    }
}

extension JACKOutput {
    /// Whether a server answers now. It is not started.
    ///
    /// - Parameter name: the name of the server; JACK's own choice if nothing is said.
    public static func isServerRunning(named name: String? = nil) -> Bool { JACKLibrary.shared.isServerRunning(name) }
}
