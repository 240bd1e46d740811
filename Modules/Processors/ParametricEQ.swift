public import RenderCore

/// Shapes the sound with any number of bells and shelves. Edits the top.
///
///     let eq = ParametricEQ([.lowShelf(80, decibels: -3), .bell(2_000, q: 1.4, decibels: 4)])
///     eq.bands[1].gain.value = 6
///
/// Second-order filters in a row, the cookbook's. Latency: none. Up to 64 channels. With a ``mix`` between 0 and 1 it
/// takes one more buffer of the stack for a moment.
///
/// Threads: control.
public final class ParametricEQ: Effect {
    /// The bands, in the order in which they work.
    public let bands: OwnedArray<Band>
    /// The mix, from the unchanged sound (0, bit for bit and for free) to the shaped one (1).
    public let mix: Parameter

    private let filter: RenderState<GlidingFilter>

    /// Creates an equaliser.
    ///
    /// - Parameters:
    ///   - bands: 1…256 of them.
    ///   - mix: 0…1.
    /// - Precondition: There are 1…256 bands.
    public init(_ bands: [Setting], mix: Float = 1) {
        let count = bands.count
        ParametricEQ.check(count)
        self.bands = OwnedArray(count: count) { Band(bands[$0]) }
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
        bands.indices.reduce(into: [mix.named("mix")]) { all, index in
            let band = [
                bands[index].center.named("center"), bands[index].q.named("q"), bands[index].gain.named("gain"),
            ]
            all += band.inside("band \(index + 1)")
        }
    }

    /// Shapes the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let mix = mix.glide(context)
        let isPartial = !(mix.isFlat && (mix.end == 0 || mix.end == 1))
        let frames = mix.lastFrame(of: context.frameCount)
        if isPartial { context.duplicate() }
        var band = 0
        while band < bands.count {
            var isDone = false
            if frames > 0 { isDone = filter.goOn(&context, stage: band, bands[band].rest(context)) }
            if !isDone {
                let settings = bands[band].settings(context)
                // They are asked for behind the glides: a parameter that rests then has the value of its glide.
                let rest = bands[band].rest(context)
                if frames > 0 { filter.with(&context) { $0.process(&$1, stage: band, settings, rest) } }
            }
            band &+= 1
        }
        if frames < context.frameCount { filter.reset(&context) }
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
}

extension ParametricEQ {
    /// The settings with which a band begins.
    ///
    /// Threads: control.
    public struct Setting: Sendable, Hashable {
        /// The shape: a bell or a shelf.
        public var shape: FilterShape
        /// The centre, or the frequency at which half of a shelf's gain is reached, in hertz.
        public var center: Float
        /// The quality: the higher, the narrower is the band.
        public var q: Float
        /// The gain in decibels.
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
    }

    /// One band.
    ///
    /// Threads: control.
    public struct Band: ~Copyable, Sendable {
        /// The shape: a bell or a shelf.
        public let shape: FilterShape
        /// The centre of a bell, or the frequency at which half of a shelf's gain is reached, in hertz: 20…0.49 of the
        /// sample rate.
        public let center: Parameter
        /// The quality, 0.1…20: a bell's bandwidth between half of its gain is `2 asinh(1 / 2Q) / ln 2` octaves.
        public let q: Parameter
        /// The gain of the band: -20…20 dB (a shelf: -40…40). At 0 nothing changes, bit for bit.
        public let gain: Parameter

        init(_ setting: Setting) {
            shape = setting.shape
            center = .frequency(setting.center, from: 20)
            q = Parameter(setting.q, in: 0.1...20, glide: .exponential(.milliseconds(20)))
            gain = Parameter(
                setting.decibels, in: setting.shape == .bell ? -20...20 : -40...40, unit: .decibels,
                glide: .linear(.milliseconds(20)))
        }

        @_noLocks @_noAllocation
        func rest(_ context: borrowing RenderContext) -> ParametersAtRest { ParametersAtRest(context, center, q, gain) }

        @_noLocks @_noAllocation
        func settings(_ context: borrowing RenderContext) -> FilterSettings {
            FilterSettings(
                shape, frequency: center.glide(context), width: .q(q.glide(context)), decibels: gain.glide(context))
        }
    }
}
