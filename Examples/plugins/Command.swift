import ExampleSupport
import RenderStack

#if Everything || LV2
    /// A request to the program: a verb, the plug-in or a word, options, and values of controls.
    struct Command {
        let verb: String
        /// The plug-in's URI or name, or a word to look for.
        let word: String
        let options: Options
        /// The values of controls, in their order.
        private var settings: [(symbol: String, value: Float)] = []

        private static let about = """
            Plays LV2 plug-ins and says what they are:
              \(Terminal.programName) list [WORD]        all plug-ins, or those with a word in their name, class, author or URI
              \(Terminal.programName) describe PLUGIN    its channels, controls and presets; PLUGIN is a URI, a name, or a folder
              \(Terminal.programName) scan               tries all in a child process, and says which cannot be used and why
              \(Terminal.programName) play PLUGIN        an effect on a file, or on a tone and noise; an instrument by itself
              \(Terminal.programName) draw PLUGIN        draws what an effect does to each frequency
            The option --set SYMBOL=VALUE sets a control. You may give it several times; describe shows the controls.
            """

        init(_ arguments: ArraySlice<String>) {
            var rest: [String] = []
            var words: [String] = []
            var arguments = arguments
            var settings: [(String, Float)] = []
            while let argument = arguments.popFirst() {
                if argument == "--set" || argument.hasPrefix("--set=") {
                    let text = argument == "--set" ? arguments.popFirst() ?? "" : String(argument.dropFirst(6))
                    let parts = text.split(separator: "=", maxSplits: 1)
                    guard parts.count == 2, let value = Float(parts[1]), value.isFinite else {
                        Terminal.stop("plugins: --set \(text): it must be SYMBOL=NUMBER, such as gain=3", status: 2)
                    }
                    settings.append((String(parts[0]), value))
                } else if argument.hasPrefix("-") {
                    rest.append(argument)
                    if argument != "--help", argument != "-h", !argument.contains("="), let value = arguments.popFirst()
                    {
                        rest.append(value)
                    }
                } else {
                    words.append(argument)
                }
            }
            do throws(Options.Stop) {
                options = try Options(
                    rest[...], about: Self.about, seconds: 8,
                    extras: [
                        .text("input", "FILE", "play: the sound that an effect gets"),
                        .text("preset", "NAME", "play, draw: a preset of the plug-in"),
                        .text("picture", "FILE", "draw: the picture, a PNG file: response.png if not given"),
                    ])
            } catch {
                Terminal.stop(error.text, status: error.status)
            }
            let verbs = ["list", "search", "describe", "scan", "play", "draw"]
            guard let first = words.first, verbs.contains(first) else {
                Terminal.stop(
                    "plugins: it takes one of \(verbs.joined(separator: ", ")); see plugins --help", status: 2)
            }
            verb = first == "search" ? "list" : first
            word = words.dropFirst().joined(separator: " ")
            self.settings = settings
            if word.isEmpty && !["list", "scan"].contains(verb) {
                Terminal.stop("plugins: \(verb) needs the URI or the name of a plug-in; see plugins list", status: 2)
            }
        }

        /// Loads the plug-in, with the preset and the values that were asked for.
        func plugin() throws -> LV2Plugin {
            let plugin: LV2Plugin
            if word.hasSuffix(".lv2") || word.hasSuffix(".lv2/") {
                plugin = try LV2Plugin(bundle: word)
            } else if word.contains(":") {
                plugin = try LV2Plugin(uri: word)
            } else {
                plugin = try LV2Plugin(name: word)
            }
            if let name = options.text("preset") {
                guard let preset = plugin.presets.first(where: { $0.name == name || $0.uri == name }) else {
                    throw LV2Error("\(plugin.name) has no preset \(name); see plugins describe.")
                }
                try plugin.load(preset)
            }
            for (symbol, value) in settings {
                guard let parameter = plugin[symbol] else {
                    throw LV2Error("\(plugin.name) has no control \(symbol); see plugins describe.")
                }
                guard parameter.range.contains(value) else {
                    let range = parameter.range
                    throw LV2Error(
                        "\(symbol) of \(plugin.name) is \(range.lowerBound) to \(range.upperBound), not \(value).")
                }
                parameter.value = value
            }
            return plugin
        }
    }
#endif
