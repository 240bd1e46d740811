public import RenderStack
internal import SignalBlocks

/// A plug-in of yours, that LV2 hosts such as Ardour and jalv load: a render loop with parameters, ports and a name.
///
///     public let plugin = Plugin(uri: "https://example.org/warm", name: "Warm", inputs: 2, outputs: 2) { rate in
///         let drive = Distortion(.tanh), filter = LowPass()
///         return .effect(parameters: [drive.drive.named("Drive"), filter.cutoff.named("Cut-off")]) { context in
///             context.run(drive)
///             context.run(filter)
///         }
///     }
///
/// `scripts/plugin` makes a folder `Warm.lv2` of a package with such a declaration. The closure is called anew for each
/// instance that a host makes, on a thread that may allocate; its modules belong to that instance.
///
/// Threads: control.
public struct Plugin: Sendable {
    /// The kind of a plug-in, for the menus of hosts.
    ///
    /// Threads: any.
    public enum Category: String, Sendable {
        case none = "Plugin"
        case amplifier = "AmplifierPlugin"
        case analyser = "AnalyserPlugin"
        case chorus = "ChorusPlugin"
        case compressor = "CompressorPlugin"
        case delay = "DelayPlugin"
        case distortion = "DistortionPlugin"
        case dynamics = "DynamicsPlugin"
        case equalizer = "EQPlugin"
        case filter = "FilterPlugin"
        case generator = "GeneratorPlugin"
        case instrument = "InstrumentPlugin"
        case limiter = "LimiterPlugin"
        case modulator = "ModulatorPlugin"
        case pitch = "PitchPlugin"
        case reverb = "ReverbPlugin"
        case utility = "UtilityPlugin"
    }

    /// Values of parameters that have a name together.
    ///
    /// Threads: control.
    public struct Preset: Sendable, Hashable {
        /// The name for people.
        public let name: String
        /// Values, by the names of the parameters.
        public let values: [String: Float]

        /// Creates a preset.
        ///
        /// - Parameters:
        ///   - name: The name for people.
        ///   - values: Values, by the names of the parameters; the others are not changed.
        public init(_ name: String, _ values: [String: Float]) {
            self.name = name
            self.values = values
        }
    }

    /// The URI, by which hosts know the plug-in forever.
    public let uri: String
    /// The name for people.
    public let name: String
    /// The number of audio inputs.
    public let inputs: Int
    /// The number of audio outputs.
    public let outputs: Int
    /// The kind of the plug-in.
    public let category: Category
    /// The author's name, or nothing.
    public let author: String
    /// The URI of the licence, or nothing.
    public let license: String
    /// The version that hosts see: its middle and last number. Hosts take the higher one of two plug-ins with one URI.
    public let version: (minor: Int, micro: Int)
    /// The presets.
    public let presets: [Preset]
    let make: @Sendable (Double) throws -> PluginBody

    /// Declares a plug-in.
    ///
    /// - Parameters:
    ///   - uri: The URI: an address of yours, where nothing need be.
    ///   - name: The name for people.
    ///   - inputs: The number of audio inputs, 0…64.
    ///   - outputs: The number of audio outputs, 1…64.
    ///   - category: The kind of the plug-in, for the menus of hosts.
    ///   - author: The author's name.
    ///   - license: The URI of the licence.
    ///   - version: The version that hosts see; both numbers even for one that is finished.
    ///   - presets: The presets.
    ///   - make: The closure that makes an instance for a sample rate: its modules, parameters and render loop.
    /// - Precondition: The numbers are in range, the name is not empty, and the URIs have no space, quotation mark or angle bracket.
    public init(
        uri: String, name: String, inputs: Int = 2, outputs: Int = 2, category: Category = .none, author: String = "",
        license: String = "", version: (minor: Int, micro: Int) = (2, 0), presets: [Preset] = [],
        _ make: @escaping @Sendable (_ sampleRate: Double) throws -> PluginBody
    ) {
        demand(!name.isEmpty, "Plugin \(uri): its name is empty; hosts show none without one")
        demand((0...64).contains(inputs), "Plugin \(name): \(inputs) inputs; it may have 0…64")
        demand((1...64).contains(outputs), "Plugin \(name): \(outputs) outputs; it must have 1…64")
        demand(Self.isURI(uri), "Plugin \(name): \"\(uri)\" is no URI, such as https://example.org/warm")
        demand(
            license.isEmpty || Self.isURI(license),
            "Plugin \(name): the licence \"\(license)\" is no URI, such as http://opensource.org/licenses/MIT")
        demand(
            version.minor >= 0 && version.micro >= 0,
            "Plugin \(name): a version of \(version.minor) and \(version.micro); neither may be negative")
        self.uri = uri
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.category = category
        self.author = author
        self.license = license
        self.version = version
        self.presets = presets
        self.make = make
    }

    /// Returns whether a text is a URI that Turtle takes between angle brackets: a word, a colon, and no sign that ends it.
    private static func isURI(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return false }
        let scheme = text[..<colon].utf8
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let isWord = scheme.allSatisfy {
            letters.contains($0 | 0x20) || (0x2B...0x39).contains($0) && $0 != 0x2C && $0 != 0x2F
        }
        return isWord
            && text.unicodeScalars.allSatisfy {
                $0.value > 0x20 && $0.value != 0x7F && !"<>\"{}|\\^`".unicodeScalars.contains($0)
            }
    }
}

/// The state that an instance of a plug-in keeps besides its parameters, as a text: the path of a file that it has loaded, say. Hosts
/// save it with their sessions.
///
/// Threads: control.
public struct PluginState: Sendable {
    let save: @Sendable () -> String
    let restore: @Sendable (String) throws -> Void

    /// Creates a state. Both closures are called on a thread that may allocate, `save` while the plug-in plays too.
    ///
    /// - Parameters:
    ///   - save: The closure that returns the text.
    ///   - restore: The closure that goes back to a text that `save` has returned, perhaps long ago.
    public init(save: @escaping @Sendable () -> String, restore: @escaping @Sendable (String) throws -> Void) {
        self.save = save
        self.restore = restore
    }
}

/// The inside of an instance of a ``Plugin``: its parameters and its render loop.
///
/// Threads: control.
public struct PluginBody: Sendable {
    let parameters: [ParameterReference]
    let midiInput: MIDIInput?
    let midiOutput: MIDIOutput?
    let state: PluginState?
    let hasInput: Bool
    let loop: RenderLoop

    /// Returns an effect: the render loop finds the sound on the stack, edits it, and leaves it there.
    ///
    /// - Parameters:
    ///   - parameters: The parameters that the host shows, by their names for people.
    ///   - midiInput: The input by which it hears MIDI; `nil` for none.
    ///   - midiOutput: The output by which it sends MIDI; `nil` for none.
    ///   - state: The state that it keeps besides the parameters; `nil` for none.
    ///   - loop: The render loop.
    public static func effect(
        parameters: [ParameterReference] = [], midiInput: MIDIInput? = nil, midiOutput: MIDIOutput? = nil,
        state: PluginState? = nil, _ loop: @escaping RenderLoop
    ) -> PluginBody {
        PluginBody(
            parameters: parameters, midiInput: midiInput, midiOutput: midiOutput, state: state, hasInput: true,
            loop: loop)
    }

    /// Returns an instrument or another generator: the render loop pushes the sound.
    ///
    /// - Parameters:
    ///   - parameters: The parameters that the host shows, by their names for people.
    ///   - midiInput: The input by which it hears MIDI; `nil` for none.
    ///   - midiOutput: The output by which it sends MIDI; `nil` for none.
    ///   - state: The state that it keeps besides the parameters; `nil` for none.
    ///   - loop: The render loop.
    public static func generator(
        parameters: [ParameterReference] = [], midiInput: MIDIInput? = nil, midiOutput: MIDIOutput? = nil,
        state: PluginState? = nil, _ loop: @escaping RenderLoop
    ) -> PluginBody {
        PluginBody(
            parameters: parameters, midiInput: midiInput, midiOutput: midiOutput, state: state, hasInput: false,
            loop: loop)
    }
}
