public import RenderCore

/// Many tones at once: each voice is a sine through a band-pass of its own, with a level and a place between left and
/// right. Pushes one stereo buffer with their sum.
///
///     let bank = VoiceBank(count: 256)
///     bank.update { voices in
///         for i in voices.indices {
///             voices[i] = VoiceBank.Voice(frequency: 55 * Float(i + 1), level: 0.01, pan: Float(i % 3 - 1))
///         }
///     }
///     bank[3].frequency = 440                     // from any thread: no click
///
/// Sixteen voices are computed at a time, in a fraction of what as many modules take; a silent voice costs as much as
/// a loud one. The sine is that of an ``Oscillator``, the filter that of a `Bandpass`. Latency: none. However the cycles
/// are cut the samples are the same, bit for bit.
///
/// A voice that is changed gets to its new numbers within ``glide``, along a straight line and all at once; one that is
/// changed on the way sets out anew from there. Changes in one ``update(_:)``, or in one `Renderer.transaction`, are heard
/// from the same frame on.
public final class VoiceBank: Generator {
    /// One voice.
    public struct Voice: Sendable, Hashable {
        /// The sine, in hertz: 0…0.49 of the sample rate, exact to 0.00002 Hz.
        public var frequency: Float
        /// The amplitude: 0…4.
        public var level: Float
        /// From left (-1) to right (1), with equal power.
        public var pan: Float
        /// The middle of the band, in hertz: 20…0.49 of the sample rate. `nil`: the sine's own frequency, which passes at
        /// its full level.
        public var center: Float?
        /// The width of the band between its points at -3 dB: 1/12…10 octaves.
        public var octaves: Float

        /// A voice; silent if nothing is said.
        public init(
            frequency: Float = 440, level: Float = 0, pan: Float = 0, center: Float? = nil, octaves: Float = 1
        ) {
            self.frequency = frequency
            self.level = level
            self.pan = pan
            self.center = center
            self.octaves = octaves
        }
    }

    /// The level of all voices together, 0…4.
    public let level = Parameter(1, in: 0...4)
    /// How many voices there are.
    public let count: Int
    /// How long a voice takes to new numbers.
    public let glide: Duration

    private let control: Lock<Control>
    private let table: ManagedValue<VoiceTable>
    private let lanes: RenderState<VoiceLanes>

    private struct Control {
        var voices: [Voice]
        var sampleRate = 48_000.0
        /// Which change the voices come from.
        var version = 0
    }

    /// A bank of silent voices.
    ///
    /// - Parameters:
    ///   - count: how many, 1…65,536, for good.
    ///   - glide: how long a voice takes to new numbers: up to 20 s.
    /// - Precondition: both are in range.
    public convenience init(count: Int, glide: Duration = .milliseconds(20)) {
        self.init([Voice](repeating: Voice(), count: max(0, count)), glide: glide)
    }

    /// A bank of these voices.
    public init(_ voices: [Voice], glide: Duration = .milliseconds(20)) {
        precondition((1...65_536).contains(voices.count), "VoiceBank: \(voices.count) voices; it must be 1…65,536")
        precondition(glide >= .zero && glide <= .seconds(20), "VoiceBank: a glide of \(glide); it must be 0…20 s")
        count = voices.count
        self.glide = glide
        let control = Control(voices: voices)
        table = ManagedValue(Self.table(control, glide))
        self.control = Lock(control)
        let count = voices.count
        lanes = RenderState(VoiceLanes(count: count))
    }

    /// A voice. Setting it is a change of its own; for many use ``update(_:)``.
    ///
    /// - Precondition: it is one of ``count``.
    public subscript(_ index: Int) -> Voice {
        get { control.withLock { $0.voices[index] } }
        set { update { $0[index] = newValue } }
    }

    /// Changes voices, all in one. From any thread.
    ///
    /// - Precondition: `change` leaves as many as there were.
    /// - Complexity: O(*n*) of all voices.
    public func update(_ change: (inout [Voice]) -> Void) {
        let retire = control.withLock { control in
            let (old, oldVersion) = (control.voices, control.version)
            change(&control.voices)
            precondition(control.voices.count == count, "VoiceBank: a bank of \(count) voices keeps as many")
            if control.voices == old { return {} }
            return publish(&control) { [weak self] in
                self?.control.withLock { control in
                    // Whoever has changed voices since has built on this.
                    if control.version == oldVersion + 1 { (control.voices, control.version) = (old, oldVersion) }
                }
            }
        }
        retire()
    }

    /// Makes the numbers anew where the rate is another.
    public func prepare(_ preparation: Preparation) {
        let retire = control.withLock { control in
            if control.sampleRate == preparation.sampleRate { return {} }
            control.sampleRate = preparation.sampleRate
            return publish(&control, undo: nil)
        }
        retire()
    }

    /// Pushes a slice of the sum.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 2)
        var newest: VoiceTable.Reference?
        table.with(&context) { table, context in newest = table.reference }
        let table = newest
        lanes.with(&context) { lanes, context in
            if let table { lanes.take(table) }
            var top = context.top
            lanes.render(&top)
        }
        context.gain(level.glide(context))
    }

    /// Begins all turns anew, and empties the filters.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { lanes.with(&context) { lanes, _ in lanes.reset() } }

    // MARK: Numbers

    private func publish(_ control: inout Control, undo: (@Sendable () -> Void)?) -> () -> Void {
        control.version += 1
        return table.exchange(Self.table(control, glide), isInOrder: true, whenOldIsFreed: nil, undo: undo)
    }

    private static func table(_ control: Control, _ glide: Duration) -> VoiceTable {
        VoiceTable(
            control.voices.map { numbers($0, control.sampleRate) }, version: control.version,
            sampleRate: control.sampleRate, glideFrames: Int((glide / .seconds(1) * control.sampleRate).rounded()))
    }

    private static func numbers(_ voice: Voice, _ rate: Double) -> VoiceLanes.Numbers {
        // What is not a number becomes what nothing would have been said for.
        func held(_ value: Float, _ range: ClosedRange<Float>, or other: Float) -> Float {
            value.isNaN ? other : max(range.lowerBound, min(value, range.upperBound))
        }
        let limit = Float(0.49 * rate)
        let frequency = held(voice.frequency, 0...limit, or: 440)
        let center = held(voice.center ?? frequency, min(20, limit)...limit, or: frequency)
        let octaves = Double(held(voice.octaves, 1 / 12...10, or: 1))
        let level = held(voice.level, 0...4, or: 0)
        let turn = (1 + held(voice.pan, -1...1, or: 0)) * 0.125
        return VoiceLanes.Numbers(
            step: UInt32(Double(frequency) / rate * 0x1p32 + 0.5),
            g: RenderMath.tan(.pi * Double(center) / rate),
            k: 1 / FilterCoefficients.q(octaves: octaves, frequency: Double(center), sampleRate: rate),
            left: level * RenderMath.sin(turns: 0.25 - turn), right: level * RenderMath.sin(turns: turn))
    }
}
