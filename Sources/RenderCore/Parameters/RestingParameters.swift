/// The parameters of a module in a slice, as far as they are at rest: all that a ``ScalingEffect`` looks at to tell its factor.
///
/// Threads: any.
public struct RestingParameters: Sendable, BitwiseCopyable {
    @usableFromInline let rateBits: UInt64

    @_noLocks @_noAllocation
    @inlinable @inline(__always) init(_ context: borrowing RenderContext) { rateBits = context.rateBits }

    /// Returns a parameter's value over the frames of this slice; `nil` while it glides.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func value(of parameter: borrowing Parameter) -> Float? {
        parameter.atRest(rateBits: rateBits)
    }

    /// Returns a switch's position over the frames of this slice; `nil` while it glides.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func value(of toggle: borrowing Switch) -> Bool? {
        guard let share = toggle.position.atRest(rateBits: rateBits) else { return nil }
        return share >= 0.5
    }
}
