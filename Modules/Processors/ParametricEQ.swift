public import RenderCore

/// Shapes the sound with any number of filters in a row: bells, shelves, low-pass, high-pass and others. Edits the top.
///
///     let eq = ParametricEQ([.highPass(40), .lowShelf(80, decibels: -3), .bell(2_000, q: 1.4, decibels: 4)])
///     eq.bands[2].gain.value = 6
///     eq.bands[1].shape = .bell                   // while it plays: it goes there within 20 ms
///     eq.bands[0].bypass.isOn = true              // so does the band's bypass
///     eq.gain.value = -3                          // of all together
///
/// Second-order filters, the cookbook's. Latency: none. Up to 64 channels. With a ``mix`` between 0 and 1 it takes one more
/// buffer of the stack for a moment.
///
/// Threads: control.
public final class ParametricEQ: Effect {
    /// The bands, in the order in which they work.
    public let bands: OwnedArray<Band>
    /// The gain behind the bands: -96…24 dB. At 0 nothing changes, bit for bit.
    public let gain: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free) to the shaped one (1).
    public let mix: Parameter

    private let filter: RenderState<GlidingFilter>

    /// Creates an equaliser.
    ///
    /// - Parameters:
    ///   - bands: 1…256 of them.
    ///   - gain: The gain behind them, in decibels.
    ///   - mix: 0…1.
    /// - Precondition: There are 1…256 bands.
    public init(_ bands: [Setting], gain: Float = 0, mix: Float = 1) {
        let count = bands.count
        ParametricEQ.check(count)
        self.bands = OwnedArray(count: count) { Band(bands[$0]) }
        self.gain = Parameter(gain, in: -96...24, unit: .decibels, glide: .smooth(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
        filter = RenderState(GlidingFilter(stages: count))
    }

    /// Creates an equaliser of bells that change nothing yet, spread evenly by octaves between 40 Hz and 12 kHz.
    ///
    /// - Parameter count: The number of bands, 1…256.
    public convenience init(bands count: Int) {
        ParametricEQ.check(count)
        self.init(
            (0..<count).map { band in
                .bell(40 * RenderMath.pow(300, (Float(band) + 0.5) / Float(count)))
            })
    }

    private static func check(_ count: Int) {
        demand((1...256).contains(count), "ParametricEQ: \(count) bands; it must be 1…256")
    }

    /// The parameters by name: those of the first band begin with `band 1`.
    public var parameters: [ParameterReference] {
        bands.indices.reduce(into: [mix.named("mix"), gain.named("gain")]) { all, index in
            all += bands[index].parameters.inside("band \(index + 1)")
        }
    }

    /// Shapes the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let (mix, gain) = (mix.glide(context), gain.glide(context))
        let isPartial = !(mix.isFlat && (mix.end == 0 || mix.end == 1))
        let frames = mix.lastFrame(of: context.frameCount)
        if isPartial { context.duplicate() }
        var band = 0
        while band < bands.count {
            // The note comes before the glides: a parameter that is set in between is another note for the next slice.
            let rest = bands[band].rest(context)
            var isDone = false
            if frames > 0 { isDone = filter.goOn(&context, stage: band, rest) }
            if !isDone {
                let settings = bands[band].settings(context)
                let next = settings.isAtRest ? rest : .none
                if frames > 0 { filter.with(&context) { $0.process(&$1, stage: band, settings, next) } }
            }
            band &+= 1
        }
        if frames < context.frameCount { filter.reset(&context) }
        if frames > 0 { apply(gain, &context) }
        if isPartial {
            context.withTop2 { wet, dry in
                for channel in 0..<dry.channelCount {
                    let wet = wet.samples(channel)
                    var dry = dry[channel]
                    for i in dry.indices { dry[i] = dry[i] * (1 - mix[i]) + wet[i] * mix[i] }
                }
            }
            context.pop()
        }
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { filter.reset(&context) }

    /// Multiplies the top by a gain in decibels.
    @_noLocks @_noAllocation
    private func apply(_ gain: Glide, _ context: inout RenderContext) {
        if gain.isFlat {
            if gain.end != 0 { context.gain(RenderMath.amplitude(decibels: gain.end)) }
        } else {
            var top = context.top
            // ln 10 / 20
            top.change { sample, frame, _ in sample * Float(RenderMath.exp(0.11512925464970229 * gain.fine(frame))) }
        }
    }
}

extension ParametricEQ {
    /// The settings with which a band begins.
    ///
    /// Threads: control.
    public struct Setting: Sendable, Hashable {
        /// The kind of filter.
        public var shape: FilterShape
        /// The centre, the cut-off, or the frequency at which half of a shelf's gain is reached, in hertz.
        public var center: Float
        /// The quality: the higher, the narrower is the band. Of a low-pass and a high-pass: the level at the cut-off as a factor.
        public var q: Float
        /// The gain of a bell or a shelf, in decibels; nothing to the others.
        public var decibels: Float

        /// Returns a setting that lifts or lowers frequencies around a centre.
        public static func bell(_ center: Float, q: Float = 1, decibels: Float = 0) -> Setting {
            Setting(shape: .bell, center: center, q: q, decibels: decibels)
        }

        /// Returns a setting that lifts or lowers frequencies below a cut-off.
        public static func lowShelf(_ cutoff: Float, q: Float = 0.70710678, decibels: Float = 0) -> Setting {
            Setting(shape: .lowShelf, center: cutoff, q: q, decibels: decibels)
        }

        /// Returns a setting that lifts or lowers frequencies above a cut-off.
        public static func highShelf(_ cutoff: Float, q: Float = 0.70710678, decibels: Float = 0) -> Setting {
            Setting(shape: .highShelf, center: cutoff, q: q, decibels: decibels)
        }

        /// Returns a setting that takes away frequencies above a cut-off; with a q above 0.7071 it has a resonance there.
        public static func lowPass(_ cutoff: Float, q: Float = 0.70710678) -> Setting {
            Setting(shape: .lowPass, center: cutoff, q: q, decibels: 0)
        }

        /// Returns a setting that takes away frequencies below a cut-off; with a q above 0.7071 it has a resonance there.
        public static func highPass(_ cutoff: Float, q: Float = 0.70710678) -> Setting {
            Setting(shape: .highPass, center: cutoff, q: q, decibels: 0)
        }

        /// Returns a setting that leaves frequencies around a centre, and takes away the others.
        public static func bandpass(_ center: Float, q: Float = 1) -> Setting {
            Setting(shape: .bandpass, center: center, q: q, decibels: 0)
        }

        /// Returns a setting that takes frequencies around a centre away.
        public static func notch(_ center: Float, q: Float = 1) -> Setting {
            Setting(shape: .notch, center: center, q: q, decibels: 0)
        }

        /// Returns a setting that leaves all levels and turns the phase, by half a turn at the frequency.
        public static func allPass(_ frequency: Float, q: Float = 0.70710678) -> Setting {
            Setting(shape: .allPass, center: frequency, q: q, decibels: 0)
        }
    }

    /// One band.
    ///
    /// Threads: control.
    public struct Band: ~Copyable, Sendable {
        /// The centre, the cut-off, or the frequency at which half of a shelf's gain is reached, in hertz: 20…0.49 of the sample
        /// rate.
        public let center: Parameter
        /// The quality, 0.1…20: a bell's bandwidth between half of its gain is `2 asinh(1 / 2Q) / ln 2` octaves, and so is that of
        /// a band-pass and a notch between -3 dB. Of a low-pass and a high-pass it is the level at the cut-off, as a factor.
        public let q: Parameter
        /// The gain of a bell or a shelf, whichever the band is at the moment: -40…40 dB. At 0 nothing changes, bit for bit. Other
        /// shapes have none, and keep the number for the next one.
        public let gain: Parameter
        /// Takes the band out of the row within 20 ms: then the sound passes bit for bit and for free, and the band forgets what it
        /// heard.
        public let bypass = Switch(glide: .linear(.milliseconds(20)))

        private let kind: Parameter
        private let changes = ChangeCount()

        init(_ setting: Setting) {
            kind = Parameter(Float(setting.shape.rawValue), in: 0...Float(FilterShape.allCases.count - 1), glide: .none)
            center = .frequency(setting.center, from: 20)
            q = Parameter(setting.q, in: 0.1...20, glide: .exponential(.milliseconds(20)))
            gain = Parameter(
                setting.decibels, in: -40...40, unit: .decibels, glide: .linear(.milliseconds(20)))
            changes.count(parameters)
        }

        /// The kind of filter. A change while it plays goes there within 20 ms; one that comes in the meantime waits for the
        /// end of that.
        public var shape: FilterShape {
            get { FilterShape(rawValue: Int(kind.value + 0.5)) ?? .bell }
            nonmutating set { kind.value = Float(newValue.rawValue) }
        }

        var parameters: [ParameterReference] {
            [
                center.named("center"), q.named("q"), gain.named("gain"), kind.named("shape"), bypass.named("bypass"),
            ]
        }

        @_noLocks @_noAllocation
        func rest(_ context: borrowing RenderContext) -> ParametersAtRest { ParametersAtRest(context, changes) }

        @_noLocks @_noAllocation
        func settings(_ context: borrowing RenderContext) -> FilterSettings {
            FilterSettings(
                FilterShape(rawValue: Int(kind.current(context) + 0.5)) ?? .bell, frequency: center.glide(context),
                width: .q(q.glide(context)), decibels: gain.glide(context), mix: bypass.glide(context).complement)
        }
    }
}
