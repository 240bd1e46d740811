public import RenderCore

/// Lifts or lowers what lies below a frequency. Edits the top.
///
/// A second-order shelf, the cookbook's of slope 1: as steep as it can be without an overshoot. Latency: none. Up to 64
/// channels.
public final class LowShelf: Effect {
    /// Where half of the gain (in decibels) is reached, in hertz: 10…0.49 of the sample rate. A change glides for 20 ms.
    public let cutoff: Parameter
    /// How much is added, -40…40 dB. At 0 nothing changes, bit for bit.
    public let gain: Parameter
    /// From the sound as it was (0, bit for bit and for free) to the filtered one (1).
    public let mix: Parameter

    private let filter = RenderState(GlidingFilter())

    /// A shelf.
    ///
    /// - Parameters:
    ///   - cutoff: in hertz.
    ///   - gain: in decibels.
    ///   - mix: 0…1.
    public init(cutoff: Float = 80, gain: Float = 0, mix: Float = 1) {
        self.cutoff = Parameter(
            cutoff, in: 10...192_000, limit: .fractionOfRate(0.49), unit: .hertz,
            glide: .exponential(.milliseconds(20)))
        self.gain = Parameter(gain, in: -40...40, unit: .decibels, glide: .linear(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
    }

    /// Filters the top.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if filter.goOn(&context, ParametersAtRest(context, cutoff, gain, mix)) { return }
        let settings = FilterSettings(
            .lowShelf, frequency: cutoff.glide(context), decibels: gain.glide(context), mix: mix.glide(context))
        // Behind the glides: what rests then is what they are made of.
        let rest = ParametersAtRest(context, cutoff, gain, mix)
        filter.with(&context) { filter, context in filter.process(&context, settings, rest) }
    }

    /// Forgets what was heard.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { filter.with(&context) { filter, _ in filter.reset() } }
}
