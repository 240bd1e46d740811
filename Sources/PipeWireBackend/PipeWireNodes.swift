internal import CPipeWire
internal import Dispatch
internal import LinuxRealtime
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// The nodes of an output in the graph: a stream that plays, one that captures where it has inputs, a node with its MIDI ports.
/// They are used with the session's gate held.
@safe final class PipeWireNodes: @unchecked Sendable {
    // Unchecked because it is used with the session's gate held only; what PipeWire's threads touch is in the notes and the cycle.
    let connection: PipeWireConnection
    let rate: Int
    let notes = Notes()
    private let orders = DispatchQueue(label: "rs-pipewire-orders")
    private let wishes = Lock<(volume: Double?, isMuted: Bool?)>((nil, nil))
    /// Changes with PipeWire's lock held.
    private var isClosed = false
    private(set) var playback: OpaquePointer?
    private(set) var capture: OpaquePointer?
    private(set) var ports: OpaquePointer?

    /// The nodes by their kind.
    enum Kind { case playback, capture, ports }

    /// The news from PipeWire's thread for messages.
    final class Notes: Sendable {
        struct State: Sendable {
            var error: String?
            var volume: Double?
            var isMuted = false
            /// Indicates whether another program has taken a node away.
            var isRemoved = false
            /// The numbers of the nodes that have one.
            var nodes: [Kind: UInt32] = [:]
        }
        private let state = Lock(State())
        var now: State { state.withLock { $0 } }

        func note(_ kind: Kind, _ new: cpw_state, _ node: UInt32, _ error: UnsafePointer<CChar>? = nil) {
            let words = unsafe error.map { unsafe String(cString: $0) }
            state.withLock { state in
                if new == CPW_UNCONNECTED, state.nodes[kind] != nil { state.isRemoved = true }
                state.nodes[kind] = node == .max ? nil : node
                state.error = words ?? state.error
            }
        }

        func takeError() -> String? {
            state.withLock { state in
                defer { state.error = nil }
                return state.error
            }
        }

        func note(volumes: [Float], isMuted: Bool) {
            state.withLock { state in
                if let most = volumes.max() { state.volume = Double(max(0, most)) } else { state.isMuted = isMuted }
            }
        }
    }

    /// The object that a stream's callbacks get: the cycle for the data thread, the notes for the other.
    private final class Target {
        let cycle: PipeWireCycle
        let notes: Notes
        init(_ cycle: PipeWireCycle, _ notes: Notes) { (self.cycle, self.notes) = (cycle, notes) }
    }
    private let target: Unmanaged<Target>

    /// Without a count: the nodes hold it until they are closed.
    private static func cycle(_ this: UnsafeMutableRawPointer, _ body: (PipeWireCycle) -> Void) {
        withoutCancellation {
            unsafe Unmanaged<Target>.fromOpaque(this)._withUnsafeGuaranteedRef { body($0.cycle) }
        }
    }

    private static func notes(_ this: UnsafeMutableRawPointer) -> Notes {
        unsafe Unmanaged<Target>.fromOpaque(this)._withUnsafeGuaranteedRef { $0.notes }
    }

    /// Makes the nodes; from here on PipeWire calls.
    init(
        _ connection: PipeWireConnection, _ cycle: PipeWireCycle, _ settings: PipeWireSettings, channels: [Int],
        rate: Int
    ) throws(PipeWireError) {
        self.connection = connection
        self.rate = rate
        unsafe target = .passRetained(Target(cycle, notes))
        let inputs = settings.inputs.map(\.channelCount)
        var (error, refused) = (Int32(0), "")
        var played = unsafe cpw_stream_events(
            process: { this, stream in unsafe PipeWireNodes.cycle(this) { unsafe $0.play(stream) } },
            state: { unsafe PipeWireNodes.notes($0).note(.playback, $1, $2, $3) },
            volume: { this, volumes, count, isMuted in
                let values = unsafe Array(UnsafeBufferPointer(start: volumes, count: Int(count)))
                unsafe PipeWireNodes.notes(this).note(volumes: values, isMuted: isMuted)
            })
        var captured = unsafe cpw_stream_events(
            process: { this, stream in unsafe PipeWireNodes.cycle(this) { unsafe $0.capture(stream) } },
            state: { unsafe PipeWireNodes.notes($0).note(.capture, $1, $2, $3) }, volume: { _, _, _, _ in })
        var exchanged = unsafe cpw_ports_events(
            process: { this, ports in unsafe PipeWireNodes.cycle(this) { unsafe $0.exchangeMessages(ports) } },
            state: { unsafe PipeWireNodes.notes($0).note(.ports, $1, $2) })
        unsafe connection.locked { handle in
            func stream(isPlayback: Bool, _ counts: [Int], _ events: inout cpw_stream_events) -> OpaquePointer? {
                let count = isPlayback ? PipeWireSettings.playedChannels(counts) : counts.reduce(0, +)
                let positions = PipeWireSettings.positions(main: counts[0], all: count)
                return unsafe withWords(settings.properties(ofPlayback: isPlayback, rate: rate)) { words in
                    unsafe cpw_stream_new(
                        handle, isPlayback, (isPlayback ? settings.target : settings.source) != .none, words, positions,
                        Int32(count), Int32(rate), &events, target.toOpaque(), &error)
                }
            }
            if !inputs.isEmpty {
                unsafe capture = stream(isPlayback: false, inputs, &captured)
                guard unsafe capture != nil else { return refused = "a stream that captures" }
            }
            if !settings.midiInputs.isEmpty || !settings.midiOutputs.isEmpty {
                unsafe ports = withWords(settings.midiProperties) { words in
                    unsafe cpw_ports_new(
                        handle, words, Int32(settings.midiInputs.count), Int32(settings.midiOutputs.count),
                        &exchanged, target.toOpaque(), &error)
                }
                guard unsafe ports != nil else { return refused = "a node with MIDI ports" }
            }
            unsafe playback = stream(isPlayback: true, channels, &played)
            if unsafe playback == nil { refused = "a stream that plays" }
        }
        guard refused.isEmpty else {
            close()
            throw .refused(what: refused, reason: error == 0 ? "it says nothing" : errorText(-error))
        }
    }

    /// Takes the nodes out of the graph; then nothing is called any more. It waits for the cycle that is being rendered. Once.
    func close() {
        unsafe connection.locked { _ in
            isClosed = true
            if let stream = unsafe playback { unsafe cpw_stream_stop(stream) }
            if let stream = unsafe capture { unsafe cpw_stream_stop(stream) }
            if let node = unsafe ports { unsafe cpw_ports_stop(node) }
            if !connection.graph.isLost { _ = unsafe cpw_round_trip(connection.handle, 1) }
            if let stream = unsafe playback { unsafe cpw_stream_free(stream) }
            if let stream = unsafe capture { unsafe cpw_stream_free(stream) }
            if let node = unsafe ports { unsafe cpw_ports_free(node) }
        }
        // Orders that wait for the lock still need the connection, which is closed next.
        orders.sync {}
        unsafe target.release()
    }

    // MARK: For the session's questions, without PipeWire's lock

    /// The devices that the playback is linked to.
    var devices: [PipeWireGraph.Node] {
        notes.now.nodes[.playback].map { connection.graph.neighbours(of: $0, isPlayback: true) } ?? []
    }
    /// The devices, or programs, that the capture is linked to.
    var sources: [PipeWireGraph.Node] {
        notes.now.nodes[.capture].map { connection.graph.neighbours(of: $0, isPlayback: false) } ?? []
    }
    /// The links that bring messages to our MIDI inputs.
    var messageLinks: Set<UInt32> { notes.now.nodes[.ports].map { connection.graph.links(to: $0) } ?? [] }

    // MARK: For the session's wishes

    /// Sets the volume, the mute, or both. Of wishes that PipeWire has not taken yet only the last counts.
    func set(volume: Double?, isMuted: Bool?) {
        let isFirst = wishes.withLock { wishes in
            defer { wishes = (volume ?? wishes.volume, isMuted ?? wishes.isMuted) }
            return wishes.volume == nil && wishes.isMuted == nil
        }
        guard isFirst else { return }
        post { nodes in
            let wish = nodes.wishes.withLock { wishes in
                defer { wishes = (nil, nil) }
                return wishes
            }
            guard let stream = unsafe nodes.playback else { return }
            if let volume = wish.volume { _ = unsafe cpw_stream_set_volume(stream, Float(volume)) }
            if let isMuted = wish.isMuted { _ = unsafe cpw_stream_set_mute(stream, isMuted) }
        }
    }

    func setTitle(_ title: String) {
        post { nodes in
            if let stream = unsafe nodes.playback { unsafe cpw_stream_set_property(stream, "media.name", title) }
            if let stream = unsafe nodes.capture { unsafe cpw_stream_set_property(stream, "media.name", title) }
        }
    }

    /// Tells the graph how late the sound is that the program plays, and will be that it captures, in frames.
    func setLatencies(played: Int, captured: Int) {
        post { nodes in
            func nanoseconds(_ frames: Int) -> Int64 { Int64(Double(frames) * 1e9 / Double(nodes.rate)) }
            if let stream = unsafe nodes.playback { _ = unsafe cpw_stream_set_latency(stream, nanoseconds(played)) }
            if let stream = unsafe nodes.capture { _ = unsafe cpw_stream_set_latency(stream, nanoseconds(captured)) }
        }
    }

    /// Has another thread call the closure with PipeWire's lock held, unless the nodes are closed first. PipeWire holds that lock
    /// while it waits for its data thread, and so for a render loop that does not end: who holds the session's gate does not wait
    /// for it.
    private func post(_ body: @escaping @Sendable (PipeWireNodes) -> Void) {
        orders.async { [self] in
            unsafe connection.locked { _ in if !isClosed { body(self) } }
        }
    }
}
