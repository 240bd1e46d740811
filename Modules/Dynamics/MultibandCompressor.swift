public import RenderCore

/// Compresses each of 2 to 5 bands of frequencies for itself. Edits the top.
///
///     let master = MultibandCompressor(crossovers: [120, 2_000])         // three bands
///     master.bands[0].threshold.value = -24
///     master.crossovers[1].value = 3_000
///     …
///     context.run(master)
///     …
///     master.gainReduction(ofBand: 0)             // in dB
///
/// The bands are those of Linkwitz–Riley filters of fourth order (24 dB an octave). Where no band is compressed their sum has
/// the level of the sound at every frequency, and another phase: it is an all-pass (<doc:DynamicsAndColour>). So a band's dry
/// sound, too, is the band, and nothing combs at any mix. Each band is a ``Compressor`` whose key is the band itself.
///
/// Latency: the look-ahead in whole frames; none without. Up to 64 channels.
///
/// Threads: control.
public final class MultibandCompressor: Effect {
    /// The frequencies in hertz at which the bands meet, the lowest first: 20…0.49 of the sample rate. They should rise: a
    /// band between two that do not is all but silent.
    public let crossovers: OwnedArray<Parameter>
    /// The bands, the lowest first: one more than ``crossovers``.
    public let bands: OwnedArray<Band>
    /// The way in which the levels are measured.
    public let detector: LevelDetector
    /// Indicates whether all channels of a band have one gain, by the loudest. Else each has its own.
    public let isLinked: Bool
    /// The time in seconds by which the sound comes later than the gains: 0…0.1.
    public let lookAhead: Double

    private let processor: RenderState<MultibandProcessor>
    private let reduction = GainReduction()

    /// Creates a compressor of several bands.
    ///
    /// - Parameters:
    ///   - crossovers: 1…4 frequencies in hertz, each above the one before.
    ///   - bands: The settings of the bands, one more than there are frequencies; `nil` for those of ``Setting``.
    ///   - detector: The way in which the levels are measured.
    ///   - isLinked: `true` for one gain for all channels of a band.
    ///   - lookAhead: In seconds, which the sound is late.
    /// - Precondition: There are 1…4 crossovers that rise, a setting for each band, and `lookAhead` is 0…0.1.
    public init(
        crossovers: [Float] = [150, 2_500], bands: [Setting]? = nil, detector: LevelDetector = .peak,
        isLinked: Bool = true, lookAhead: Double = 0
    ) {
        let (count, settings) = (crossovers.count, bands ?? crossovers.map { _ in Setting() } + [Setting()])
        demand((1...4).contains(count), "MultibandCompressor: \(count) crossovers; it must be 1…4")
        demand(
            zip(crossovers, crossovers.dropFirst()).allSatisfy { $0 < $1 },
            "MultibandCompressor: crossovers at \(crossovers) Hz; each must be above the one before")
        demand(
            settings.count == count + 1,
            "MultibandCompressor: \(settings.count) bands at \(count) crossovers; it must be \(count + 1)")
        DynamicsProcessor.check(lookAhead: lookAhead, of: "MultibandCompressor")
        self.crossovers = OwnedArray(count: count) {
            .crossing(at: crossovers[$0], from: 20)
        }
        self.bands = OwnedArray(count: count + 1) { Band(settings[$0]) }
        self.detector = detector
        self.isLinked = isLinked
        self.lookAhead = lookAhead
        processor = RenderState(
            MultibandProcessor(
                bands: count + 1, channels: 1, frames: 0, sampleRate: 48_000, detector: detector, isLinked: isLinked,
                lookAhead: 0))
    }

    /// The parameters by name: those of the first band begin with `band 1`, and `crossover 1` is above it.
    public var parameters: [ParameterReference] {
        crossovers.indices.map { crossovers[$0].named("crossover \($0 + 1)") }
            + bands.indices.flatMap { bands[$0].controls.parameters.inside("band \($0 + 1)") }
    }

    /// Returns the decibels by which a band is made softer at the moment, without its make-up and mix: of channels
    /// that are not linked the largest. 0 where nothing is made softer, where there is no such band, and within a
    /// second after the audio stops.
    public func gainReduction(ofBand band: Int) -> Float { reduction.one(band) }

    /// Returns the look-ahead in frames.
    public func latency(at sampleRate: Double) -> Int {
        DynamicsProcessor.frames(lookAhead: lookAhead, sampleRate)
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        processor.replace(
            with: MultibandProcessor(
                bands: bands.count, channels: preparation.maximumChannelCount, frames: preparation.maximumFrameCount,
                sampleRate: preparation.sampleRate, detector: detector, isLinked: isLinked, lookAhead: lookAhead))
    }

    /// Compresses the bands of the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        guard processor.belongs(to: context) else { return }
        processor.with(&context) { processor, context in processor.take(context) }
        var crossover = 0
        while crossover < crossovers.count {
            let frequency = crossovers[crossover].glide(context)
            processor.with(&context) { $0.split(crossover, $1, at: frequency) }
            crossover &+= 1
        }
        var band = 0
        while band < bands.count {
            let rest = ParametersAtRest(context, bands[band].controls.changes)
            var goesOn = false
            processor.with(&context) { processor, _ in goesOn = processor.computer.goesOn(rest, program: band) }
            if !goesOn {
                let settings = GainSettings(bands[band].controls, context)
                processor.with(&context) { processor, _ in processor.computer.take(settings, rest, program: band) }
            }
            var value: Float = 0
            processor.with(&context) { processor, context in
                processor.add(&context, band: band)
                value = processor.reduction(band)
            }
            reduction.show(value, at: band)
            band &+= 1
        }
        reduction.finish(bands.count, context)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        guard processor.belongs(to: context) else { return }
        processor.with(&context) { processor, _ in processor.reset() }
        reduction.forget()
    }
}

extension MultibandCompressor {
    /// The settings with which a band begins. Units and ranges are those of a ``Compressor``.
    ///
    /// Threads: control.
    public struct Setting: Sendable, Hashable {
        /// The level from which on the band is made softer, in dB.
        public var threshold: Float
        /// The decibels above the threshold for each that remains; 1 changes nothing.
        public var ratio: Float
        /// The width of the knee in dB.
        public var knee: Float
        /// The time of the way to a larger reduction, in seconds.
        public var attack: Float
        /// The time of the way to a smaller reduction, in seconds.
        public var release: Float
        /// The time for which a reduction is wanted after the level has fallen, in seconds.
        public var hold: Float
        /// The gain of the compressed band in dB.
        public var makeUp: Float
        /// The mix of the band, from the unchanged band (0) to the compressed one (1).
        public var mix: Float

        /// Creates settings; the defaults are those of a ``Compressor``.
        public init(
            threshold: Float = -18, ratio: Float = 4, knee: Float = 6, attack: Float = 0.01, release: Float = 0.15,
            hold: Float = 0, makeUp: Float = 0, mix: Float = 1
        ) {
            self.threshold = threshold
            self.ratio = ratio
            self.knee = knee
            self.attack = attack
            self.release = release
            self.hold = hold
            self.makeUp = makeUp
            self.mix = mix
        }
    }

    /// One band. Its parameters mean what those of a ``Compressor`` mean; the others are those of ``DynamicsParameters``.
    ///
    /// Threads: control.
    public struct Band: ~Copyable, Sendable, DynamicsParameters {
        /// The decibels above the threshold for each that remains: 1…100. 1 changes nothing.
        public var ratio: Parameter { _read { yield controls.ratio } }
        /// The width of the knee in dB: 0…40.
        public var knee: Parameter { _read { yield controls.knee } }
        /// All parameters, from which the settings of a slice are made.
        public let controls: DynamicsControls

        init(_ setting: Setting) {
            controls = DynamicsControls(
                .compress, threshold: setting.threshold, ratio: setting.ratio, knee: setting.knee,
                attack: setting.attack, release: setting.release, hold: setting.hold, makeUp: setting.makeUp,
                mix: setting.mix)
        }
    }
}
