public import RenderCore

/// Lifts or lowers frequencies below a cut-off. Edits the top.
///
/// A second-order shelf, the cookbook's of slope 1: as steep as it can be without an overshoot. Latency: none. Up to 64
/// channels.
///
/// Threads: control.
public final class LowShelf: Effect {
    /// The frequency at which half of the gain (in decibels) is reached, in hertz: 10…0.49 of the sample rate. A change
    /// glides for 20 ms.
    public let cutoff: Parameter
    /// The gain of the shelf, -40…40 dB. At 0 nothing changes, bit for bit.
    public let gain: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free) to the filtered one (1).
    public let mix: Parameter

    private let filter = RenderState(GlidingFilter())

    /// Creates a shelf.
    ///
    /// - Parameters:
    ///   - cutoff: In hertz.
    ///   - gain: In decibels.
    ///   - mix: 0…1.
    public init(cutoff: Float = 80, gain: Float = 0, mix: Float = 1) {
        self.cutoff = .frequency(cutoff, from: 10)
        self.gain = Parameter(gain, in: -40...40, unit: .decibels, glide: .linear(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [cutoff.named("cutoff"), gain.named("gain"), mix.named("mix")] }

    /// Filters the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        filter.process(&context, .lowShelf, frequency: cutoff, gain, as: .decibels, mix: mix)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { filter.reset(&context) }
}
