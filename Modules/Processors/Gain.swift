public import RenderCore

/// Louder or quieter. Edits the top, any number of channels.
public final class Gain: Effect {
    /// The amplitude factor: 1 changes nothing, 0 is silence. In decibels: `RenderMath.amplitude(decibels:)`.
    public let level: Parameter

    /// A gain.
    ///
    /// - Parameter level: an amplitude factor, 0…16 (+24 dB).
    public init(_ level: Float = 1) { self.level = Parameter(level, in: 0...16) }

    /// Multiplies the top.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func process(_ context: inout RenderContext) { context.gain(level) }
}
