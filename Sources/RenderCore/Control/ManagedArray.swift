public import Synchronization

/// A list that control code changes while the render thread goes through it: a key and a state per entry.
///
/// Control code deals in keys. For each new key a state is made, once; an entry whose key stays in the list keeps its
/// state, and what the render thread has written into it, through every change. The render thread sees whole lists only.
///
///     let voices = ManagedArray<Int, Voice>()
///     voices.update([60, 64, 67]) { note, index in Voice(note: note) }      // from any thread
///     …
///     voices.forEach(&context) { voice, context in … }                      // in `process`: `inout Voice`
///
/// Like a ``RenderState`` it belongs to its first user. Inside ``Renderer/transaction(whenApplied:_:)`` a change is seen
/// together with the others. States are freed on the control side, in the order of the list, when no render thread can be using them.
@safe
public struct ManagedArray<Key: Hashable & Sendable, Element: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because a cell is touched by the owner's thread only, inside a cycle, and freed when it no longer can be.
    @usableFromInline let list: ManagedValue<List>
    @usableFromInline let owner = Atomic<UInt>(0)
    private let control = Lock(Control())

    private struct Control {
        var entries: [Entry] = []
        /// Which change `entries` come from, and how many there have been.
        var version = 0
        var changes = 0

        /// Puts other entries in the place of these. Returns what takes that back.
        mutating func exchange(_ new: [Entry], in control: Lock<Control>) -> @Sendable () -> Void {
            let (old, oldVersion) = (entries, version)
            changes += 1
            let version = changes
            (entries, self.version) = (new, version)
            return {
                control.withLock { control in
                    // Whoever has changed the list since has built on this.
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
        // Unchecked because what it holds is touched through the list only.
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

    /// An empty list.
    public init() { list = ManagedValue(List([])) }

    /// The keys, in order, as last set.
    public var keys: [Key] { control.withLock { $0.entries.map(\.key) } }

    /// How many entries there are, as last set.
    public var count: Int { control.withLock { $0.entries.count } }

    /// Puts another list in the place of this one.
    ///
    /// - Parameters:
    ///   - keys: the entries, in order. Of equal keys the first counts.
    ///   - released: called on the control side when the old list is no longer in use.
    ///   - make: the state of a key that is new, and its position.
    public func update(
        _ keys: [Key], whenOldIsReleased released: (@Sendable () -> Void)? = nil,
        make: (Key, Int) throws -> Element
    ) rethrows {
        try exchange(keys, whenOldIsReleased: released, undo: nil, make: make)()
    }

    /// The same, but leaves it to the caller to let go of the old list, with no lock held.
    ///
    /// - Parameter undone: called when the transaction is thrown out of, or called off.
    package func exchange(
        _ keys: [Key], whenOldIsReleased released: (@Sendable () -> Void)?, undo undone: (@Sendable () -> Void)?,
        make: (Key, Int) throws -> Element
    ) rethrows -> () -> Void {
        let lock = self.control
        return try lock.withLock { control in
            var old: [Key: Cell] = [:]
            for entry in control.entries { old[entry.key] = entry.cell }
            var new: [Entry] = []
            var known: Set<Key> = []
            for key in keys where known.insert(key).inserted {
                new.append(Entry(key: key, cell: try old[key] ?? Cell(make(key, new.count))))
            }
            let undo = control.exchange(new, in: lock)
            return list.exchange(
                List(new.map(\.cell)), isInOrder: true, whenOldIsFreed: released,
                undo: {
                    undo()
                    undone?()
                })
        }
    }

    /// Puts another state in the place of one key's. `false`: the key is not in the list.
    @discardableResult
    public func replace(_ key: Key, with element: consuming Element) -> Bool {
        let cell = Cell(element)
        let lock = self.control
        let retire: (() -> Void)? = lock.withLock { control in
            var entries = control.entries
            guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
            entries[index] = Entry(key: key, cell: cell)
            let undo = control.exchange(entries, in: lock)
            return list.exchange(List(entries.map(\.cell)), isInOrder: true, whenOldIsFreed: nil, undo: undo)
        }
        retire?()
        return retire != nil
    }

    /// How many entries there are. On the render thread.
    @inlinable public func count(_ context: inout RenderContext) -> Int {
        unsafe list.node.pointee.value.count
    }

    /// Every entry's state in place, in order. On the render thread.
    @inlinable @_transparent
    public func forEach(_ context: inout RenderContext, _ body: (inout Element, inout RenderContext) -> Void) {
        if enter(context) {
            let list = unsafe self.list.node
            var index = 0
            while unsafe index < list.pointee.value.count {
                unsafe body(&list.pointee.value.values[index].pointee, &context)
                index &+= 1
            }
            leave(context)
        }
    }

    /// Every entry's state in place, in order, until `body` returns `true`. It goes through one list, also where control code
    /// puts another in its place meanwhile. On the render thread.
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

    /// One entry's state in place; `body` does not run if there are not so many. On the render thread.
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
