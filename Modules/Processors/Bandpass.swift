public import RenderCore

/// Lets frequencies around a centre pass, and takes away the rest. Edits the top.
///
///     let bandpass = Bandpass(center: 1_000, octaves: 1)
///
/// A second-order band-pass, the cookbook's with 0 dB at its centre; 6 dB an octave on both sides. Latency: none. Up to
/// 64 channels.
///
/// Threads: control.
public final class Bandpass: Effect {
    /// The middle of the band, in hertz: 20…0.49 of the sample rate. A change glides for 20 ms.
    public let center: Parameter
    /// The width of the band between its points at -3 dB: 1/12…10 octaves (100…12,000 cents).
    public let octaves: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free) to the filtered one (1).
    public let mix: Parameter

    private let filter = RenderState(GlidingFilter())

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - center: The middle, in hertz.
    ///   - octaves: The bandwidth, 1/12…10.
    ///   - mix: 0…1.
    public init(center: Float = 5_000, octaves: Float = 0.5, mix: Float = 1) {
        self.center = .frequency(center, from: 20)
        self.octaves = Parameter(octaves, in: 1 / 12...10, unit: .octaves, glide: .linear(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [center.named("center"), octaves.named("octaves"), mix.named("mix")]
    }

    /// Filters the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        filter.process(&context, .bandpass, frequency: center, octaves, as: .octaves, mix: mix)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { filter.reset(&context) }
}
