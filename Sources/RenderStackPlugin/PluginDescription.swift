internal import RenderCore
internal import RenderStack

extension Plugin {
    /// Returns the description of the plug-in for hosts, in Turtle. `scripts/plugin` writes it beside the library.
    ///
    /// - Throws: The error of the closure that makes an instance, or a sentence of a render loop that does not add up.
    public func description() throws -> String {
        let body = try PluginInstance.body(of: self)
        try check(body)
        let ports = PluginPorts(self, body)
        var text = Self.prefixes
        text += "<\(uri)> a lv2:Plugin, doap:Project\(category == .none ? "" : ", lv2:\(category.rawValue)") ;\n"
        text += "  doap:name \(Self.quoted(name)) ;\n"
        if !license.isEmpty { text += "  doap:license <\(license)> ;\n" }
        if !author.isEmpty { text += "  doap:maintainer [ foaf:name \(Self.quoted(author)) ] ;\n" }
        text += "  lv2:minorVersion \(version.minor) ; lv2:microVersion \(version.micro) ;\n"
        if body.state != nil { text += "  lv2:extensionData state:interface ;\n" }
        text += "  lv2:optionalFeature lv2:hardRTCapable, urid:map, opts:options ;\n"
        text += "  lv2:port\n"
        var list: [String] = []
        func add(_ index: Int, _ kind: String, _ symbol: String, _ name: String, _ more: String = "") {
            list.append(
                "  [ a \(kind) ; lv2:index \(index) ; lv2:symbol \(Self.quoted(symbol)) ; lv2:name \(Self.quoted(name))"
                    + "\(more) ]")
        }
        for (number, index) in ports.inputs.enumerated() {
            add(index, "lv2:InputPort, lv2:AudioPort", "in_\(number + 1)", inputs == 1 ? "In" : "In \(number + 1)")
        }
        for (number, index) in ports.outputs.enumerated() {
            add(index, "lv2:OutputPort, lv2:AudioPort", "out_\(number + 1)", outputs == 1 ? "Out" : "Out \(number + 1)")
        }
        let symbols = PluginPorts.symbols(body.parameters)
        for (number, index) in ports.controls.enumerated() {
            let parameter = body.parameters[number]
            add(index, "lv2:InputPort, lv2:ControlPort", symbols[number], parameter.name, Self.range(of: parameter))
        }
        add(
            ports.enabled, "lv2:InputPort, lv2:ControlPort", "enabled", "Enabled",
            " ; lv2:default 1 ; lv2:minimum 0 ; lv2:maximum 1 ; lv2:portProperty lv2:toggled ; lv2:designation lv2:enabled"
        )
        add(
            ports.latency, "lv2:OutputPort, lv2:ControlPort", "latency", "Latency",
            " ; lv2:portProperty lv2:reportsLatency, lv2:integer ; lv2:designation lv2:latency ; units:unit units:frame"
                + " ; lv2:minimum 0 ; lv2:maximum 192000")
        let hears = body.midiInput == nil ? "time:Position" : "midi:MidiEvent, time:Position"
        add(
            ports.eventsIn, "lv2:InputPort, atom:AtomPort", "events_in", "Events in",
            " ; atom:bufferType atom:Sequence ; atom:supports \(hears) ; lv2:portProperty lv2:connectionOptional"
                + " ; lv2:designation lv2:control")
        if let port = ports.eventsOut {
            add(
                port, "lv2:OutputPort, atom:AtomPort", "events_out", "Events out",
                " ; atom:bufferType atom:Sequence ; atom:supports midi:MidiEvent ; lv2:portProperty lv2:connectionOptional"
            )
        }
        text += list.joined(separator: " ,\n") + " .\n"
        for preset in presets {
            text +=
                "\n<\(presetURI(preset))> a pset:Preset ; lv2:appliesTo <\(uri)> ; rdfs:label \(Self.quoted(preset.name))"
            let values = body.parameters.indices.compactMap { index -> String? in
                preset.values[body.parameters[index].name].map {
                    "[ lv2:symbol \(Self.quoted(symbols[index])) ; pset:value \(Self.number($0)) ]"
                }
            }
            text += (values.isEmpty ? "" : " ; lv2:port \(values.joined(separator: " , "))") + " .\n"
        }
        return text
    }

    /// Returns the manifest of a folder of plug-ins, in Turtle.
    ///
    /// - Parameters:
    ///   - plugins: The plug-ins.
    ///   - library: The name of the library's file.
    ///   - description: The name of the file with the descriptions.
    public static func manifest(of plugins: [Plugin], library: String, description: String) -> String {
        var text = prefixes
        for plugin in plugins {
            text += "<\(plugin.uri)> a lv2:Plugin ; lv2:binary <\(library)> ; rdfs:seeAlso <\(description)> .\n"
            for preset in plugin.presets {
                text += "<\(plugin.presetURI(preset))> a pset:Preset ; lv2:appliesTo <\(plugin.uri)> ; "
                text += "rdfs:seeAlso <\(description)> .\n"
            }
        }
        return text
    }

    /// Throws a sentence about the parameters and presets, where a host could not use them.
    private func check(_ body: PluginBody) throws {
        for parameter in body.parameters where parameter.name.isEmpty {
            throw PluginError(
                "A parameter of \(name) has no name; please name it, by named(_:), as people are to see it.")
        }
        for (number, preset) in presets.enumerated() {
            if preset.name.isEmpty { throw PluginError("A preset of \(name) has no name.") }
            if let other = presets[..<number].first(where: { presetURI($0) == presetURI(preset) }) {
                throw PluginError(
                    "Two presets of \(name) are alike but for signs: \(other.name) and \(preset.name); please rename one."
                )
            }
            for (word, value) in preset.values.sorted(by: { $0.key < $1.key }) {
                let matches = body.parameters.filter { $0.name == word }
                guard let parameter = matches.first else {
                    throw PluginError("The preset \(preset.name) of \(name) sets \(word), which is no parameter of it.")
                }
                if matches.count > 1 {
                    throw PluginError(
                        "The preset \(preset.name) of \(name) sets \(word), which is the name of \(matches.count) parameters."
                    )
                }
                let range = Self.range(parameter)
                if !range.contains(value) {
                    throw PluginError(
                        "The preset \(preset.name) of \(name) sets \(word) to \(value); it is "
                            + "\(range.lowerBound)…\(range.upperBound).")
                }
            }
        }
    }

    private func presetURI(_ preset: Preset) -> String {
        let word = preset.name.lowercased().unicodeScalars.map { scalar in
            ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) ? Character(scalar) : "-"
        }
        return uri + (uri.contains("#") ? "-preset-" : "#preset-") + String(word)
    }

    private static let prefixes = """
        @prefix atom: <http://lv2plug.in/ns/ext/atom#> .
        @prefix doap: <http://usefulinc.com/ns/doap#> .
        @prefix foaf: <http://xmlns.com/foaf/0.1/> .
        @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
        @prefix midi: <http://lv2plug.in/ns/ext/midi#> .
        @prefix opts: <http://lv2plug.in/ns/ext/options#> .
        @prefix pprops: <http://lv2plug.in/ns/ext/port-props#> .
        @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix state: <http://lv2plug.in/ns/ext/state#> .
        @prefix time: <http://lv2plug.in/ns/ext/time#> .
        @prefix units: <http://lv2plug.in/ns/extensions/units#> .
        @prefix urid: <http://lv2plug.in/ns/ext/urid#> .


        """

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case _ where scalar.value < 32: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// A number as Turtle has it, never as a whole number, which would be of another type.
    private static func number(_ value: Float) -> String { "\(Double(value))" }

    /// The range that a host shows: that of the ear, where a module takes more than any knob should have.
    private static func range(_ parameter: ParameterReference) -> ClosedRange<Float> {
        var (low, high) = (parameter.range.lowerBound, parameter.range.upperBound)
        if parameter.unit == .hertz && high > 20_000 { high = 20_000 }
        if parameter.initialValue > high { high = parameter.initialValue }
        if low > high { low = high }
        return low...high
    }

    private static func range(of parameter: ParameterReference) -> String {
        let (low, high) = (range(parameter).lowerBound, range(parameter).upperBound)
        var text = " ; lv2:default \(number(parameter.initialValue)) ; lv2:minimum \(number(low))"
        text += " ; lv2:maximum \(number(high))"
        if let unit = unit(of: parameter) { text += " ; units:unit units:\(unit)" }
        if parameter.glide.isExponential && low > 0 { text += " ; lv2:portProperty pprops:logarithmic" }
        return text
    }

    private static func unit(of parameter: ParameterReference) -> String? {
        switch parameter.unit {
        case .none: nil
        case .hertz: "hz"
        case .decibels: "db"
        case .seconds: "s"
        case .milliseconds: "ms"
        case .octaves: "oct"
        case .cents: "cent"
        case .semitones: "semitone12TET"
        case .percent: "pc"
        case .beatsPerMinute: "bpm"
        case .beats: "beat"
        case .frames: "frame"
        }
    }
}

/// The reason why a plug-in cannot be described.
struct PluginError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
