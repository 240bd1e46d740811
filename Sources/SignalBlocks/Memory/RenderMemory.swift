/// Memory that a module owns: a delay line, a table, a window. It is allocated once and reached as a span.
///
///     struct DelayLine: ~Copyable, Sendable {
///         var samples: RenderMemory<Float>
///         var position = 0
///         init(frames: Int) { samples = RenderMemory(repeating: 0, count: frames) }
///     }
///     private let line = RenderState(DelayLine(frames: 48_000))
///
/// Threads: any.
@safe public struct RenderMemory<Element: BitwiseCopyable & Sendable>: ~Copyable, Sendable {
    // It has one owner, this value; Swift's exclusivity covers the memory that is reached through it.
    @usableFromInline package let memory: AlignedMemory<Element>
    /// The number of elements.
    public let count: Int

    /// Creates memory for `count` elements, aligned to cache lines.
    ///
    /// - Precondition: `count` is not negative.
    ///
    /// Threads: control.
    public init(repeating element: Element, count: Int) {
        demand(count >= 0, "RenderMemory: a count of \(count); it must be 0 or more")
        memory = AlignedMemory(count: count)
        unsafe memory.base.initialize(repeating: element, count: count)
        self.count = count
    }

    /// Creates memory that holds these elements.
    package init(_ elements: [Element]) {
        memory = AlignedMemory(elements)
        count = elements.count
    }

    /// All elements.
    @inlinable public var span: MutableSpan<Element> {
        @_lifetime(&self) mutating get {
            let span = unsafe MutableSpan(_unsafeStart: memory.base, count: count)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// The element at a position.
    @inlinable public subscript(_ position: Int) -> Element {
        get {
            precondition(position >= 0 && position < count)
            return unsafe memory.base[position]
        }
        set {
            precondition(position >= 0 && position < count)
            unsafe memory.base[position] = newValue
        }
    }

    /// All valid positions.
    @inlinable public var indices: Range<Int> { 0..<count }
}
