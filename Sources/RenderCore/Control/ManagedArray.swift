public import Synchronization

/// A list that control code changes while the render thread goes through it: a key and a state per entry.
///
/// Control code deals in keys. For each new key a state is made, once; an entry whose key stays in the list keeps its
/// state, and the values that the render thread has written into it, through every change. The render thread sees whole
/// lists only.
///
///     let voices = ManagedArray<Int, Voice>()
///     voices.update([60, 64, 67]) { note, index in Voice(note: note) }      // from any thread
///     …
///     voices.forEach(&context) { voice, context in … }                      // in `process`: `inout Voice`
///
/// Like a ``RenderState`` it belongs to its first user. Inside ``Renderer/transaction(whenApplied:_:)`` a change is
/// seen together with the others. States are freed on the control side, in the order of the list, when no render thread
/// can be using them.
@safe
public struct ManagedArray<Key: Hashable & Sendable, Element: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because a cell is touched by the owner's thread only, inside a cycle, and freed when it no longer can be.
    @usableFromInline let list: ManagedValue<List>
    @usableFromInline let owner = Atomic<UInt>(0)
    private let control = Lock(Control(), .array)

    private struct Control {
        var entries: [Entry] = []
        /// The change that `entries` come from, and the number of changes so far.
        var version = 0
        var changes = 0

        /// Puts other entries in the place of these. Returns a closure that takes that back.
        mutating func exchange(_ new: [Entry], in control: Lock<Control>) -> @Sendable () -> Void {
            let (old, oldVersion) = (entries, version)
            changes += 1
            let version = changes
            (entries, self.version) = (new, version)
            return {
                control.change { control in
                    // A change since has built on this one.
                    if control.version == version { (control.entries, control.version) = (old, oldVersion) }
                }
            }
        }
    }

    private struct Entry: Sendable {
        let key: Key
        let cell: Cell
    }

    /// A state on the heap, counted on the control side.
    @safe @usableFromInline final class Cell: @unchecked Sendable {
        // Unchecked because its value is touched through the list only.
        @usableFromInline let value: UnsafeMutablePointer<Element>
        init(_ element: consuming Element) {
            unsafe value = .allocate(capacity: 1)
            unsafe value.initialize(to: element)
        }
        deinit {
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
        }
    }

    /// The states as the render thread sees them.
    @safe @usableFromInline struct List: ~Copyable, @unchecked Sendable {
        // Unchecked because the table is never written after it was made.
        @usableFromInline let values: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
        @usableFromInline let count: Int
        private let cells: UnsafeMutablePointer<Unmanaged<Cell>>

        init(_ cells: [Cell]) {
            count = cells.count
            unsafe values = .allocate(capacity: max(1, cells.count))
            unsafe self.cells = .allocate(capacity: max(1, cells.count))
            for (index, cell) in cells.enumerated() {
                unsafe (values + index).initialize(to: cell.value)
                unsafe (self.cells + index).initialize(to: .passRetained(cell))
            }
        }

        deinit {
            for index in 0..<count { unsafe cells[index].release() }
            unsafe cells.deallocate()
            unsafe values.deallocate()
        }
    }

    /// Creates an empty list.
    public init() { list = ManagedValue(List([])) }

    /// The keys, in order, as last set.
    public var keys: [Key] { control.withLock { $0.entries.map(\.key) } }

    /// The number of entries, as last set.
    public var count: Int { control.withLock { $0.entries.count } }

    /// Replaces the list.
    ///
    /// - Parameters:
    ///   - keys: The entries, in order. Of equal keys the first counts.
    ///   - released: Called on a thread of RenderStack's own when the old list is no longer in use.
    ///   - make: The state of a key that is new, and its position. It may use this list.
    public func update(
        _ keys: [Key], whenOldIsReleased released: (@Sendable () -> Void)? = nil,
        make: (Key, Int) throws -> Element
    ) rethrows {
        try exchange(keys, whenOldIsReleased: released, undo: nil, make: make)
    }

    /// Does the same as ``update(_:whenOldIsReleased:make:)``, and calls `undone` if that does not come into effect.
    ///
    /// - Parameter undone: The closure to call if the transaction throws or is called off.
    package func exchange(
        _ keys: [Key], whenOldIsReleased released: (@Sendable () -> Void)?, undo undone: (@Sendable () -> Void)?,
        make: (Key, Int) throws -> Element
    ) rethrows {
        // Keys and states are a user's code: they are compared and made with no lock held, each state once, also if
        // another thread changes the list meanwhile and this begins anew.
        var made: [Key: Cell] = [:]
        while true {
            let (new, version) = try entries(for: keys, &made, make)
            if put(new, inPlaceOf: version, whenOldIsReleased: released, undo: undone) { return }
        }
    }

    /// Returns the entries of a list of keys, and the version that they build on. It holds no state of another key when
    /// it returns: the published list alone decides when those are released.
    private func entries(
        for keys: [Key], _ made: inout [Key: Cell], _ make: (Key, Int) throws -> Element
    ) rethrows -> ([Entry], Int) {
        let (entries, version) = control.withLock { ($0.entries, $0.version) }
        let old = Dictionary(entries.map { ($0.key, $0.cell) }, uniquingKeysWith: { first, _ in first })
        var new: [Entry] = []
        var known: Set<Key> = []
        for key in keys where known.insert(key).inserted {
            let cell = try old[key] ?? made[key] ?? Cell(make(key, new.count))
            if old[key] == nil { made[key] = cell }
            new.append(Entry(key: key, cell: cell))
        }
        return (new, version)
    }

    /// Puts entries in the place of those of a version. `false`: they are not the newest any more.
    private func put(
        _ entries: [Entry], inPlaceOf version: Int, whenOldIsReleased released: (@Sendable () -> Void)?,
        undo undone: (@Sendable () -> Void)?
    ) -> Bool {
        let lock = self.control
        // Only a transaction can be called off; the way back holds the old states.
        let isStaged = Transaction.isOpen
        let place: (version: UInt64, undo: (@Sendable () -> Void)?)? = lock.change { control in
            guard control.version == version else { return nil }
            let undo = control.exchange(entries, in: lock)
            return (list.makeVersion(), isStaged ? undo : nil)
        }
        guard let place else { return false }
        var back: (@Sendable () -> Void)?
        if let undo = place.undo {
            back = {
                undo()
                undone?()
            }
        }
        list.exchange(List(entries.map(\.cell)), version: place.version, whenOldIsFreed: released, undo: back)
        return true
    }

    /// Replaces the state of a key. Returns `false` if the key is not in the list.
    @discardableResult
    public func replace(_ key: Key, with element: consuming Element) -> Bool {
        let cell = Cell(element)
        while true {
            var (entries, version) = control.withLock { ($0.entries, $0.version) }
            guard let index = entries.firstIndex(where: { $0.key == key }) else { return false }
            entries[index] = Entry(key: key, cell: cell)
            if put(entries, inPlaceOf: version, whenOldIsReleased: nil, undo: nil) { return true }
        }
    }

    /// Returns the number of entries. On the render thread.
    @inlinable public func count(_ context: inout RenderContext) -> Int {
        unsafe list.node.pointee.value.count
    }

    /// Calls `body` with every entry's state in place, in order. On the render thread.
    @inlinable @_transparent
    public func forEach(_ context: inout RenderContext, _ body: (inout Element, inout RenderContext) -> Void) {
        if enter(context) {
            let list = unsafe self.list.node
            var index = 0
            while unsafe index < list.pointee.value.count {
                // The caches do not hold many entries: so the next one is on its way while this one computes.
                if unsafe index &+ 1 < list.pointee.value.count {
                    let next = unsafe UInt(bitPattern: list.pointee.value.values[index &+ 1])
                    Kernel.fetch(object: next, line: next &+ 128)
                }
                unsafe body(&list.pointee.value.values[index].pointee, &context)
                index &+= 1
            }
            leave(context)
        }
    }

    /// Calls `body` with every entry's state in place, in order, until it returns `true`. It goes through one list,
    /// also if control code puts another in its place meanwhile. On the render thread.
    ///
    ///     voices.search(&context) { voice, context in
    ///         guard voice.note == note else { return false }
    ///         voice.release()
    ///         return true
    ///     }
    @inlinable @_transparent
    public func search(_ context: inout RenderContext, _ body: (inout Element, inout RenderContext) -> Bool) {
        if enter(context) {
            let list = unsafe self.list.node
            var index = 0
            while unsafe index < list.pointee.value.count {
                if unsafe body(&list.pointee.value.values[index].pointee, &context) { break }
                index &+= 1
            }
            leave(context)
        }
    }

    /// Calls `body` with one entry's state in place; does nothing if there are not that many. On the render thread.
    @inlinable @_transparent
    public func with(
        _ index: Int, _ context: inout RenderContext, _ body: (inout Element, inout RenderContext) -> Void
    ) {
        if enter(context) {
            let list = unsafe self.list.node
            if unsafe index >= 0 && index < list.pointee.value.count {
                unsafe body(&list.pointee.value.values[index].pointee, &context)
            }
            leave(context)
        }
    }

    @inlinable @inline(__always)
    func enter(_ context: borrowing RenderContext) -> Bool {
        guard owner.load(ordering: .relaxed) == context.owner || context.adopt(owner) else { return false }
        owner.store(context.owner | RenderContext.busy, ordering: .relaxed)
        return true
    }

    @inlinable @inline(__always)
    func leave(_ context: borrowing RenderContext) { owner.store(context.owner, ordering: .relaxed) }
}
