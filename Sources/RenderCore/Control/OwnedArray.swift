/// A fixed number of values that cannot be copied, such as parameters: what a module with any number of bands holds.
///
///     let gains = OwnedArray(count: 8) { _ in Parameter(1, in: 0...4) }
///     gains[3].value = 0.5
///     let gain = gains[3].glide(context)
///
/// Unlike an `InlineArray`, which the compiler likes to copy to the stack as a whole when one element is used, an element
/// here is reached where it lies.
@safe public struct OwnedArray<Element: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because the elements are Sendable, never change places and are only lent.
    @usableFromInline let base: UnsafeMutablePointer<Element>
    /// Elements there are.
    public let count: Int

    /// Makes the elements, in their order.
    ///
    /// - Precondition: `count` is not negative.
    public init(count: Int, _ make: (Int) -> Element) {
        precondition(count >= 0, "OwnedArray: a count of \(count)")
        unsafe base = .allocate(capacity: max(count, 1))
        self.count = count
        for i in 0..<count { unsafe (base + i).initialize(to: make(i)) }
    }

    deinit {
        unsafe base.deinitialize(count: count)
        unsafe base.deallocate()
    }

    /// An element.
    ///
    /// - Precondition: it exists.
    @inlinable public subscript(_ position: Int) -> Element {
        @inline(__always) _read {
            precondition(position >= 0 && position < count)
            yield unsafe base[position]
        }
    }

    /// All valid positions.
    @inlinable public var indices: Range<Int> { 0..<count }
}
