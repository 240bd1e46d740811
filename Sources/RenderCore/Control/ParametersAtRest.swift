/// Three parameters at rest, to be compared with those of the slice before: for what is made of parameters and takes a
/// while, such as coefficients.
///
///     if ParametersAtRest(context, cutoff, q, mix).isEqual(to: rest) { … }    // what was made then is right now
///     let settings = (cutoff.glide(context), q.glide(context), mix.glide(context))
///     rest = ParametersAtRest(context, cutoff, q, mix)                        // behind the glides
///
/// While one of them moves they are equal to nothing. They are asked for behind the glides because a parameter may be set at
/// any time: what rests behind its glide is what the glide was.
public struct ParametersAtRest: Sendable, BitwiseCopyable {
    @usableFromInline let first, second, rate: UInt64

    @_noLocks @_noAllocation
    @inlinable @inline(__always) init(_ first: UInt64, _ second: UInt64, rate: UInt64) {
        self.first = first
        self.second = second
        self.rate = rate
    }

    /// Equal to no parameters.
    @inlinable public static var none: ParametersAtRest {
        @_noLocks @_noAllocation get { ParametersAtRest(.max, .max, rate: .max) }
    }

    /// The parameters in this slice, and the sample rate.
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

    /// Whether none moves or has changed.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func isEqual(to other: ParametersAtRest) -> Bool {
        first == other.first && second == other.second && rate == other.rate && second != .max
    }
}
