internal import Glibc
internal import RenderCore
internal import Supply

/// The ports to which an output connects its ports by itself.
///
/// Threads: control.
public enum JACKConnect: Sendable, Hashable {
    /// None: the connections are left to others.
    case none
    /// Its first channels to the first physical ports, its inputs from the first physical ones.
    case physical
    /// Ports of these names, one after the other: `system:playback_1`. An empty name leaves that channel alone.
    case ports(outputs: [String] = [], inputs: [String] = [])

    /// Returns the setting, or that of the environment, which has the last word: `RENDERSTACK_JACK_CONNECT=no` means
    /// ``none``, `physical` means ``physical``.
    func overridden(by environment: String?) -> JACKConnect {
        switch environment?.lowercased() {
        case "no", "none", "0", "off", "false": .none
        case "physical", "yes", "1", "on", "true": .physical
        default: self
        }
    }
}

/// The settings that an output is made with.
struct JACKSettings: Sendable {
    var name: String
    var server: String?
    var inputs: [AudioInput]
    /// Indicates whether inputs that join the renderer get ports.
    var followsInputs: Bool
    var midiInputs: [MIDIInput]
    var midiOutputs: [MIDIOutput]
    var connect: JACKConnect
    var rejoins: Bool
    var compensatesLatency: Bool
    var startsServer: Bool
    var startsOverInFreewheel: Bool

    /// The name of the server that is meant, for people: JACK's own rule.
    var serverName: String { server ?? JACKSettings.defaultServerName }

    /// The name of the server if the program gives none.
    static var defaultServerName: String {
        unsafe getenv("JACK_DEFAULT_SERVER").map { unsafe String(cString: $0) } ?? "default"
    }
}

/// A port that an output has.
@safe struct JACKPort: @unchecked Sendable {
    // Unchecked because JACK's functions for ports may be called from any thread.
    let plan: JACKPortPlan
    let port: OpaquePointer
}

/// A port that an output wants.
struct JACKPortPlan: Sendable, Hashable {
    /// The name that other programs see: `out_1`.
    let name: String
    /// The name for people: `main 1`.
    let prettyName: String
    let group: String
    let isInput: Bool
    let isMIDI: Bool

    /// Returns all ports of an output: `out_1`, `out_2` … over all outputs of the renderer, `in_1` … over all inputs,
    /// `midi_out_1`, `midi_in_1`.
    static func ports(outputs: [Int], _ settings: JACKSettings) -> [JACKPortPlan] {
        var plans: [JACKPortPlan] = []
        func add(_ prefix: String, _ group: String, _ channel: Int, isInput: Bool, isMIDI: Bool) {
            let number = plans.count { $0.isInput == isInput && $0.isMIDI == isMIDI } + 1
            plans.append(
                JACKPortPlan(
                    name: "\(prefix)_\(number)", prettyName: isMIDI ? group : "\(group) \(channel + 1)", group: group,
                    isInput: isInput, isMIDI: isMIDI))
        }
        for (index, count) in outputs.enumerated() {
            for channel in 0..<count {
                add("out", index == 0 ? "main" : "auxiliary \(index)", channel, isInput: false, isMIDI: false)
            }
        }
        for input in settings.inputs {
            for channel in 0..<input.channelCount { add("in", input.name, channel, isInput: true, isMIDI: false) }
        }
        for output in settings.midiOutputs { add("midi_out", output.name, 0, isInput: false, isMIDI: true) }
        for input in settings.midiInputs { add("midi_in", input.name, 0, isInput: true, isMIDI: true) }
        return plans
    }
}
