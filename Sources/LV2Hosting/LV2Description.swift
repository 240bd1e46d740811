internal import CPluginHost
internal import Glibc

/// The description of a plug-in: its name, its ports, and the messages that it hears and sends.
///
///     for plugin in LV2Description.all { print(plugin.name, plugin.uri) }
///     let equalizer = try LV2Description(uri: "http://gareus.org/oss/lv2/fil4#mono")
///
/// Threads: control.
public struct LV2Description: Sendable, Hashable {
    /// The URI, by which programs know the plug-in.
    public let uri: String
    /// The name for people.
    public let name: String
    /// The class of plug-ins that it belongs to, such as `Reverb`.
    public let category: String
    /// The author's name, or nothing.
    public let author: String
    /// The URI of the licence, or nothing.
    public let license: String
    /// The path of its folder.
    public let bundle: String
    /// The path of its library.
    public let library: String
    /// The number of audio inputs that belong to the main sound.
    public let inputs: Int
    /// The number of audio inputs of the side-chain.
    public let sideInputs: Int
    /// The number of audio outputs.
    public let outputs: Int
    /// The control ports, in the order of the description.
    public let controls: [LV2Control]
    /// Indicates whether it hears MIDI.
    public let takesMIDI: Bool
    /// Indicates whether it sends MIDI.
    public let sendsMIDI: Bool
    /// Indicates whether it wants to know the transport and the tempo.
    public let takesTransport: Bool
    /// Indicates whether its sound may come late.
    public let hasLatency: Bool
    /// Indicates whether its authors say that it is fit for an audio thread.
    public let isRealtimeCapable: Bool
    /// Indicates whether it has work done beside the audio.
    public let hasWorker: Bool
    /// A feature that it requires and that RenderStack does not have; `nil` if there is none.
    public let missingFeature: String?
    let portCount: Int

    /// Reads a description.
    ///
    /// - Parameter uri: The URI.
    /// - Throws: A sentence: no plug-in has the URI, or the program was built without lilv.
    public init(uri: String) throws(LV2Error) {
        let plugin = unsafe try LV2Error.calling { unsafe clv2_describe(uri, $0) }
        unsafe self.init(plugin)
        unsafe clv2_free_plugin(plugin)
    }

    /// Reads the description of the one plug-in with a name.
    ///
    /// - Parameter name: The name, in capital or small letters, or the URI.
    /// - Throws: A sentence: none has the name, or several have.
    public init(name: String) throws(LV2Error) {
        let found = unsafe try LV2Error.calling { unsafe clv2_find(name, $0) }
        defer { unsafe free(found) }
        try self.init(uri: unsafe String(cString: found))
    }

    /// Reads the description of a plug-in in a folder, which need not be where plug-ins are installed.
    ///
    /// - Parameters:
    ///   - path: The path of the folder, which ends with `.lv2`.
    ///   - uri: The URI of one of its plug-ins; the first by default.
    /// - Throws: A sentence: it is no such folder, or has no such plug-in.
    public init(bundle path: String, uri: String? = nil) throws(LV2Error) {
        _ = unsafe try LV2Error.calling { unsafe clv2_load_bundle(path, $0) ? true : nil }
        let inside = Self.uris(inBundle: path)
        guard let chosen = uri ?? inside.first, inside.contains(chosen) else {
            throw LV2Error("\(path) has no plug-in\(uri.map { " with the URI \($0)" } ?? "").")
        }
        try self.init(uri: chosen)
    }

    /// All plug-ins of this machine, in the order of their URIs. The folders are those in `LV2_PATH`, or the usual ones.
    public static var all: [LV2Description] { uris(inBundle: nil).compactMap { try? LV2Description(uri: $0) } }

    /// The URIs of all plug-ins of this machine, sorted.
    public static var uris: [String] { uris(inBundle: nil) }

    /// Returns the URIs of the plug-ins in a folder, sorted. The folder need not be where plug-ins are installed.
    ///
    /// - Parameter path: The path of the folder, which ends with `.lv2`.
    /// - Throws: A sentence: it is no such folder.
    public static func uris(bundle path: String) throws(LV2Error) -> [String] {
        _ = unsafe try LV2Error.calling { unsafe clv2_load_bundle(path, $0) ? true : nil }
        return uris(inBundle: path)
    }

    /// Indicates whether the program was built with lilv, without which there are no plug-ins.
    public static var isAvailable: Bool { clv2_is_available() }

    private static func uris(inBundle path: String?) -> [String] {
        var count: Int32 = 0
        guard let list = unsafe clv2_uris(path, &count) else { return [] }
        defer { unsafe clv2_free_list(list, count) }
        return (0..<Int(count)).compactMap { index in unsafe list[index].map { unsafe String(cString: $0) } }
    }

    private init(_ pointer: UnsafeMutablePointer<clv2_plugin>) {
        let plugin = unsafe pointer.pointee
        uri = unsafe String(cString: plugin.uri)
        name = unsafe String(cString: plugin.name)
        category = unsafe String(cString: plugin.kind)
        author = unsafe String(cString: plugin.author)
        license = unsafe String(cString: plugin.license)
        bundle = unsafe String(cString: plugin.bundle)
        library = unsafe String(cString: plugin.library)
        isRealtimeCapable = unsafe plugin.is_realtime
        hasWorker = unsafe plugin.has_worker
        let missing = unsafe String(cString: plugin.missing)
        missingFeature = missing.isEmpty ? nil : missing
        let ports = unsafe UnsafeBufferPointer(start: plugin.ports, count: Int(plugin.port_count))
        portCount = ports.count
        var counts = (inputs: 0, sides: 0, outputs: 0)
        var (hearsMIDI, sendsMIDI, hearsTransport, isLate) = (false, false, false, false)
        var controls: [LV2Control] = []
        for index in 0..<ports.count {
            let port = unsafe ports[index]
            switch unsafe port.kind {
            case CLV2_AUDIO:
                if unsafe !port.is_input {
                    counts.outputs += 1
                } else if unsafe port.is_side_chain {
                    counts.sides += 1
                } else {
                    counts.inputs += 1
                }
            case CLV2_CONTROL:
                if unsafe port.is_latency && !port.is_input { isLate = true }
                if unsafe !port.is_latency && !port.is_freewheel {
                    unsafe controls.append(LV2Control(port, number: index))
                }
            case CLV2_EVENTS:
                if unsafe port.takes_midi && port.is_input { hearsMIDI = true }
                if unsafe port.takes_midi && !port.is_input { sendsMIDI = true }
                if unsafe port.takes_position && port.is_input { hearsTransport = true }
            default: break
            }
        }
        (inputs, sideInputs, outputs) = (counts.inputs, counts.sides, counts.outputs)
        self.controls = controls
        (takesMIDI, self.sendsMIDI, takesTransport, hasLatency) = (hearsMIDI, sendsMIDI, hearsTransport, isLate)
    }
}
