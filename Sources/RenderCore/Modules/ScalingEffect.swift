/// An effect that, while its parameters rest, multiplies every sample of the top by one number and does nothing else.
///
///     public final class Gain: ScalingEffect {
///         public let level = Parameter(1, in: 0...16)
///
///         @_noLocks @_noAllocation
///         public func factorAtRest(_ parameters: RestingParameters) -> Float? { parameters.value(of: level) }
///
///         @_noLocks @_noAllocation
///         public func process(_ context: inout RenderContext) { context.gain(level) }
///     }
///
/// Where a render loop runs an array of such effects, `context.run(gains)`, the renderer reads and writes each sample once for
/// four of them. The samples are the same as those that `process` makes.
///
/// Threads: control.
public protocol ScalingEffect: Effect {
    /// Returns the number by which ``Module/process(_:)`` would multiply every sample of the top in this slice, if that is all
    /// that it would do; `nil` if it would do anything else, such as glide. The number may depend on parameters and constants
    /// only, because the renderer asks four effects before the first of them runs.
    ///
    /// Threads: any.
    @_noLocks @_noAllocation
    func factorAtRest(_ parameters: RestingParameters) -> Float?
}
