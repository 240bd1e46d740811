public import Composition
public import RenderCore

/// Makes the top louder or quieter. Edits the top, any number of channels.
///
/// Threads: control.
public final class Gain: Effect, ScalingEffect {
    /// The amplitude factor: 1 changes nothing, 0 is silence. In decibels: `RenderMath.amplitude(decibels:)`.
    public let level: Parameter

    /// Creates a gain.
    ///
    /// - Parameter level: An amplitude factor, 0…16 (+24 dB).
    public init(_ level: Float = 1) { self.level = Parameter(level, in: 0...16) }

    /// `true`: the module keeps no memory of the sound.
    public var isRepeatable: Bool { true }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [level.named("level")] }

    /// The level, while it does not glide.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func factorAtRest(_ context: borrowing RenderContext) -> Float? {
        level.atRest(context)
    }

    /// Multiplies the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func process(_ context: inout RenderContext) { context.gain(level) }
}

extension RenderContext {
    /// Runs gains, one after the other. While their levels rest, four of them read and write each sample once.
    ///
    ///     context.run(gains)
    @inlinable public mutating func run(_ gains: [Gain]) { runScaling(gains) }
}
