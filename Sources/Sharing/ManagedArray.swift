public import RenderCore
public import Synchronization

/// A list that control code changes while the render thread goes through it: a key and a state per entry.
///
/// Control code deals in keys. For each new key a state is made, once; an entry whose key stays in the list keeps its
/// state, and the values that the render thread has written into it, through every change. The render thread sees whole
/// lists only.
///
///     let voices = ManagedArray<Int, Voice>()
///     voices.update([60, 64, 67]) { note, index in Voice(note: note) }      // in control code
///     …
///     voices.forEach(&context) { voice, context in … }                      // in `process`: `inout Voice`
///
/// Like a ``/RenderCore/RenderState`` it belongs to its first user. Inside ``/RenderCore/Renderer/transaction(whenApplied:_:)`` a change is
/// seen together with the others. States are freed on the control side, in the order of the list, when no render thread
/// can be using them.
///
/// Threads: control.
@safe
public struct ManagedArray<Key: Hashable & Sendable, Element: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because a state is touched by the owner's thread only, inside a cycle, and freed when it no longer can be.
    @usableFromInline let list: ManagedValue<List>
    @usableFromInline let owner = Atomic<UInt>(0)
    private let control = Lock(Control(), .array)

    private struct Control {
        var entries: [Entry] = []
        /// The change that `entries` come from, and the number of changes so far.
        var version = 0
        var changes = 0
        /// Indicates whether the render thread has a list of just these `entries`: then more can be added to it.
        var areShown = false

        /// Puts other entries in the place of these. Returns a closure that takes that back.
        mutating func exchange(_ new: [Entry], in control: Lock<Control>) -> @Sendable () -> Void {
            let (old, oldVersion) = (entries, version)
            changes += 1
            let version = changes
            (entries, self.version, areShown) = (new, version, false)
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
        let state: KeptState
    }

    /// A state on the heap, counted on the control side.
    @safe @usableFromInline final class KeptState: @unchecked Sendable {
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
        // Unchecked because a place in the table is written once, before the count includes it.
        @usableFromInline let values: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
        @usableFromInline let count: Atomic<Int>
        private let states: UnsafeMutablePointer<Unmanaged<KeptState>>
        private let capacity: Int

        init(_ states: [KeptState], capacity: Int) {
            self.capacity = max(1, states.count, capacity)
            count = Atomic(states.count)
            unsafe values = .allocate(capacity: self.capacity)
            unsafe self.states = .allocate(capacity: self.capacity)
            for (index, state) in states.enumerated() { write(state, at: index) }
        }

        private func write(_ state: KeptState, at index: Int) {
            unsafe (values + index).initialize(to: state.value)
            unsafe (states + index).initialize(to: .passRetained(state))
        }

        /// Adds an entry while the render thread may be going through the list. One thread at a time. `false`: there is
        /// no room.
        func append(_ state: KeptState) -> Bool {
            let index = count.load(ordering: .relaxed)
            guard index < capacity else { return false }
            write(state, at: index)
            count.store(index + 1, ordering: .releasing)
            return true
        }

        deinit {
            for index in 0..<count.load(ordering: .acquiring) { unsafe states[index].release() }
            unsafe states.deallocate()
            unsafe values.deallocate()
        }
    }

    /// Creates an empty list.
    public init() { list = ManagedValue(List([], capacity: 0)) }

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
        // Keys and states are a user's code: they are compared and made with no lock held, each state once, also if
        // another thread changes the list meanwhile and this begins anew.
        var made: [Key: KeptState] = [:]
        while true {
            let (new, version) = try entries(for: keys, &made, make)
            if put(new, inPlaceOf: version) { break }
        }
        if let released { OpenTransaction.afterCycles(released) }
    }

    /// Returns the entries of a list of keys, and the version that they build on. It holds no state of another key when
    /// it returns: the published list alone decides when those are released.
    private func entries(
        for keys: [Key], _ made: inout [Key: KeptState], _ make: (Key, Int) throws -> Element
    ) rethrows -> ([Entry], Int) {
        let (entries, version) = control.withLock { ($0.entries, $0.version) }
        let old = Dictionary(entries.map { ($0.key, $0.state) }, uniquingKeysWith: { first, _ in first })
        var new: [Entry] = []
        var known: Set<Key> = []
        for key in keys where known.insert(key).inserted {
            let state = try old[key] ?? made[key] ?? KeptState(make(key, new.count))
            if old[key] == nil { made[key] = state }
            new.append(Entry(key: key, state: state))
        }
        return (new, version)
    }

    /// Puts entries in the place of those of a version. `false`: they are not the newest any more.
    ///
    /// - Parameter capacity: The number of entries that the list has room for, without another in its place.
    private func put(_ entries: [Entry], inPlaceOf version: Int, capacity: Int = 0) -> Bool {
        let lock = self.control
        // Only a transaction can be called off; the way back holds the old states.
        let isStaged = OpenTransaction.exists
        typealias Place = (version: UInt64, number: Int, undo: (@Sendable () -> Void)?)
        let place: Place? = lock.change { control in
            guard control.version == version else { return nil }
            let undo = control.exchange(entries, in: lock)
            return (list.makeVersion(), control.version, isStaged ? undo : nil)
        }
        guard let place else { return false }
        if let undo = place.undo { OpenTransaction.ifCalledOff(undo) }
        list.set(List(entries.map(\.state), capacity: isStaged ? 0 : capacity), version: place.version)
        // Another change since builds on this one, and shows its own list.
        if !isStaged { lock.withLock { if $0.version == place.number { $0.areShown = true } } }
        return true
    }

    /// Adds an entry at the end. The cost does not depend on the length of the list, which the render thread goes on
    /// using; but in a transaction, and where that list has no room, another takes its place.
    ///
    /// - Parameters:
    ///   - key: A key that is not in the list.
    ///   - element: Its state.
    ///   - isKept: Asked for the other keys when another list takes the place: which of them stay in it.
    /// - Returns: `true` if the render thread sees the entry now, in the list that it has.
    @discardableResult
    package func append(_ key: Key, _ element: consuming Element, keeping isKept: (Key) -> Bool) -> Bool {
        let entry = Entry(key: key, state: KeptState(element))
        while true {
            let found: (entries: [Entry], version: Int)? = control.withLock { control in
                // The list that is shown cannot be exchanged meanwhile: who exchanges it takes the lock first.
                if control.areShown, !OpenTransaction.exists, unsafe list.node.pointee.value.append(entry.state) {
                    control.entries.append(entry)
                    control.changes += 1
                    control.version = control.changes
                    return nil
                }
                return (control.entries, control.version)
            }
            guard let found else { return true }
            let new = found.entries.filter { isKept($0.key) } + [entry]
            if put(new, inPlaceOf: found.version, capacity: 2 * new.count) { return false }
        }
    }

    /// Drops the entries whose keys do not satisfy a condition.
    package func keep(where isKept: (Key) -> Bool) {
        while true {
            let (entries, version) = control.withLock { ($0.entries, $0.version) }
            let new = entries.filter { isKept($0.key) }
            if new.count == entries.count || put(new, inPlaceOf: version, capacity: 2 * new.count) { return }
        }
    }

    /// Replaces the states of several keys in one step.
    ///
    /// - Parameter make: Returns another state for a key; `nil` to let it keep its own. It is asked once for each.
    package func replaceEach(_ make: (Key) -> Element?) {
        var made: [Key: KeptState?] = [:]
        while true {
            let (entries, version) = control.withLock { ($0.entries, $0.version) }
            let new = entries.map { entry in
                let state: KeptState?
                if let known = made[entry.key] {
                    state = known
                } else {
                    if let element = make(entry.key) { state = KeptState(element) } else { state = nil }
                    made[entry.key] = .some(state)
                }
                return state.map { Entry(key: entry.key, state: $0) } ?? entry
            }
            if put(new, inPlaceOf: version, capacity: 2 * new.count) { return }
        }
    }

    /// Replaces the state of a key. Returns `false` if the key is not in the list.
    @discardableResult
    public func replace(_ key: Key, with element: consuming Element) -> Bool {
        let state = KeptState(element)
        while true {
            var (entries, version) = control.withLock { ($0.entries, $0.version) }
            guard let index = entries.firstIndex(where: { $0.key == key }) else { return false }
            entries[index] = Entry(key: key, state: state)
            if put(entries, inPlaceOf: version) { return true }
        }
    }

    /// Returns the number of entries. On the render thread.
    ///
    /// Threads: render.
    @inlinable public func count(_ context: inout RenderContext) -> Int {
        unsafe list.node.pointee.value.count.load(ordering: .acquiring)
    }

    /// Calls `body` with every entry's state in place, in order. On the render thread.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func forEach(_ context: inout RenderContext, _ body: (inout Element, inout RenderContext) -> Void) {
        if enter(context) {
            let list = unsafe self.list.node
            let count = unsafe list.pointee.value.count.load(ordering: .acquiring)
            var index = 0
            while index < count {
                // The caches do not hold many entries: so the next one is on its way while this one computes.
                if index &+ 1 < count {
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
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func search(_ context: inout RenderContext, _ body: (inout Element, inout RenderContext) -> Bool) {
        if enter(context) {
            let list = unsafe self.list.node
            let count = unsafe list.pointee.value.count.load(ordering: .acquiring)
            var index = 0
            while index < count {
                if unsafe body(&list.pointee.value.values[index].pointee, &context) { break }
                index &+= 1
            }
            leave(context)
        }
    }

    /// Calls `body` with one entry's state in place; does nothing if there are not that many. On the render thread.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func with(
        _ index: Int, _ context: inout RenderContext, _ body: (inout Element, inout RenderContext) -> Void
    ) {
        if enter(context) {
            let list = unsafe self.list.node
            if unsafe index >= 0 && index < list.pointee.value.count.load(ordering: .acquiring) {
                unsafe body(&list.pointee.value.values[index].pointee, &context)
            }
            leave(context)
        }
    }

    /// Returns whether the module may go on, as ``/RenderCore/RenderState/belongs(to:)`` has it.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    package func belongs(to context: borrowing RenderContext) -> Bool {
        !Checks.areOn || owner.load(ordering: .relaxed) == context.owner || context.adopt(owner)
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
