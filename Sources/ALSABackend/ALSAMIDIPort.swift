internal import CALSA
internal import Glibc

/// A port of ALSA's sequencer: a keyboard, a synthesizer, another program.
///
///     for port in ALSAMIDIPort.all { print(port) }       // 24:0 Keystation 49, Keystation 49 MIDI 1 (sends)
///
/// Threads: control.
public struct ALSAMIDIPort: Sendable, Hashable, CustomStringConvertible {
    /// The number of the program or the device, which changes from time to time.
    public let client: Int
    /// The number of the port there.
    public let port: Int
    /// The name of the program or the device.
    public let clientName: String
    /// The name of the port.
    public let name: String
    /// Indicates whether an input can be connected to the port.
    public let canSend: Bool
    /// Indicates whether an output can be connected to the port.
    public let canReceive: Bool
    /// Indicates whether the port belongs to a device, and not to a program.
    public let isHardware: Bool

    /// The port's address, which never changes its meaning while the port is there: "24:0".
    public var address: String { "\(client):\(port)" }

    /// A line for a terminal.
    public var description: String {
        let direction = canSend ? canReceive ? "sends and receives" : "sends" : "receives"
        return "\(address) \(clientName), \(name) (\(direction))"
    }

    /// All ports that exist now; none if the kernel has no sequencer.
    public static var all: [ALSAMIDIPort] {
        let messages = ALSAMessages()
        defer { messages.end() }
        var opened: OpaquePointer?
        guard unsafe snd_seq_open(&opened, "default", SND_SEQ_OPEN_DUPLEX, SND_SEQ_NONBLOCK) == 0,
            let sequencer = unsafe opened
        else { return [] }
        defer { unsafe snd_seq_close(sequencer) }
        return unsafe list(sequencer)
    }

    /// Returns the port of this name, "24:0", "Keystation 49", "Keystation 49:1" or "Keystation 49:Keystation 49 MIDI
    /// 1": exactly that one, else the first whose name begins with it.
    static func find(_ text: String, in ports: [ALSAMIDIPort]) -> ALSAMIDIPort? {
        let wanted = text.lowercased()
        guard !wanted.isEmpty else { return nil }
        return ports.first { $0.address == wanted }
            ?? ports.first { $0.names.contains(wanted) || ["\($0.client)", $0.clientNumberAndName].contains(wanted) }
            ?? ports.first { $0.names.contains { $0.hasPrefix(wanted) } }
    }

    /// The names by which a user may call the port.
    private var names: [String] {
        [clientName, name, "\(clientName):\(port)", "\(clientName):\(name)"].map { $0.lowercased() }
    }

    private var clientNumberAndName: String { "\(client):\(name.lowercased())" }

    /// Returns the ports that programs may use, without those of the system and of this client.
    @unsafe static func list(_ sequencer: OpaquePointer) -> [ALSAMIDIPort] {
        var ports: [ALSAMIDIPort] = []
        var (madeClient, madePort): (OpaquePointer?, OpaquePointer?) = (nil, nil)
        guard unsafe snd_seq_client_info_malloc(&madeClient) == 0, let client = unsafe madeClient else { return [] }
        defer { unsafe snd_seq_client_info_free(client) }
        guard unsafe snd_seq_port_info_malloc(&madePort) == 0, let port = unsafe madePort else { return [] }
        defer { unsafe snd_seq_port_info_free(port) }
        let own = unsafe snd_seq_client_id(sequencer)
        unsafe snd_seq_client_info_set_client(client, -1)
        while unsafe snd_seq_query_next_client(sequencer, client) >= 0 {
            let number = unsafe snd_seq_client_info_get_client(client)
            if number == own || number == SND_SEQ_CLIENT_SYSTEM { continue }
            let clientName = unsafe String(cString: snd_seq_client_info_get_name(client))
            unsafe snd_seq_port_info_set_client(port, number)
            unsafe snd_seq_port_info_set_port(port, -1)
            while unsafe snd_seq_query_next_port(sequencer, port) >= 0 {
                let can = unsafe snd_seq_port_info_get_capability(port)
                func may(_ capabilities: Int32) -> Bool { can & UInt32(capabilities) == UInt32(capabilities) }
                let sends = may(SND_SEQ_PORT_CAP_READ | SND_SEQ_PORT_CAP_SUBS_READ)
                let receives = may(SND_SEQ_PORT_CAP_WRITE | SND_SEQ_PORT_CAP_SUBS_WRITE)
                guard sends || receives, !may(SND_SEQ_PORT_CAP_NO_EXPORT) else { continue }
                unsafe ports.append(
                    ALSAMIDIPort(
                        client: Int(number), port: Int(snd_seq_port_info_get_port(port)), clientName: clientName,
                        name: String(cString: snd_seq_port_info_get_name(port)), canSend: sends, canReceive: receives,
                        isHardware: snd_seq_port_info_get_type(port) & UInt32(SND_SEQ_PORT_TYPE_HARDWARE) != 0))
            }
        }
        return ports
    }
}

/// The ports to which an output connects its MIDI ports by itself.
///
/// Threads: control.
public enum ALSAMIDIConnect: Sendable, Hashable {
    /// None: the connections are left to others (`aconnect`).
    case none
    /// Every device that sends to the first input, and the first output to every device that receives; also those that are
    /// plugged in later.
    case hardware
    /// Ports of these names or addresses, one for each: `Keystation 49`, `24:0`. An empty name leaves that one alone. A
    /// port that does not exist yet is connected when it comes, and again when it comes back.
    case ports(inputs: [String] = [], outputs: [String] = [])
}

/// A connection between one of our ports and another.
struct SequencerLink: Sendable, Hashable {
    let isInput: Bool
    /// The number of our input or output.
    let index: Int
    /// The client at the other end.
    let client: Int
    let port: Int
}

/// The connections that are to be made as ports come and go.
struct SequencerConnections {
    let connect: ALSAMIDIConnect
    let inputs: Int
    let outputs: Int
    /// The connections that have been made, as long as the other end is there: one that a user has taken apart stays
    /// so.
    private var made: Set<SequencerLink> = []
    /// Names that no port has.
    private(set) var missing: [String] = []

    init(_ connect: ALSAMIDIConnect, inputs: Int, outputs: Int) {
        self.connect = connect
        self.inputs = inputs
        self.outputs = outputs
    }

    /// Returns the connections to make now that these ports exist.
    mutating func update(_ ports: [ALSAMIDIPort]) -> [SequencerLink] {
        let wanted = wanted(ports)
        let new = wanted.filter { !made.contains($0) }
        made = Set(wanted)
        return new
    }

    private mutating func wanted(_ ports: [ALSAMIDIPort]) -> [SequencerLink] {
        missing = []
        var links: [SequencerLink] = []
        func link(_ port: ALSAMIDIPort, _ isInput: Bool, _ index: Int) {
            links.append(SequencerLink(isInput: isInput, index: index, client: port.client, port: port.port))
        }
        switch connect {
        case .none: break
        case .hardware:
            for port in ports where port.isHardware {
                if port.canSend, inputs > 0 { link(port, true, 0) }
                if port.canReceive, outputs > 0 { link(port, false, 0) }
            }
        case .ports(let inputNames, let outputNames):
            for (isInput, names, count) in [(true, inputNames, inputs), (false, outputNames, outputs)] {
                let usable = ports.filter { isInput ? $0.canSend : $0.canReceive }
                for (index, name) in names.prefix(count).enumerated() where !name.isEmpty {
                    if let port = ALSAMIDIPort.find(name, in: usable) {
                        link(port, isInput, index)
                    } else {
                        missing.append(name)
                    }
                }
            }
        }
        return links
    }
}
