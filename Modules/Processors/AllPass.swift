public import RenderCore

/// Leaves every level and turns the phase: by half a turn at a frequency, by a whole one far above. Edits the top.
///
/// A second-order all-pass, the cookbook's: mixed half and half with the dry sound it is a notch, several in a row are a
/// phaser. Latency: none. Up to 64 channels.
///
/// Threads: control.
public final class AllPass: Effect {
    /// The frequency at which the phase is turned by half a turn, in hertz: 20…0.49 of the sample rate. A change glides
    /// for 20 ms.
    public let frequency: Parameter
    /// The speed with which the phase turns around that frequency: 0.1…20.
    public let q: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free) to the filtered one (1).
    public let mix: Parameter

    private let filter = RenderState(GlidingFilter())

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - frequency: The frequency, in hertz.
    ///   - q: The quality, 0.1…20.
    ///   - mix: 0…1.
    public init(frequency: Float = 1_000, q: Float = 0.70710678, mix: Float = 1) {
        self.frequency = .frequency(frequency, from: 20)
        self.q = Parameter(q, in: 0.1...20, glide: .exponential(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [frequency.named("frequency"), q.named("q"), mix.named("mix")] }

    /// Filters the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        filter.process(&context, .allPass, frequency: frequency, q, as: .q, mix: mix)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { filter.reset(&context) }
}
