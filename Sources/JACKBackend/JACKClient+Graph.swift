internal import CJACK
internal import RenderCore

// The graph around a connection: the connected ports, and their names.

extension JACKClient {
    /// A connection between a port of ours and one of another program.
    struct Link: Hashable, Sendable {
        /// The short name of ours: `out_1`.
        let port: String
        /// The full name of the other one: `system:playback_1`.
        let other: String
    }

    /// Returns the full names of the ports of other programs that fit.
    func otherPorts(isInput: Bool) -> [String] {
        let flags = JackPortIsPhysical.rawValue | (isInput ? JackPortIsInput : JackPortIsOutput).rawValue
        return unsafe JACKClient.take(jack_get_ports(client, nil, JACK_DEFAULT_AUDIO_TYPE, UInt(flags)))
    }

    /// The clients that stand for devices: "system".
    var deviceNames: Set<String> {
        Set((otherPorts(isInput: true) + otherPorts(isInput: false)).map { String($0.prefix { $0 != ":" }) })
    }

    /// Returns the links that a new output makes.
    func links(_ connect: JACKConnect, mainChannels: Int) -> [Link] {
        let (targets, sources): ([String], [String])
        switch connect {
        case .none: return []
        case .physical: (targets, sources) = (otherPorts(isInput: true), otherPorts(isInput: false))
        case .ports(let outputs, let inputs): (targets, sources) = (outputs, inputs)
        }
        let plans = ports.map(\.plan).filter { !$0.isMIDI }
        var outputs = plans.filter { !$0.isInput }.map(\.name)
        if connect == .physical { outputs = Array(outputs.prefix(mainChannels)) }
        var links = zip(outputs, targets).map { Link(port: $0, other: $1) }
        // One channel is to be heard on both sides.
        if connect == .physical, mainChannels == 1, targets.count > 1, let only = outputs.first {
            links.append(Link(port: only, other: targets[1]))
        }
        links += zip(plans.filter(\.isInput).map(\.name), sources).map { Link(port: $0, other: $1) }
        return links.filter { !$0.other.isEmpty }
    }

    /// Makes a link. `false`: there is no such port now.
    func connect(_ link: Link) -> Bool {
        guard let own = ports.first(where: { $0.plan.name == link.port }) else { return true }
        guard unsafe jack_port_by_name(client, link.other) != nil else { return false }
        let full = "\(name):\(link.port)"
        let (from, to) = own.plan.isInput ? (link.other, full) : (full, link.other)
        if ask({ unsafe jack_connect($0.client, from, to) }) == 0 { return true }
        return unsafe jack_port_connected_to(own.port, link.other) != 0
    }

    /// All links that there are now.
    var links: Set<Link> {
        var links: Set<Link> = []
        for own in ports {
            let others = unsafe JACKClient.take(jack_port_get_all_connections(client, own.port))
            for other in others { links.insert(Link(port: own.plan.name, other: other)) }
        }
        return links
    }

    /// A port of another program, as it was when it was looked at.
    struct OtherPort {
        /// The number by which JACK's notices know the client.
        var identity: UInt
        /// Indicates whether the client stands for a device or another machine, and not for a program that a user
        /// starts and ends.
        var isHardware: Bool
    }

    /// Returns the port of a full name; `nil` if there is none now.
    func otherPort(_ name: String) -> OtherPort? {
        guard let port = unsafe jack_port_by_name(client, name) else { return nil }
        let flags = unsafe UInt32(jack_port_flags(port))
        return OtherPort(
            identity: UInt(bitPattern: port),
            isHardware: flags & (JackPortIsPhysical.rawValue | JackPortIsTerminal.rawValue) != 0)
    }

    /// Indicates whether any of the ports that sound goes out by is connected; `true` if there are none.
    var isHeard: Bool {
        let outputs = ports.filter { !$0.plan.isInput && !$0.plan.isMIDI }
        return outputs.isEmpty || outputs.contains { unsafe jack_port_connected($0.port) > 0 }
    }

    /// Returns whether there is a port of this full name.
    func hasPort(_ name: String) -> Bool { unsafe jack_port_by_name(client, name) != nil }

    /// Has the server ask all clients for their latencies anew.
    func recomputeLatencies() { _ = ask { unsafe jack_recompute_total_latencies($0.client) } }

    /// Describes the ports for people, in JACK's metadata.
    func describePorts() {
        for (order, own) in ports.enumerated() {
            let (plan, subject) = unsafe (own.plan, jack_port_uuid(own.port))
            func set(_ key: String, _ value: String, _ type: String) {
                unsafe jack_set_property(client, subject, "http://jackaudio.org/metadata/\(key)", value, type)
            }
            set("pretty-name", plan.prettyName, "text/plain")
            set("port-group", plan.group, "text/plain")
            set("order", "\(order)", "http://www.w3.org/2001/XMLSchema#int")
            if !plan.isMIDI { set("signal-type", "AUDIO", "text/plain") }
        }
    }

    /// Removes the descriptions of the ports while we still read the server's messages about it. If we left that to the
    /// close, when we read no more, a server with many ports would wait for us forever, and all programs with it.
    func forgetPorts() {
        for own in ports { unsafe jack_remove_properties(client, jack_port_uuid(own.port)) }
    }

    /// Returns a list of JACK's as an array, and frees it: JACK's lists end with a null pointer, and the caller must
    /// free them.
    @unsafe static func take(_ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> [String] {
        guard let list = unsafe list else { return [] }
        var names: [String] = []
        while let name = unsafe list[names.count] { unsafe names.append(String(cString: name)) }
        unsafe jack_free(list)
        return names
    }
}
