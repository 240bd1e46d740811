internal import CPipeWire
internal import Glibc
internal import LinuxRealtime
public import Outputs
public import RenderCore
public import Supply
internal import Synchronization

/// Plays a renderer through PipeWire, the sound server of today's desktops.
///
///     let output = PipeWireOutput(renderer, name: "Synth")
///     try output.start()
///
/// It renders straight into PipeWire's buffers, on its real-time thread, once per cycle, however long that is. The desktop
/// shows it by its name, with a volume of its own; it follows the default device unless ``PipeWireTarget/device(_:)`` says
/// which one it stays at.
///
/// While PipeWire does not call, because its daemon is gone, has no device or sleeps, the program plays on by the clock, and
/// joins again when it can.
///
/// Threads: control.
public final class PipeWireOutput: RenderOutput, CoredOutput {
    private let session: PipeWireSession

    /// Creates an output; ``start()`` looks for the daemon.
    ///
    /// - Parameters:
    ///   - renderer: The renderer to drive. All its outputs are channels of one stream: those of the main output first.
    ///   - name: The name that the desktop shows.
    ///   - title: What is playing, such as the name of a song; by default the name.
    ///   - icon: The name of an icon of the desktop's theme.
    ///   - role: What the sound is.
    ///   - target: The device that it plays on.
    ///   - inputs: The inputs for sound; by default those that the renderer's loop runs, those that a later loop brings included: for these
    ///     the nodes are made anew while it plays.
    ///   - source: The device that it records from.
    ///   - midiInputs: The inputs for events.
    ///   - midiOutputs: The outputs for events.
    ///   - cycleLength: The frames of a cycle to wish for, 1…65,536; the shortest wish on a device wins. `PIPEWIRE_LATENCY` in the
    ///     environment has the last word.
    ///   - sampleRate: Frames per second, a whole number of 1,000…768,000: PipeWire converts. By default that of the graph, which
    ///     the renderer follows.
    ///   - rejoins: `true` to wait for the daemon when it ends.
    ///   - compensatesLatency: `true` for host times at which a frame is heard, and was captured; `false` for those at which its
    ///     cycle began. The property of that name changes it later.
    ///   - remote: The name of the daemon's socket; by default PipeWire's own choice (`PIPEWIRE_REMOTE`, else "pipewire-0").
    public init(
        _ renderer: Renderer, name: String = "RenderStack", title: String? = nil, icon: String = "audio-x-generic",
        role: PipeWireRole = .music, target: PipeWireTarget = .standard, inputs: [AudioInput]? = nil,
        source: PipeWireTarget = .standard, midiInputs: [MIDIInput] = [], midiOutputs: [MIDIOutput] = [],
        cycleLength: Int? = nil, sampleRate: Double? = nil, rejoins: Bool = true, compensatesLatency: Bool = true,
        remote: String? = nil
    ) {
        session = PipeWireSession(
            renderer,
            PipeWireSettings(
                name: name, title: title ?? name, icon: icon, role: role, remote: remote, target: target,
                source: source,
                inputs: inputs ?? renderer.inputs, followsInputs: inputs == nil, midiInputs: midiInputs,
                midiOutputs: midiOutputs,
                cycleLength: cycleLength, sampleRate: sampleRate, rejoins: rejoins,
                compensatesLatency: compensatesLatency, group: PipeWireOutput.nextGroup()))
    }

    private static let groups = Atomic<Int>(0)

    private static func nextGroup() -> String {
        "renderstack-\(getpid())-\(groups.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    deinit { stop() }

    /// Joins the graph and begins to render. Does nothing if it has been started.
    ///
    /// - Throws: ``PipeWireError``: no daemon, and how to start one, no such device, or why PipeWire refuses.
    public func start() throws { try session.start() }

    /// Leaves the graph after the cycle that is being rendered. May be started again.
    public func stop() { core.stop { session.stop() } }
    package var core: OutputCore { session.core }

    /// The state of the output: running, stopped, or waiting for the daemon to come back.
    public var state: OutputState { session.core.state }

    /// The statistics since the output was started last. Cycles that the graph's clock has left out count as missed deadlines.
    public var statistics: OutputStatistics { session.core.statistics }

    /// The output's events from now on.
    public var events: AsyncStream<OutputEvent> { session.core.events }

    /// The volume of the program as the desktop shows it, as a factor: 1 is unchanged. A desktop's slider at one half is 0.125,
    /// because sliders count by the cube root. Below 0 counts as 0; what is not a number changes nothing.
    public var volume: Double {
        get { session.volume }
        set { if !newValue.isNaN { session.volume = min(max(0, newValue), 10) } }
    }

    /// Indicates whether the desktop has the program silent.
    public var isMuted: Bool {
        get { session.isMuted }
        set { session.isMuted = newValue }
    }

    /// The name of what is playing, as the desktop shows it.
    public var title: String {
        get { session.title }
        set { session.title = newValue }
    }

    /// Returns the number of frames in a cycle of the graph; 0 before the first one.
    ///
    /// - Throws: ``PipeWireError/notRunning``.
    public func bufferSize() throws(PipeWireError) -> Int {
        try session.withNodes { $1.duration.load(ordering: .relaxed) }
    }

    /// Returns the names of the devices, or programs, that the output is linked to now.
    ///
    /// - Throws: ``PipeWireError/notRunning``.
    public func deviceNames() throws(PipeWireError) -> [String] {
        try session.withNodes { nodes, _ in nodes.devices.map(\.name) }
    }

    /// Returns the names of the devices, or programs, that the inputs are linked to now.
    ///
    /// - Throws: ``PipeWireError/notRunning``.
    public func sourceNames() throws(PipeWireError) -> [String] {
        try session.withNodes { nodes, _ in nodes.sources.map(\.name) }
    }

    /// The frames so far of PipeWire's cycles and of the graph, of those at the graph's rate, and of cycles by the clock, for tests.
    package var frameCounts: (played: Int, byClock: Int, graph: Int, lateInput: Int)? {
        guard let cycle = session.cycle else { return nil }
        return (
            cycle.frames.load(ordering: .relaxed), cycle.clockFrames.load(ordering: .relaxed),
            cycle.graphFrames.load(ordering: .relaxed), cycle.lateInput.load(ordering: .relaxed)
        )
    }

    /// Returns the frames that lie between the capture and the playback, for tests.
    package func waitingInput() throws(PipeWireError) -> Int {
        try session.withNodes { _, cycle in cycle.waitingInput.load(ordering: .relaxed) }
    }

    /// Returns whether a daemon answers now.
    ///
    /// - Parameter remote: The name of its socket; by default PipeWire's own choice.
    public static func isDaemonRunning(at remote: String? = nil) -> Bool {
        (try? PipeWireDevice.all(of: remote)) != nil
    }
}
