public import RenderCore

/// Takes away what lies below a frequency: 12 dB an octave, with a resonance at the edge. Edits the top.
///
/// A second-order high-pass, the cookbook's. Latency: none. Up to 64 channels.
public final class HighPass: Effect {
    /// Where it begins to fall, in hertz: 10…0.49 of the sample rate. A change glides for 20 ms.
    public let cutoff: Parameter
    /// The level at the cut-off in decibels, -20…40. 0 is a slight hump (Q = 1), -3 the flattest.
    public let resonance: Parameter
    /// From the sound as it was (0, bit for bit and for free) to the filtered one (1).
    public let mix: Parameter

    private let filter = RenderState(GlidingFilter())

    /// A filter.
    ///
    /// - Parameters:
    ///   - cutoff: the cut-off, in hertz.
    ///   - resonance: the level at the cut-off, in decibels.
    ///   - mix: 0…1.
    public init(cutoff: Float = 6_900, resonance: Float = 0, mix: Float = 1) {
        self.cutoff = Parameter(
            cutoff, in: 10...192_000, limit: .fractionOfRate(0.49), unit: .hertz, glide: .exponential(.milliseconds(20))
        )
        self.resonance = Parameter(resonance, in: -20...40, unit: .decibels, glide: .linear(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
    }

    /// Filters the top.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if filter.goOn(&context, ParametersAtRest(context, cutoff, resonance, mix)) { return }
        let settings = FilterSettings(
            .highPass, frequency: cutoff.glide(context), width: .resonance(resonance.glide(context)),
            mix: mix.glide(context))
        // Behind the glides: what rests then is what they are made of.
        let rest = ParametersAtRest(context, cutoff, resonance, mix)
        filter.with(&context) { filter, context in filter.process(&context, settings, rest) }
    }

    /// Forgets what was heard.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { filter.with(&context) { filter, _ in filter.reset() } }
}
