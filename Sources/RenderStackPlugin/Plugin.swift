public import RenderStack

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
public struct Plugin: Sendable {
    /// The kind of a plug-in, for the menus of hosts.
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

    /// The URI, by which hosts know the plug-in for ever.
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
    /// - Precondition: The numbers are in range, and the URI has no space, quotation mark or angle bracket.
    public init(
        uri: String, name: String, inputs: Int = 2, outputs: Int = 2, category: Category = .none, author: String = "",
        license: String = "", version: (minor: Int, micro: Int) = (2, 0), presets: [Preset] = [],
        _ make: @escaping @Sendable (_ sampleRate: Double) throws -> PluginBody
    ) {
        precondition((0...64).contains(inputs), "Plugin \(name): \(inputs) inputs; it may have 0…64")
        precondition((1...64).contains(outputs), "Plugin \(name): \(outputs) outputs; it must have 1…64")
        precondition(
            uri.contains(":") && !uri.contains { $0.isWhitespace || "<>\"{}|\\^`".contains($0) },
            "Plugin \(name): \"\(uri)\" is no URI, such as https://example.org/warm")
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
}

/// The inside of an instance of a ``Plugin``: its parameters and its render loop.
public struct PluginBody: Sendable {
    let parameters: [ParameterReference]
    let midiInput: MIDIInput?
    let midiOutput: MIDIOutput?
    let hasInput: Bool
    let loop: RenderLoop

    /// Returns an effect: the render loop finds the sound on the stack, edits it, and leaves it there.
    ///
    /// - Parameters:
    ///   - parameters: The parameters that the host shows, by their names for people.
    ///   - midiInput: The input by which it hears MIDI; `nil` for none.
    ///   - midiOutput: The output by which it sends MIDI; `nil` for none.
    ///   - loop: The render loop.
    public static func effect(
        parameters: [ParameterReference] = [], midiInput: MIDIInput? = nil, midiOutput: MIDIOutput? = nil,
        _ loop: @escaping RenderLoop
    ) -> PluginBody {
        PluginBody(
            parameters: parameters, midiInput: midiInput, midiOutput: midiOutput, hasInput: true, loop: loop)
    }

    /// Returns an instrument or another generator: the render loop pushes the sound.
    ///
    /// - Parameters:
    ///   - parameters: The parameters that the host shows, by their names for people.
    ///   - midiInput: The input by which it hears MIDI; `nil` for none.
    ///   - midiOutput: The output by which it sends MIDI; `nil` for none.
    ///   - loop: The render loop.
    public static func generator(
        parameters: [ParameterReference] = [], midiInput: MIDIInput? = nil, midiOutput: MIDIOutput? = nil,
        _ loop: @escaping RenderLoop
    ) -> PluginBody {
        PluginBody(
            parameters: parameters, midiInput: midiInput, midiOutput: midiOutput, hasInput: false, loop: loop)
    }
}
