internal import CJACK
internal import Glibc
public import Outputs
public import RenderCore
public import Supply
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
/// When the server dies, the output waits for another one of that name, joins it, and makes its former connections
/// again as their other ends come back.
///
/// Threads: control.
public final class JACKOutput: RenderOutput, CoredOutput {
    let session: JACKSession

    /// Creates an output; ``start()`` looks for the server.
    ///
    /// - Parameters:
    ///   - renderer: The renderer to drive.
    ///   - name: The name that other programs see; if it is taken, the server may append a number
    ///     (`OutputEvent.renamed(_:)`).
    ///   - server: The name of the server; by default JACK's own choice (`JACK_DEFAULT_SERVER`, else "default").
    ///   - inputs: The inputs for sound; by default those that the renderer's loop runs, those that a later loop brings included: these get
    ///     their ports while it plays.
    ///   - midiInputs: The inputs for events.
    ///   - midiOutputs: The outputs for events.
    ///   - connect: The ports to connect to at the start. `RENDERSTACK_JACK_CONNECT=no` or `=physical` in the
    ///     environment has the last word.
    ///   - rejoins: `true` to wait for the server when it dies.
    ///   - compensatesLatency: `true` for host times at which a frame is heard, and was captured; `false` for those at
    ///     which its cycle began. The property of that name changes it later.
    ///   - startsServer: `true` to let JACK start a server if none runs, as `~/.jackdrc` says; not with
    ///     `JACK_NO_START_SERVER` in the environment.
    ///   - startsOverInFreewheel: `true` to make the first cycle of a freewheel frame 0, with all modules reset, so
    ///     that each bounce is the same.
    public init(
        _ renderer: Renderer, name: String = "RenderStack", server: String? = nil, inputs: [AudioInput]? = nil,
        midiInputs: [MIDIInput] = [], midiOutputs: [MIDIOutput] = [], connect: JACKConnect = .physical,
        rejoins: Bool = true, compensatesLatency: Bool = true, startsServer: Bool = false,
        startsOverInFreewheel: Bool = true
    ) {
        let environment = unsafe getenv("RENDERSTACK_JACK_CONNECT").map { unsafe String(cString: $0) }
        let settings = JACKSettings(
            name: name, server: server, inputs: inputs ?? renderer.inputs,
            followsInputs: inputs == nil, midiInputs: midiInputs, midiOutputs: midiOutputs,
            connect: connect.overridden(by: environment),
            rejoins: rejoins, compensatesLatency: compensatesLatency, startsServer: startsServer,
            startsOverInFreewheel: startsOverInFreewheel)
        session = JACKSession(renderer, settings)
    }

    deinit { stop() }

    /// Joins the server and begins to render. Does nothing if it has been started.
    ///
    /// - Throws: ``JACKError``: no server, and how to start one, or why the server refuses.
    public func start() throws { try JACKLibrary.shared.start(session) }

    /// Leaves the server after the cycle that is being rendered. May be started again.
    public func stop() { core.stop { JACKLibrary.shared.stop(session) } }
    package var core: OutputCore { session.core }

    /// The state of the output: running, stopped, or waiting for its server to come back.
    public var state: OutputState { session.core.state }

    /// The statistics since the output was started last. Interruptions that JACK reports count as missed deadlines.
    public var statistics: OutputStatistics { session.core.statistics }

    /// The output's events from now on.
    public var events: AsyncStream<OutputEvent> { session.core.events }

    /// Returns the name that the server has given.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func clientName() throws(JACKError) -> String { try withClient { $0.name } }

    /// Returns the full names of the ports, in order: `synth:out_1`.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func portNames() throws(JACKError) -> [String] {
        try withClient { client in client.ports.map { "\(client.name):\($0.plan.name)" } }
    }

    /// Returns the number of frames in a cycle.
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
    /// Returns whether a server answers now. It is not started.
    ///
    /// - Parameter name: The name of the server; by default JACK's own choice.
    public static func isServerRunning(named name: String? = nil) -> Bool { JACKLibrary.shared.isServerRunning(name) }

    /// Indicates whether PipeWire's library stands in the place of JACK's for all programs: `pw-jack` has not asked for it.
    package static var isPipeWireForAll: Bool {
        let path = unsafe getenv("LD_LIBRARY_PATH").map { unsafe String(cString: $0) } ?? ""
        return cjack_is_pipewire() != 0 && !path.contains("pipewire")
    }
}
