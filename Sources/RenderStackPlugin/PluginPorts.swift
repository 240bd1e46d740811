internal import RenderStack

/// The ports of a plug-in, in the order of their numbers.
struct PluginPorts {
    let inputs: Range<Int>
    let outputs: Range<Int>
    let controls: Range<Int>
    /// 1 while the plug-in is on, 0 while it is bypassed.
    let enabled: Int
    let latency: Int
    /// MIDI and the transport come in here.
    let eventsIn: Int
    let eventsOut: Int?
    var count: Int { (eventsOut ?? eventsIn) + 1 }

    init(_ plugin: Plugin, _ body: PluginBody) {
        inputs = 0..<plugin.inputs
        outputs = inputs.upperBound..<inputs.upperBound + plugin.outputs
        controls = outputs.upperBound..<outputs.upperBound + body.parameters.count
        enabled = controls.upperBound
        latency = enabled + 1
        eventsIn = latency + 1
        eventsOut = body.midiOutput == nil ? nil : eventsIn + 1
    }

    /// The symbols of the controls: the names in small letters, with everything else as underscores.
    static func symbols(_ parameters: [ParameterReference]) -> [String] {
        var taken: Set<String> = ["enabled", "latency", "events_in", "events_out"]
        return parameters.map { parameter in
            var symbol = String(
                parameter.name.lowercased().unicodeScalars.map { scalar -> Character in
                    ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) ? Character(scalar) : "_"
                })
            if symbol.first.map({ $0.isNumber }) ?? true { symbol = "_" + symbol }
            var unique = symbol
            var number = 2
            while !taken.insert(unique).inserted {
                unique = "\(symbol)_\(number)"
                number += 1
            }
            return unique
        }
    }
}
