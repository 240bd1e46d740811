/// The samples of one channel, to read in a loop over ``indices``. (`AudioBlock.array(_:)` returns an array, which has `max()` and
/// the like.)
///
/// A `Samples` is to reading what `MutableSpan<Float>` is to writing. It exists because Swift 6.3 lets an annotated
/// (`@_noLocks`) function hold a `MutableSpan` but not a `Span` that it got from a borrowed view.
///
/// - Complexity: Every access is O(1); the bounds check leaves a loop over ``indices``.
///
/// Threads: any.
@safe public struct Samples: ~Copyable, ~Escapable {
    @usableFromInline package let base: UnsafePointer<Float>
    /// The number of samples.
    public let count: Int

    /// A view of memory. The caller gives it the lifetime of the memory's owner.
    @_lifetime(immortal)
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    package init(at base: UnsafePointer<Float>, count: Int) {
        unsafe self.base = base
        self.count = count
    }

    /// Creates a view of a span: an array's (`Samples(array.span)`), or a part of one.
    ///
    /// Threads: control.
    @_lifetime(copy span)
    public init(_ span: Span<Float>) {
        let (address, length) = unsafe span.withUnsafeBufferPointer { ($0.baseAddress, $0.count) }
        unsafe base = address ?? UnsafePointer(bitPattern: MemoryLayout<Float>.alignment).unsafelyUnwrapped
        count = length
    }

    /// All valid positions.
    @inlinable public var indices: Range<Int> {
        @_noLocks @_noAllocation get { unsafe Range(uncheckedBounds: (0, count)) }
    }

    /// The sample at a position.
    @inlinable public subscript(_ position: Int) -> Float {
        @_noLocks @_noAllocation get {
            precondition(position >= 0 && position < count)
            return unsafe base[position]
        }
    }

    /// Returns eight neighbouring samples from `position` on, at any alignment.
    @_noLocks @_noAllocation
    @inlinable public func vector8(at position: Int) -> SIMD8<Float> {
        precondition(position >= 0 && position <= count &- 8)
        return unsafe UnsafeRawPointer(base + position).loadUnaligned(as: SIMD8<Float>.self)
    }
}

extension MutableSpan<Float> {
    /// Returns eight neighbouring samples from `position` on, at any alignment.
    ///
    /// Threads: any.
    @_noLocks @_noAllocation
    @_lifetime(self: copy self)
    @inlinable public mutating func vector8(at position: Int) -> SIMD8<Float> {
        precondition(position >= 0 && position <= count &- 8)
        return unsafe withUnsafeMutableBufferPointer {
            unsafe UnsafeRawPointer($0.baseAddress.unsafelyUnwrapped + position).loadUnaligned(as: SIMD8<Float>.self)
        }
    }

    /// Writes eight neighbouring samples from `position` on, at any alignment.
    ///
    /// Threads: any.
    @_lifetime(self: copy self)
    @_noLocks @_noAllocation
    @inlinable public mutating func store(_ vector: SIMD8<Float>, at position: Int) {
        precondition(position >= 0 && position <= count &- 8)
        unsafe withUnsafeMutableBufferPointer {
            unsafe UnsafeMutableRawPointer($0.baseAddress.unsafelyUnwrapped + position)
                .storeBytes(of: vector, as: SIMD8<Float>.self)
        }
    }
}
