internal import RenderCore

/// The graph as the daemon tells it: its nodes, its links, the default devices, the settings.
///
/// The connection's own thread writes it, with the connection's lock held; any thread reads it. No lock is taken inside.
final class PipeWireGraph: Sendable {
    struct Node: Sendable, Hashable {
        var name = ""
        var description = ""
        var mediaClass = ""
        var serial = ""
        /// The program that has made it; none for the daemon's own.
        var client = ""
        var isSink: Bool { mediaClass.hasPrefix("Audio/Sink") || mediaClass == "Audio/Duplex" }
        var isSource: Bool { mediaClass.hasPrefix("Audio/Source") || mediaClass == "Audio/Duplex" }
        var isDevice: Bool { isSink || isSource }
    }

    private struct Link: Hashable {
        var from: UInt32
        var to: UInt32
    }

    /// A port from which sound comes.
    private struct Port: Hashable {
        var node: UInt32
        var isMonitor: Bool
    }

    private struct State {
        var nodes: [UInt32: Node] = [:]
        var ports: [UInt32: Port] = [:]
        var links: [UInt32: Link] = [:]
        /// "default.audio.sink" and its kin, and "clock.rate" and its kin.
        var settings: [String: String] = [:]
        /// The object in which a session manager says what the default devices are, and the number of those so far.
        var manager: UInt32?
        var managerCount = 0
        var failure: (isLost: Bool, words: String)?
        /// The number of the daemon's module for echo cancellation.
        var echoModule: UInt32?
    }
    private let state = Lock(State())

    // MARK: The daemon's words

    func came(_ id: UInt32, _ type: String, _ property: (String) -> String?) {
        switch type {
        case "Node":
            // Any program may name a node as it likes, and names are printed.
            let words = ["node.name", "node.nick", "node.description"].map { property($0).map(Self.printable) }
            let node = Node(
                name: words[0] ?? "", description: words[2] ?? words[1] ?? words[0] ?? "",
                mediaClass: property("media.class") ?? "", serial: property("object.serial") ?? "",
                client: property("client.id") ?? "")
            state.withLock { $0.nodes[id] = node }
        case "Port" where property("port.direction") == "out" && property("format.dsp")?.contains("audio") != false:
            guard let node = property("node.id").flatMap(UInt32.init) else { return }
            let port = Port(node: node, isMonitor: property("port.monitor") == "true")
            state.withLock { $0.ports[id] = port }
        case "Link":
            guard let from = property("link.output.node").flatMap(UInt32.init),
                let to = property("link.input.node").flatMap(UInt32.init)
            else { return }
            state.withLock { $0.links[id] = Link(from: from, to: to) }
        case "Module" where property("module.name") == "libpipewire-module-echo-cancel":
            state.withLock { $0.echoModule = id }
        case "Metadata" where property("metadata.name") == "default":
            state.withLock { state in
                state.manager = id
                state.managerCount += 1
            }
        default: break
        }
    }

    /// Returns a text in which nothing moves a terminal's cursor, or begins a line.
    private static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    func went(_ id: UInt32) {
        state.withLock { state in
            state.nodes[id] = nil
            state.ports[id] = nil
            state.links[id] = nil
            if state.manager == id { state.manager = nil }
            if state.echoModule == id { state.echoModule = nil }
        }
    }

    func said(_ key: String, _ value: String?) { state.withLock { $0.settings[key] = value } }

    func failed(isLost: Bool, _ words: String) {
        // Another program has taken the object away meanwhile, which the daemon tells besides.
        if !isLost, words.hasPrefix("unknown resource") { return }
        state.withLock { state in
            if state.failure?.isLost != true { state.failure = (isLost, words) }
        }
    }

    // MARK: Questions

    /// Indicates whether the daemon is gone.
    var isLost: Bool { state.withLock { $0.failure?.isLost == true } }

    /// The daemon's words about a failure since the last call.
    func takeFailure() -> String? {
        state.withLock { state in
            guard let failure = state.failure, !failure.isLost else { return nil }
            state.failure = nil
            return failure.words
        }
    }

    /// The number of the session manager that connects programs with devices; `nil` if none runs.
    var manager: Int? { state.withLock { $0.manager == nil ? nil : $0.managerCount } }

    /// Indicates whether a module for echo cancellation is loaded, by the daemon or by another program, and the source that it makes,
    /// unless that has another name than it can be known by.
    var echoCancellation: (isLoaded: Bool, source: String?) {
        state.withLock { state in
            // The stream that listens to the microphone comes first, and then the source.
            let nodes = state.nodes.sorted { $0.key < $1.key }
            let capture = nodes.first {
                $0.value.mediaClass == "Stream/Input/Audio"
                    && ($0.value.name == "echo-cancel-capture" || $0.value.description == "Echo-Cancel Capture")
            }
            let source = capture.flatMap { capture in
                nodes.first { $0.key > capture.key && $0.value.client == capture.value.client && $0.value.isSource }
            }
            return (state.echoModule != nil || capture != nil, source?.value.name)
        }
    }

    /// The devices, in the order in which they came.
    var devices: [Node] {
        state.withLock { state in
            state.nodes.filter { $0.value.isDevice }.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// Returns the devices that play, or those that record.
    func devices(isSink: Bool) -> [Node] { devices.filter { isSink ? $0.isSink : $0.isSource } }

    /// The name of the default device; `nil` if none is chosen.
    func defaultName(isSink: Bool) -> String? {
        // {"name":"alsa_output.pci-0000_00_1f.3.analog-stereo"}, with a backslash before a quote and before a backslash.
        let key = isSink ? "default.audio.sink" : "default.audio.source"
        guard let text = state.withLock({ $0.settings[key] }), let colon = text.firstIndex(of: ":") else { return nil }
        var name = ""
        var isEscaped = false
        for character in text[colon...].drop(while: { $0 != "\"" }).dropFirst() {
            if character == "\"", !isEscaped { return name }
            isEscaped = character == "\\" && !isEscaped
            if !isEscaped { name.append(character) }
        }
        return nil
    }

    /// Returns the channels that a target brings; 0 if there is none, or it does not say.
    func channelCount(of target: PipeWireTarget) -> Int {
        let (name, isMonitor): (String?, Bool) =
            switch target {
            case .standard: (defaultName(isSink: false), false)
            case .device(let name): (name, false)
            case .monitor(let name): (name ?? defaultName(isSink: true), true)
            case .none: (nil, false)
            }
        return state.withLock { state in
            guard let name, let node = state.nodes.first(where: { [$0.value.name, $0.value.serial].contains(name) })
            else { return 0 }
            // The ports of a virtual source are those of a monitor themselves.
            return state.ports.values.count {
                $0.node == node.key && ($0.isMonitor == isMonitor || !node.value.isSink)
            }
        }
    }

    /// The rate at which the graph begins, if it says one.
    var rate: Int? {
        state.withLock { state in
            let forced = state.settings["clock.force-rate"].flatMap(Int.init) ?? 0
            return forced > 0 ? forced : state.settings["clock.rate"].flatMap(Int.init)
        }
    }

    /// The names of the nodes to which a node is linked.
    func neighbours(of id: UInt32, isPlayback: Bool) -> [Node] {
        state.withLock { state in
            let others = Set(
                state.links.values.filter { (isPlayback ? $0.from : $0.to) == id }.map { isPlayback ? $0.to : $0.from })
            return others.sorted().compactMap { state.nodes[$0] }
        }
    }

    /// The links that lead to a node, by their numbers.
    func links(to id: UInt32) -> Set<UInt32> {
        state.withLock { state in Set(state.links.filter { $0.value.to == id }.keys) }
    }
}
