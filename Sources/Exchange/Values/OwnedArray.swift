/// A fixed number of values that cannot be copied, such as the parameters of a module with any number of bands.
///
///     let gains = OwnedArray(count: 8) { _ in Parameter(1, in: 0...4) }
///     gains[3].value = 0.5
///     let gain = gains[3].glide(context)
///
/// The elements are reached in place, unlike those of an `InlineArray`, which the compiler likes to copy to the stack
/// as a whole when one is used.
///
/// Threads: control.
@safe public struct OwnedArray<Element: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because the elements are Sendable, never change places and are only lent.
    @usableFromInline let base: UnsafeMutablePointer<Element>
    /// The number of elements.
    public let count: Int

    /// Creates the elements, in their order.
    ///
    /// - Precondition: `count` is not negative.
    public init(count: Int, _ make: (Int) -> Element) {
        demand(
            count >= 0 && count <= 1 << 40, "OwnedArray: a count of \(count); it must be 0 or more, and fit into memory"
        )
        unsafe base = .allocate(capacity: max(count, 1))
        self.count = count
        for i in 0..<count { unsafe (base + i).initialize(to: make(i)) }
    }

    deinit {
        unsafe base.deinitialize(count: count)
        unsafe base.deallocate()
    }

    /// The element at a position.
    ///
    /// - Precondition: It exists.
    @inlinable public subscript(_ position: Int) -> Element {
        @inline(__always) _read {
            precondition(position >= 0 && position < count)
            yield unsafe base[position]
        }
    }

    /// All valid positions.
    @inlinable public var indices: Range<Int> { 0..<count }
}
