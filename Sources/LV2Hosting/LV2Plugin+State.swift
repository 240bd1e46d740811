internal import CPluginHost
internal import Glibc
internal import PluginHosting
internal import RenderCore

/// A preset that a plug-in brings.
///
/// Threads: control.
public struct LV2Preset: Sendable, Hashable {
    /// The URI, by which programs know the preset.
    public let uri: String
    /// The name for people.
    public let name: String
}

/// The whole state of a plug-in at a moment, as text: its controls, and what else it keeps, such as a loaded file.
///
/// It is Turtle, which other hosts read too. A `ParameterSnapshot` of a renderer has the controls alone, and
/// those of all modules.
///
/// Threads: control.
public struct LV2State: Sendable, Hashable, Codable {
    /// The text.
    public let text: String

    /// Creates a state from a text that was saved.
    public init(text: String) { self.text = text }
}

extension LV2Plugin {
    /// The presets that are installed for the plug-in, in the order of their names. The first call reads their files.
    public var presets: [LV2Preset] {
        var count: Int32 = 0
        guard let list = unsafe clv2_presets(description.uri, &count) else { return [] }
        defer { unsafe clv2_free_presets(list, count) }
        return (0..<Int(count)).map { index in
            let label = unsafe String(cString: list[index].label)
            // A name is for a line of a list, whatever its file says.
            let name = String(label.map { $0.isNewline ? " " : $0 })
            return unsafe LV2Preset(uri: String(cString: list[index].uri), name: name)
        }
    }

    /// Loads a preset: its controls become those of the parameters, in an open transaction too. The plug-in is silent for
    /// a moment if it plays.
    ///
    /// - Parameter preset: One of the ``presets``.
    /// - Throws: A sentence: the plug-in has no such preset.
    public func load(_ preset: LV2Preset) throws(LV2Error) {
        unsafe try restore { instance, values, found, error in
            unsafe clv2_restore_preset(instance.pointer, preset.uri, values, found, error)
        }
    }

    /// Returns the state of the plug-in, which may be playing.
    ///
    /// - Throws: A sentence: the plug-in cannot save.
    public func save() throws(LV2Error) -> LV2State {
        guard let text = instances.first?.save(host.placedValues) else {
            throw LV2Error("\(name) does not save its state.")
        }
        return LV2State(text: text)
    }

    /// Goes back to a state that was saved. The plug-in is silent for a moment if it plays.
    ///
    /// - Parameter state: The state.
    /// - Throws: A sentence: it is the state of another plug-in, or no state.
    public func restore(_ state: LV2State) throws(LV2Error) {
        unsafe try restore { instance, values, found, error in
            unsafe clv2_restore(instance.pointer, state.text, values, found, error)
        }
    }

    private var instances: [LV2Instance] { host.instances.compactMap { $0 as? LV2Instance } }

    /// Calls a function that restores an instance for all of them, and sets the parameters to what it finds.
    private func restore(
        _ body: (
            LV2Instance, UnsafeMutablePointer<Float>, UnsafeMutablePointer<Bool>, UnsafeMutablePointer<CChar>
        ) -> Bool
    ) throws(LV2Error) {
        for instance in instances {
            let values = unsafe try instance.restored(description) { values, found, error in
                unsafe body(instance, values, found, error)
            }
            for control in description.controls where !control.isOutput {
                if let value = values[control.port] { self[control.symbol]?.value = value }
            }
        }
    }
}

extension LV2Instance {
    /// Returns the state as text, with values of the ports; `nil` if the plug-in does not save.
    func save(_ values: [Float]) -> String? {
        let text = unsafe try? LV2Error.calling { error -> UnsafeMutablePointer<CChar>? in
            unsafe values.withUnsafeBufferPointer { values -> UnsafeMutablePointer<CChar>? in
                guard let start = values.baseAddress else { return nil }
                return unsafe clv2_save(pointer, start, error)
            }
        }
        guard let text = unsafe text else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }

    /// Calls a function that fills in values of ports, and returns those that it has found.
    func restored(
        _ description: LV2Description,
        _ body: (UnsafeMutablePointer<Float>, UnsafeMutablePointer<Bool>, UnsafeMutablePointer<CChar>) -> Bool
    ) throws(LV2Error) -> [Float?] {
        var values = [Float](repeating: 0, count: max(description.portCount, 1))
        var found = [Bool](repeating: false, count: values.count)
        _ = unsafe try LV2Error.calling { error in
            unsafe values.withUnsafeMutableBufferPointer { values -> Bool? in
                unsafe found.withUnsafeMutableBufferPointer { found -> Bool? in
                    guard let values = values.baseAddress, let found = found.baseAddress else { return nil }
                    return unsafe body(values, found, error) ? true : nil
                }
            }
        }
        return zip(values, found).map { $1 ? $0 : nil }
    }
}
