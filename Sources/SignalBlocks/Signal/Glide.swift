/// A parameter's value over the frames of a slice: at rest, or on its way.
///
/// A glide is asked by frame and never advanced: `glide[i]` is the value at frame `i` of the slice, computed from the
/// beginning of the glide. So the length of the slices changes nothing, and a loop over it vectorises.
public struct Glide: Sendable, BitwiseCopyable {
    @usableFromInline let from: Float
    @usableFromInline let step: Float
    /// Frames of the glide that lie before this slice.
    @usableFromInline let elapsed: Int32
    @usableFromInline package let length: Int32
    @usableFromInline let isExponential: Bool
    /// The value at which the glide ends.
    public let end: Float

    /// Creates a glide at rest.
    @_noLocks @_noAllocation
    @inlinable public init(_ value: Float) {
        self.init(from: value, to: value, elapsed: 0, length: 0, isExponential: false)
    }

    /// Creates a glide of `length` frames of which `elapsed` have passed.
    @_noLocks @_noAllocation
    @inlinable package init(from: Float, to end: Float, elapsed: Int32, length: Int32, isExponential: Bool) {
        self.from = from
        self.end = end
        self.elapsed = elapsed
        self.length = length
        self.isExponential = isExponential && from > 0 && end > 0
        if elapsed >= length {
            step = 0
        } else if self.isExponential {
            step = RenderMath.log2(end / from) / Float(length)
        } else {
            step = (end - from) / Float(length)
        }
    }

    /// One minus the value, for a glide in a straight line: how far a ``Switch`` is off.
    package var complement: Glide {
        @_noLocks @_noAllocation get {
            Glide(from: 1 - from, to: 1 - end, elapsed: elapsed, length: length, isExponential: false)
        }
    }

    /// Indicates whether the value is the same, ``end``, in all frames of the slice.
    @inlinable public var isFlat: Bool { @_noLocks @_noAllocation get { elapsed >= length } }

    /// Frames of the slice, and of those after it, until it is at rest.
    package var framesLeft: Int { @_noLocks @_noAllocation get { Int(max(0, length &- elapsed)) } }

    /// The value at the first frame of the slice.
    @inlinable public var start: Float { @_noLocks @_noAllocation get { self[0] } }

    /// The value at a frame of the slice.
    @inlinable public subscript(_ frame: Int) -> Float {
        @_noLocks @_noAllocation get {
            let position = elapsed &+ Int32(truncatingIfNeeded: frame)
            if isExponential {
                return position < length ? from * RenderMath.exp2(step * Float(position)) : end
            }
            return position < length ? from + step * Float(position) : end
        }
    }

    /// Multiplies samples by the value, frame by frame.
    @_noLocks @_noAllocation
    @inlinable public func apply(to samples: inout MutableSpan<Float>) {
        if isFlat {
            let gain = end
            if gain == 1 { return }
            Signal.scale(&samples, by: gain)
        } else {
            for i in samples.indices { samples[i] *= self[i] }
        }
    }
}
