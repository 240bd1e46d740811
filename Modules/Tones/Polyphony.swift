public import RenderCore
internal import Sharing
public import Supply
internal import Synchronization
public import Voices

/// Many voices of one kind that a user writes, computed eight at a time. Pushes one buffer with their sum.
///
///     let bells = Polyphony<Bell>(voices: 64)
///     let bell = bells.play(72, velocity: 0.8)                    // while the loop runs
///     bells.bend(bell, by: 0.5)
///     bells.release(bell, at: .now + .seconds(1))
///     bells[.cutoff].value = 2_000                                // a parameter of all voices
///
///     let synth = Polyphony<Bell>(keys: MIDIInput(name: "keys"))  // played by MIDI messages
///
/// The voice is a `LaneVoice`. Notes begin and end on their frame, also in the middle of a slice. If more notes are wanted than
/// there are voices, the voice that has been dying away longest makes room, else the oldest: it fades out in 5 ms beside the new
/// one. Groups of eight voices that are silent cost nothing. A voice that makes a sample that is no number ends, and the others go on.
/// However the cycles are cut, the samples are the same, bit for bit. Latency: none.
///
/// From MIDI it takes notes, bend, the pressure of keys and channels, the sustain pedal (64), the controllers that
/// ``init(voices:keys:controllers:bendRange:name:)`` names, all sound off (120), controllers off (121) and all notes off (123).
/// Each channel has its own bend, pressure and controllers, so that MPE controllers play it, with notes on a channel of their own.
///
/// Threads: control.
public final class Polyphony<Voice: LaneVoice>: Generator {
    /// The level of all voices together, 0…4.
    public let level = Parameter(1, in: 0...4)
    /// The number of voices that may sound, those that fade out not counted.
    public let voiceCount: Int
    /// The name in faults and statistics.
    public let name: String

    private let player: VoicePlayer
    private let references: [ParameterReference]
    private let makeNotes: @Sendable (Double) -> PlayedNotes
    private let rate = Atomic<UInt64>((48_000.0).bitPattern)
    private let lastVoice = Atomic<Int>(0)

    /// Creates an instrument.
    ///
    /// - Parameters:
    ///   - voices: The number of voices that may sound, those that fade out not counted; 1…4096.
    ///   - keys: An input that plays it.
    ///   - controllers: The controllers that set parameters, each for the notes of its channel.
    ///   - bendRange: Semitones of the wheel, either way: -128…128.
    ///   - name: The name in faults and statistics.
    /// - Precondition: The numbers are in range, and all fields of the voice are of eight lanes.
    public init(
        voices: Int = 64, keys: MIDIInput? = nil, controllers: [VoiceController<Voice.Parameters>] = [],
        bendRange: Float = 2, name: String = "\(Voice.self)"
    ) {
        demand((1...4096).contains(voices), "Polyphony: \(voices) voices; it must be 1…4,096")
        demand(
            abs(bendRange) <= 128, "Polyphony: a wheel of \(bendRange) semitones; it must be -128…128")
        let problem = Voice.problem
        demand(problem == nil, problem ?? "")
        voiceCount = voices
        self.name = name
        let cases = Array(Voice.Parameters.allCases)
        let ranges = cases.map { $0.makeParameter().range }
        let maps = controllers.map { $0.mapping(ranges[$0.parameter.rawValue]) }
        let make = { @Sendable (rate: Double) in
            // As many voices again, and 16 at least, are there to fade out.
            let ensemble = LaneEnsemble(Voice.self, slots: voices + max(voices, 16), sampleRate: rate)
            return PlayedNotes(ensemble, limit: voices, maps: maps, ranges: ranges, bendRange: bendRange)
        }
        makeNotes = make
        player = VoicePlayer(keys ?? MIDIInput(name: "keys")) {
            make(48_000)
        } parameter: { index in
            if index < cases.count { return cases[index].makeParameter() }
            return Parameter(0, in: 0...1)
        }
        references = player.references(cases.map { "\($0)" })
    }

    /// The parameter of all voices that a case stands for.
    ///
    /// - Parameter parameter: One of the voice's parameters.
    public subscript(_ parameter: Voice.Parameters) -> ParameterReference { references[parameter.rawValue] }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        // The one case of `NoVoiceParameters` can be named in a program, and means nothing.
        let isPlain = Voice.Parameters.self == NoVoiceParameters.self
        return [level.named("level")] + (isPlain ? [] : references)
    }

    // MARK: Control

    /// The pitch of each key: equal temperament at first.
    ///
    ///     synth.tuning = try Tuning(scl: "31edo.scl")
    ///
    /// Notes that sound keep the pitch with which they began; another tuning counts for those that begin after it. In a transaction it
    /// comes with the others. A bend moves a note by semitones in every tuning.
    public var tuning: Tuning {
        get { player.tuned.tuning }
        set { player.tuned.tuning = newValue }
    }

    /// The number of voices that sound, those that fade out not counted.
    public var soundingCount: Int { player.sounding.value }
    /// The largest number of voices that sounded at once.
    public var mostVoices: Int { player.most.value }
    /// The number of voices that were stolen.
    public var stolenCount: Int { player.stolen.value }
    /// The number of voices that ended because they made a sample that was no number.
    public var brokenCount: Int { player.broken.value }

    /// Begins a note.
    ///
    /// - Parameters:
    ///   - note: The note in semitones, fractions included: 69 is the A of 440 Hz. It is held to -128…256. In another ``tuning`` it is
    ///     a key, and fractions lie between two keys; a key that is silent there begins nothing.
    ///   - velocity: 0…1.
    ///   - values: Values of its own for some parameters; the others follow the parameters of all.
    ///   - time: The time at which it begins.
    /// - Returns: The voice; `nil` if 64 commands wait for their time, and this one was not taken.
    @discardableResult
    public func play(
        _ note: Float, velocity: Float = 0.8, with values: [Voice.Parameters: Float] = [:],
        at time: RenderTime = .immediately
    ) -> VoiceID? {
        let id = VoiceID(number: lastVoice.wrappingAdd(1, ordering: .relaxed).newValue)
        var command = beginning(id.number, note, velocity)
        for (parameter, value) in values { command.own[parameter.rawValue] = held(value, parameter) }
        return player.feed.send(command, at: time) ? id : nil
    }

    /// Lets the key of a voice go; `false` if 64 commands wait.
    ///
    /// - Parameters:
    ///   - voice: The voice; nothing happens if it does not sound any more, or is `nil`.
    ///   - time: The time at which it is let go.
    @discardableResult
    public func release(_ voice: VoiceID?, at time: RenderTime = .immediately) -> Bool {
        send(.letGo, voice, 0, at: time)
    }

    /// Bends a voice, in some 30 ms; `false` if 64 commands wait.
    ///
    /// - Parameters:
    ///   - voice: The voice.
    ///   - semitones: The distance from its note, held to 384 either way.
    ///   - time: The time at which the bend begins.
    @discardableResult
    public func bend(_ voice: VoiceID?, by semitones: Float, at time: RenderTime = .immediately) -> Bool {
        // An infinite distance would stay infinite: no number leads back from it.
        send(.bend, voice, semitones.isNaN ? .nan : max(-384, min(semitones, 384)), at: time)
    }

    /// Presses the key of a voice; `false` if 64 commands wait.
    ///
    /// - Parameters:
    ///   - voice: The voice.
    ///   - pressure: 0…1.
    ///   - time: The time at which it is pressed.
    @discardableResult
    public func press(_ voice: VoiceID?, _ pressure: Float, at time: RenderTime = .immediately) -> Bool {
        send(.press, voice, pressure > 0 ? min(pressure, 1) : 0, at: time)
    }

    /// Gives a voice a value of its own for a parameter, in some 30 ms; `false` if 64 commands wait.
    ///
    /// - Parameters:
    ///   - parameter: One of the voice's parameters.
    ///   - value: The value; `nil` for the value of all.
    ///   - voice: The voice.
    ///   - time: The time at which it is set.
    @discardableResult
    public func set(
        _ parameter: Voice.Parameters, to value: Float?, of voice: VoiceID?, at time: RenderTime = .immediately
    ) -> Bool {
        guard let voice else { return false }
        var command = VoiceCommand(.set, voice.number, value.map { held($0, parameter) } ?? .nan)
        command.parameter = parameter.rawValue
        return player.feed.send(command, at: time)
    }

    /// Lets all keys go; `false` if 64 commands wait.
    ///
    /// - Parameter time: The time at which they are let go.
    @discardableResult
    public func releaseAll(at time: RenderTime = .immediately) -> Bool {
        player.feed.send(VoiceCommand(.letGoAll, 0, 0), at: time)
    }

    /// Has a MIDI message act on its frame; `false` if 64 commands wait.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - time: The time at which it acts.
    @discardableResult
    public func send(_ message: MIDIMessage, at time: RenderTime = .immediately) -> Bool {
        player.feed.send(VoiceCommand(message), at: time)
    }

    private func send(_ action: VoiceCommand.Action, _ voice: VoiceID?, _ value: Float, at time: RenderTime) -> Bool {
        guard let voice, !value.isNaN else { return false }
        return player.feed.send(VoiceCommand(action, voice.number, value), at: time)
    }

    /// Returns the command that begins a voice, with numbers in their ranges.
    func beginning(_ voice: Int, _ note: Float, _ velocity: Float) -> VoiceCommand {
        var command = VoiceCommand(.play, voice, note.isNaN ? 69 : max(-128, min(note, 256)))
        command.velocity = velocity > 0 ? min(velocity, 1) : 0
        return command
    }

    /// Has a command act in a frame of this slice.
    func play(_ command: VoiceCommand, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        player.feed.play(command, inFrame: frame, context)
    }

    private func held(_ value: Float, _ parameter: Voice.Parameters) -> Float {
        let range = references[parameter.rawValue].range
        return value.isNaN ? .nan : max(range.lowerBound, min(value, range.upperBound))
    }

    /// Makes delay lines anew if the rate is another; that ends all voices.
    public func prepare(_ preparation: Preparation) {
        let bits = preparation.sampleRate.bitPattern
        if rate.exchange(bits, ordering: .relaxed) != bits {
            player.notes.replace(with: makeNotes(preparation.sampleRate))
        }
    }

    // MARK: Render thread

    /// Pushes the sum of the voices.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        player.process(&context)
        context.gain(level.glide(context))
    }

    /// Ends all voices, at once, and puts pedals and wheels back.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { player.reset(&context) }
}

/// A voice that ``Polyphony/play(_:velocity:with:at:)`` has begun.
///
/// Threads: any.
public struct VoiceID: Sendable, Hashable {
    let number: Int
}

/// A MIDI controller that sets a parameter of the voices on its channel.
///
/// Threads: control.
public struct VoiceController<Parameters: VoiceParameters>: Sendable {
    /// The number of the controller, 0…127.
    public var number: UInt8
    /// The parameter that it sets.
    public var parameter: Parameters
    /// The values at 0 and at 127; those of the parameter if it is `nil`.
    public var range: ClosedRange<Float>?
    /// Indicates that equal turns are equal ratios and not equal differences, as for frequencies and times.
    public var isExponential: Bool

    /// Creates the connection of a controller to a parameter.
    ///
    /// - Parameters:
    ///   - number: The number of the controller, 0…127.
    ///   - parameter: The parameter that it sets.
    ///   - range: The values at 0 and at 127; those of the parameter if it is `nil`.
    ///   - isExponential: `true` if equal turns of the knob are equal ratios, and not equal differences. The range must then
    ///     be above 0.
    /// - Precondition: The number is one of a controller, and the range can be exponential.
    public init(
        _ number: UInt8, _ parameter: Parameters, _ range: ClosedRange<Float>? = nil, isExponential: Bool = false
    ) {
        demand(number < 128, "VoiceController: number \(number); it must be 0…127")
        self.number = number
        self.parameter = parameter
        self.range = range
        self.isExponential = isExponential
    }

    func mapping(_ own: ClosedRange<Float>) -> VoiceMapping {
        let range = range ?? own
        let (low, high) = (range.lowerBound, range.upperBound)
        demand(
            !isExponential || low > 0,
            "VoiceController: an exponential range of \(low)…\(high) for \(parameter); it must be above 0")
        return VoiceMapping(
            number: number, parameter: parameter.rawValue, low: low, high: high, isExponential: isExponential)
    }
}
