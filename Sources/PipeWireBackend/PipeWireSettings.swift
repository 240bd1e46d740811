internal import CPipeWire
internal import Glibc
internal import RenderCore
internal import Supply

/// The device that a stream is connected to.
///
/// Threads: control.
public enum PipeWireTarget: Sendable, Hashable {
    /// The default device of the desktop, and each that takes its place.
    case standard
    /// The device of that name, as ``PipeWireDevice/name`` says it.
    case device(String)
    /// The sound that a sink plays, to record it: that of a name, or the default one.
    case monitor(of: String? = nil)
    /// None: the connections are left to others, such as a patchbay.
    case none
}

/// The kind of the sound, for a desktop that treats sounds differently: turns music down for a call, say.
///
/// Threads: control.
public enum PipeWireRole: String, Sendable, Hashable, CaseIterable {
    /// Music that is listened to.
    case music = "Music"
    /// Music that is made.
    case production = "Production"
    /// A film.
    case movie = "Movie"
    /// A game.
    case game = "Game"
    /// A call.
    case communication = "Communication"
    /// A sound of the desktop itself.
    case notification = "Notification"
    /// A voice that reads the screen.
    case accessibility = "Accessibility"
    /// A sound that tests something.
    case test = "Test"
}

/// The settings that an output is made with.
struct PipeWireSettings: Sendable {
    var name: String
    var title: String
    var icon: String
    var role: PipeWireRole
    var remote: String?
    var target: PipeWireTarget
    var source: PipeWireTarget
    var inputs: [AudioInput]
    /// Indicates whether inputs that join the renderer are captured too.
    var followsInputs: Bool
    var midiInputs: [MIDIInput]
    var midiOutputs: [MIDIOutput]
    var cycleLength: Int?
    var sampleRate: Double?
    var rejoins: Bool
    var compensatesLatency: Bool
    /// The name of the group in which PipeWire calls the streams one after the other, with one clock.
    let group: String

    /// Refuses what PipeWire would refuse without a reason.
    func check(channels: Int) throws(PipeWireError) {
        for (name, what) in [(name, "a name"), (title, "a title"), (icon, "an icon")] where name.utf8.contains(0) {
            throw .unfit("PipeWire cannot take \(what) with a byte 0 in it.")
        }
        if case .monitor = target {
            throw .unfit("A monitor is what a device plays, to record it: as `source:`, and not as `target:`.")
        }
        if name.isEmpty { throw .unfit("PipeWire cannot take an empty name: give the output one.") }
        if [target, source].contains(where: { [.device(""), .monitor(of: "")].contains($0) }) {
            throw .unfit(
                "A device without a name cannot be chosen: leave `target:` and `source:` out for the default device.")
        }
        if let cycleLength, !(1...65_536).contains(cycleLength) {
            throw .unfit("A cycle of \(cycleLength) frames cannot be wished for: it must be 1…65,536.")
        }
        if let sampleRate, Int(exactly: sampleRate).map({ Self.rates.contains($0) }) != true {
            throw .unfit("PipeWire has no rate of \(sampleRate) Hz: it must be a whole number of 1,000…768,000.")
        }
        for (count, what) in [
            (channels, "outputs"), (inputs.reduce(0) { $0 + $1.channelCount }, "inputs"),
        ] where count > Int(CPW_CHANNELS) {
            throw .unfit("The \(what) have \(count) channels, and a stream of PipeWire's has \(CPW_CHANNELS) at most.")
        }
    }

    /// Returns the properties of a node, as keys and values.
    func properties(ofPlayback isPlayback: Bool, rate: Int) -> [String] {
        let target = isPlayback ? target : source
        var words = [
            "media.type", "Audio", "media.category", isPlayback ? "Playback" : "Capture", "node.name",
            isPlayback ? name : "\(name)-in",
        ]
        words += common
        // With a wish the graph changes to that rate where it may, and stays there.
        if sampleRate != nil { words += ["node.rate", "1/\(rate)"] }
        switch target {
        case .standard, .none: break
        // Without the second wireplumber lets a program follow the default device if that was its own at first. Both directions have
        // a group each: else a program may not play into a canceller of echoes that it records from, which counts as a circle.
        case .device(let device): words += ["target.object", device, "node.link-group", linkGroup(isPlayback)]
        case .monitor(let device):
            words += ["stream.capture.sink", "true"]
            if let device { words += ["target.object", device, "node.link-group", linkGroup(isPlayback)] }
        }
        if let cycleLength { words += ["node.latency", "\(cycleLength)/\(rate)"] }
        return words
    }

    private func linkGroup(_ isPlayback: Bool) -> String { "\(group)-\(isPlayback ? "out" : "in")" }

    /// The properties of the node with the MIDI ports.
    var midiProperties: [String] {
        ["media.type", "Midi", "media.category", "Filter", "media.class", "Midi/Bridge", "node.name", "\(name)-midi"]
            + common
    }

    private var common: [String] {
        [
            "application.name", name, "application.icon-name", icon, "media.icon-name", icon, "media.role",
            role.rawValue,
            "media.name", title, "node.description", name, "node.group", group, "node.always-process", "true",
        ]
    }

    /// The properties of the connection. Until PipeWire 1.4 a file of its own asks for real-time priority.
    var connectionProperties: [String] {
        let version = unsafe String(cString: cpw_version()).split(separator: ".").compactMap { Int($0) }
        let isOld = version.count >= 2 && (version[0], version[1]) < (1, 3)
        return ["application.name", name, "application.icon-name", icon]
            + (isOld ? ["config.name", "client-rt.conf"] : [])
    }

    /// The rates at which a program can run, in hertz.
    static let rates = 1_000...768_000

    /// Returns the number of channels of the stream that plays: a mono main output beside others takes two.
    static func playedChannels(_ counts: [Int]) -> Int {
        counts.reduce(0, +) + (counts.count > 1 && counts[0] == 1 ? 1 : 0)
    }

    /// Returns the places of that many channels, or numbers if there are several outputs or inputs: beside places 0.3.65 plays numbered
    /// channels as silence. The session manager connects numbers to the places of a device in turn.
    static func positions(main: Int, all: Int) -> [UInt32] {
        let numbered = (0..<Int32(all)).map { cpw_position_aux($0) }
        if main != all { return numbered }
        if main == 1 { return [cpw_position_mono()] }
        // The numbers are those of the shim: FL, FR, FC, LFE, RL, RR, SL, SR.
        let places: [Int32] =
            switch main {
            case 2: [0, 1]
            case 3: [0, 1, 3]
            case 4: [0, 1, 4, 5]
            case 5: [0, 1, 2, 4, 5]
            case 6: [0, 1, 2, 3, 4, 5]
            case 8: [0, 1, 2, 3, 4, 5, 6, 7]
            default: []
            }
        return places.isEmpty ? numbered : places.map { cpw_position($0) }
    }
}

/// Calls a closure with words of C, a null pointer at their end.
func withWords<Result>(_ words: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result) -> Result {
    var copies = unsafe words.map { unsafe UnsafePointer<CChar>(strdup($0)) }
    defer { for index in unsafe copies.indices { unsafe free(UnsafeMutableRawPointer(mutating: copies[index])) } }
    unsafe copies.append(nil)
    return unsafe copies.withUnsafeBufferPointer { unsafe body($0.baseAddress.unsafelyUnwrapped) }
}
