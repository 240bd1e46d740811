public import RenderCore

/// Takes away frequencies below a cut-off: 12 dB an octave, with a resonance at the edge. Edits the top.
///
/// A second-order high-pass, the cookbook's. Latency: none. Up to 64 channels.
///
/// Threads: control.
public final class HighPass: Effect {
    /// The frequency at which the response begins to fall, in hertz: 10…0.49 of the sample rate. A change glides for 20
    /// ms.
    public let cutoff: Parameter
    /// The level at the cut-off in decibels, -20…40. 0 is a slight hump (Q = 1), -3 the flattest.
    public let resonance: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free) to the filtered one (1).
    public let mix: Parameter

    private let filter = RenderState(GlidingFilter())

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - cutoff: The cut-off, in hertz.
    ///   - resonance: The level at the cut-off, in decibels.
    ///   - mix: 0…1.
    public init(cutoff: Float = 6_900, resonance: Float = 0, mix: Float = 1) {
        self.cutoff = .frequency(cutoff, from: 10)
        self.resonance = Parameter(resonance, in: -20...40, unit: .decibels, glide: .linear(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [cutoff.named("cutoff"), resonance.named("resonance"), mix.named("mix")]
    }

    /// Filters the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        filter.process(&context, .highPass, frequency: cutoff, resonance, as: .resonance, mix: mix)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { filter.reset(&context) }
}
