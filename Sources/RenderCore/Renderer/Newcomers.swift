internal import Synchronization

/// Modules that the render thread met and the control side has not prepared: a few places, filled without waiting.
///
/// Filling one retains the module once: an atomic increment, in the first slice in which the module is met.
@safe final class Newcomers: @unchecked Sendable {
    // Unchecked because a place belongs to the side that its state names: free and filling to the render thread,
    // filled to the control side.
    private static var count: Int { 16 }
    private let places: UnsafeMutablePointer<(any Module)?>
    /// The number of the render loop in which each module was met.
    private let loopIDs: UnsafeMutablePointer<Int>
    private let states: UnsafeMutablePointer<Atomic<UInt8>>
    /// The number of the renderer's cycle in which the control side has found each place filled first; 0 for none.
    private let found: UnsafeMutablePointer<UInt>
    /// The modules in the places: the render thread's own note, because it may not look at a place that is filled.
    private let identities: UnsafeMutablePointer<ObjectIdentifier?>
    private let areMembersMissing = Atomic<Bool>(false)
    private enum State {
        static var free: UInt8 { 0 }
        static var filled: UInt8 { 1 }
    }

    init() {
        unsafe places = .allocate(capacity: Self.count)
        unsafe loopIDs = .allocate(capacity: Self.count)
        unsafe loopIDs.initialize(repeating: 0, count: Self.count)
        unsafe states = .allocate(capacity: Self.count)
        unsafe found = .allocate(capacity: Self.count)
        unsafe found.initialize(repeating: 0, count: Self.count)
        unsafe identities = .allocate(capacity: Self.count)
        unsafe identities.initialize(repeating: nil, count: Self.count)
        for place in 0..<Self.count {
            unsafe (places + place).initialize(to: nil)
            unsafe (states + place).initialize(to: Atomic(State.free))
        }
    }

    deinit {
        unsafe places.deinitialize(count: Self.count)
        unsafe places.deallocate()
        unsafe loopIDs.deallocate()
        unsafe states.deallocate()
        unsafe found.deallocate()
        unsafe identities.deallocate()
    }

    /// Offers a module. On the render thread. When all places are taken, the module is offered again in the next slice.
    func offer(_ module: some Module, from loopID: Int) {
        for place in 0..<Self.count {
            if unsafe states[place].load(ordering: .acquiring) == State.filled {
                if unsafe identities[place] == ObjectIdentifier(module) { return }
                continue
            }
            unsafe places[place] = module
            unsafe loopIDs[place] = loopID
            unsafe identities[place] = ObjectIdentifier(module)
            unsafe states[place].store(State.filled, ordering: .releasing)
            return
        }
    }

    /// Notes that a list has a member that the loop does not know. On the render thread. The list answers for the
    /// member, which may have left again by now; so it is not offered, but the control side is to look at the lists.
    func missMember() { areMembersMissing.store(true, ordering: .relaxed) }

    /// Returns whether a member was missing since the last call. On the control side.
    func takeMissing() -> Bool { areMembersMissing.exchange(false, ordering: .relaxed) }

    /// Indicates whether some are there. On the control side.
    var isWaiting: Bool {
        (0..<Self.count).contains { unsafe states[$0].load(ordering: .acquiring) == State.filled }
    }

    /// A module that the render thread met.
    struct Newcomer {
        let module: any Module
        /// The render loop that it was met in.
        let loopID: Int
        /// Indicates whether the module has an owner besides this list. One that was made inside of the render loop has
        /// none.
        let isKept: Bool
    }

    /// Takes those that were met in cycles that have ended: until then the render loop itself holds the modules that it
    /// has made. On the control side, one thread at a time.
    func take(after counter: CycleCounter) -> [Newcomer] {
        var taken: [Newcomer] = []
        for place in 0..<Self.count where unsafe states[place].load(ordering: .acquiring) == State.filled {
            // The count is read after the place: a module that was offered in a cycle that is still under way is seen
            // as that.
            let cycle = counter.count.load(ordering: .acquiring)
            if cycle & 1 == 1, unsafe found[place] == 0 || found[place] == cycle {
                unsafe found[place] = cycle
                continue
            }
            unsafe found[place] = 0
            let loopID = unsafe loopIDs[place]
            var object = unsafe places[place] as AnyObject?
            unsafe places[place] = nil
            let isKept = !isKnownUniquelyReferenced(&object)
            if let module = object as? any Module {
                taken.append(Newcomer(module: module, loopID: loopID, isKept: isKept))
            }
            unsafe states[place].store(State.free, ordering: .releasing)
        }
        return taken
    }
}
