/// A module's parameters at rest, to be compared with those of the slice before. They are for results that are made of
/// parameters and take a while, such as coefficients.
///
///     if ParametersAtRest(context, cutoff, q, mix).isEqual(to: rest) { … }    // what was made then is right now
///     let settings = (cutoff.glide(context), q.glide(context), mix.glide(context))
///     rest = ParametersAtRest(context, cutoff, q, mix)                        // behind the glides
///
/// While one of them moves, they are equal to none. They are asked for behind the glides, because a parameter may be
/// set at any time: a value that rests behind its glide is the value of the glide. (Modules with more than three parameters count
/// the changes of all of them, and ask before the glides.)
///
/// Threads: any.
public struct ParametersAtRest: Sendable, BitwiseCopyable {
    @usableFromInline let first, second, rate: UInt64

    @_noLocks @_noAllocation
    @inlinable @inline(__always) init(_ first: UInt64, _ second: UInt64, rate: UInt64) {
        self.first = first
        self.second = second
        self.rate = rate
    }

    /// Parameters that are equal to no others.
    @inlinable public static var none: ParametersAtRest {
        @_noLocks @_noAllocation get { ParametersAtRest(.max, .max, rate: .max) }
    }

    /// Creates a note of three parameters in this slice, and the sample rate.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public init(
        _ context: borrowing RenderContext, _ first: borrowing Parameter, _ second: borrowing Parameter,
        _ third: borrowing Parameter
    ) {
        guard let first = first.atRest(context), let second = second.atRest(context),
            let third = third.atRest(context)
        else {
            self = .none
            return
        }
        self.init(
            UInt64(first.bitPattern) << 32 | UInt64(second.bitPattern), UInt64(third.bitPattern), rate: context.rateBits
        )
    }

    /// Creates a note of all parameters whose changes are counted, and the sample rate. It stands for parameters at rest if it is made
    /// before their glides and none of those moves.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package init(_ context: borrowing RenderContext, _ changes: borrowing ChangeCount) {
        self.init(changes.value, 0, rate: context.rateBits)
    }

    /// Returns whether none moves or has changed.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func isEqual(to other: ParametersAtRest) -> Bool {
        first == other.first && second == other.second && rate == other.rate && second != .max
    }
}
