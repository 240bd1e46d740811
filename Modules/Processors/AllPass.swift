public import RenderCore

/// Leaves every level and turns the phase: by half a turn at a frequency, by a whole one far above. Edits the top.
///
/// A second-order all-pass, the cookbook's: mixed half and half with the dry sound it is a notch, several in a row are a
/// phaser. Latency: none. Up to 64 channels.
public final class AllPass: Effect {
    /// Where the phase is turned by half a turn, in hertz: 20…0.49 of the sample rate. A change glides for 20 ms.
    public let frequency: Parameter
    /// How quickly the phase turns around that frequency: 0.1…20.
    public let q: Parameter
    /// From the sound as it was (0, bit for bit and for free) to the filtered one (1).
    public let mix: Parameter

    private let filter = RenderState(GlidingFilter())

    /// A filter.
    ///
    /// - Parameters:
    ///   - frequency: where, in hertz.
    ///   - q: the quality, 0.1…20.
    ///   - mix: 0…1.
    public init(frequency: Float = 1_000, q: Float = 0.70710678, mix: Float = 1) {
        self.frequency = Parameter(
            frequency, in: 20...192_000, limit: .fractionOfRate(0.49), unit: .hertz,
            glide: .exponential(.milliseconds(20)))
        self.q = Parameter(q, in: 0.1...20, glide: .exponential(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
    }

    /// Filters the top.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if filter.goOn(&context, ParametersAtRest(context, frequency, q, mix)) { return }
        let settings = FilterSettings(
            .allPass, frequency: frequency.glide(context), width: .q(q.glide(context)), mix: mix.glide(context))
        // Behind the glides: what rests then is what they are made of.
        let rest = ParametersAtRest(context, frequency, q, mix)
        filter.with(&context) { filter, context in filter.process(&context, settings, rest) }
    }

    /// Forgets what was heard.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { filter.with(&context) { filter, _ in filter.reset() } }
}
