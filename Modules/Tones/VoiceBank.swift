internal import Glibc
public import RenderCore
internal import Sharing
internal import Voices

/// Many tones at once: each voice is a sine through a band-pass of its own, with a level and a place between left and
/// right. Pushes one stereo buffer with their sum.
///
///     let bank = VoiceBank(count: 256)
///     bank.update { voices in
///         for i in voices.indices {
///             voices[i] = VoiceBank.Voice(frequency: 55 * Float(i + 1), level: 0.01, pan: Float(i % 3 - 1))
///         }
///     }
///     bank[3].frequency = 440                     // while it plays: no click
///
/// Sixteen voices are computed at a time, in a fraction of the time of as many modules; a silent voice costs as much as
/// a loud one. The sine is that of an ``Oscillator``, the filter that of a `Bandpass`. The error of a voice, against both in
/// double precision, has at most -138 dB of its level (as a mean square). Latency: none. However the cycles are cut, the
/// samples are the same, bit for bit.
///
/// A voice that is changed gets to its new numbers within ``glide``, along a straight line and all at once; one that is
/// changed on the way sets out anew from there. Changes in one ``update(_:)``, or in one `Renderer.transaction`, are heard
/// from the same frame on. A change that is scheduled for later is in the bank's voices at once, so a change after it brings
/// it along if it is heard earlier: make the changes of a bank in the order in which they are to be heard.
///
/// Threads: control.
public final class VoiceBank: Generator {
    /// One voice.
    ///
    /// Threads: control.
    public struct Voice: Sendable, Hashable {
        /// The sine, in hertz: 0…0.49 of the sample rate, exact to 0.00002 Hz.
        public var frequency: Float
        /// The amplitude: 0…4.
        public var level: Float
        /// The place from left (-1) to right (1), with equal power.
        public var pan: Float
        /// The middle of the band, in hertz: 20…0.49 of the sample rate. `nil`: the sine's own frequency, which passes at
        /// its full level.
        public var center: Float?
        /// The width of the band between its points at -3 dB: 1/12…10 octaves.
        public var octaves: Float

        /// Creates a voice; by default a silent one.
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
    /// The number of voices.
    public let count: Int
    /// The time that a voice takes to new numbers.
    public let glide: Duration

    private let control: Lock<Control>
    private let table: ManagedValue<VoiceTable>
    private let lanes: RenderState<VoiceLanes>

    private struct Control {
        var voices: [Voice]
        var sampleRate = 48_000.0
        /// The number of the change that the voices come from.
        var version = 0
        var changes = ChangesInARow()
    }

    /// Creates a bank of silent voices.
    ///
    /// - Parameters:
    ///   - count: The number of voices, 1…65,536, for good.
    ///   - glide: The time that a voice takes to new numbers: up to 20 s.
    /// - Precondition: Both are in range.
    public convenience init(count: Int, glide: Duration = .milliseconds(20)) {
        VoiceBank.check(count)
        self.init([Voice](repeating: Voice(), count: count), glide: glide)
    }

    /// Creates a bank of these voices.
    public init(_ voices: [Voice], glide: Duration = .milliseconds(20)) {
        VoiceBank.check(voices.count)
        demand(glide >= .zero && glide <= .seconds(20), "VoiceBank: a glide of \(glide); it must be 0…20 s")
        count = voices.count
        self.glide = glide
        let control = Control(voices: voices)
        table = ManagedValue(Self.table(control, glide))
        self.control = Lock(control, .module)
        let count = voices.count
        lanes = RenderState(VoiceLanes(count: count))
    }

    private static func check(_ count: Int) {
        demand((1...65_536).contains(count), "VoiceBank: \(count) voices; it must be 1…65,536")
    }

    private func check(_ index: Int) {
        demand((0..<count).contains(index), "VoiceBank: voice \(index) of \(count); the first is 0")
    }

    /// The voice at an index. Setting it is a change of its own; for many use ``update(_:)``.
    ///
    /// - Precondition: It is one of ``count``.
    public subscript(_ index: Int) -> Voice {
        get {
            check(index)
            return control.withLock { $0.voices[index] }
        }
        set {
            check(index)
            update { $0[index] = newValue }
        }
    }

    /// Changes voices, all in one.
    ///
    /// - Parameter change: The closure that changes the voices. It leaves as many: voices that it appends are dropped,
    ///   and those that it removes at the end stay. It runs again if another thread has changed the bank meanwhile;
    ///   changes that it makes in the bank by other calls are overwritten.
    /// - Complexity: O(*n*) of all voices.
    public func update(_ change: (inout [Voice]) -> Void) {
        let thread = UInt(pthread_self())
        while true {
            let (old, oldVersion) = control.withLock { ($0.voices, $0.version) }
            var voices = old
            change(&voices)
            if voices.count != count { voices = Array(voices.prefix(count)) + old.dropFirst(voices.count) }
            if voices == old { return }
            let isNewest = control.withLock { control in
                // The closure may itself have changed the bank; another thread may not.
                let isOurs = control.changes.areAll(of: thread, after: oldVersion)
                guard control.version == oldVersion || isOurs else { return false }
                let (before, beforeVersion) = (control.voices, control.version)
                control.changes.add(of: thread, on: beforeVersion)
                control.voices = voices
                publish(&control)
                OpenTransaction.ifCalledOff { [weak self] in
                    self?.control.withLock { control in
                        // A change since has built on this one.
                        guard control.version == beforeVersion + 1 else { return }
                        (control.voices, control.version) = (before, beforeVersion)
                    }
                }
                return true
            }
            if isNewest { return }
        }
    }

    /// Makes the numbers anew if the rate is another.
    public func prepare(_ preparation: Preparation) {
        control.withLock { control in
            if control.sampleRate == preparation.sampleRate { return }
            control.sampleRate = preparation.sampleRate
            publish(&control)
        }
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [level.named("level")] }

    /// Pushes a slice of the sum.
    ///
    /// Threads: render.
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
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { lanes.with(&context) { lanes, _ in lanes.reset() } }

    // MARK: Numbers

    private func publish(_ control: inout Control) {
        control.version += 1
        table.set(Self.table(control, glide), version: table.makeVersion())
    }

    private static func table(_ control: Control, _ glide: Duration) -> VoiceTable {
        VoiceTable(
            control.voices.map { numbers($0, control.sampleRate) }, version: control.version,
            sampleRate: control.sampleRate, glideFrames: Int((glide.inSeconds * control.sampleRate).rounded()))
    }

    private static func numbers(_ voice: Voice, _ rate: Double) -> VoiceLanes.Numbers {
        // A value that is not a number becomes the default.
        func held(_ value: Float, _ range: ClosedRange<Float>, or other: Float) -> Float {
            value.isNaN ? other : max(range.lowerBound, min(value, range.upperBound))
        }
        let limit = Float(0.49 * rate)
        let frequency = held(voice.frequency, 0...limit, or: min(440, limit))
        let band = min(20, limit)...limit
        let center = held(voice.center ?? frequency, band, or: max(frequency, band.lowerBound))
        let octaves = Double(held(voice.octaves, 1 / 12...10, or: 1))
        // Levels below -400 dB are silence: their samples would be denormal numbers, which are slow.
        let level = held(voice.level < 1e-20 ? 0 : voice.level, 0...4, or: 0)
        let sides = PanGains(held(voice.pan, -1...1, or: 0))
        return VoiceLanes.Numbers(
            step: UInt32(Double(frequency) / rate * 0x1p32 + 0.5),
            g: RenderMath.tan(.pi * Double(center) / rate),
            k: 1 / FilterCoefficients.q(octaves: octaves, frequency: Double(center), sampleRate: rate),
            left: level * sides.left, right: level * sides.right)
    }
}
