internal import Synchronization

/// Modules that the render thread met and the control side has not prepared: a few places, filled without waiting.
///
/// Filling one retains the module once: an atomic increment, in the first slice in which the module is met.
@safe final class Newcomers: @unchecked Sendable {
    // Unchecked because a place belongs to the side that its state names: free and filling to the render thread,
    // filled to the control side.
    private static var count: Int { 16 }
    private let places: UnsafeMutablePointer<(any Module)?>
    /// Which closure each was met in.
    private let bodies: UnsafeMutablePointer<Int>
    private let states: UnsafeMutablePointer<Atomic<UInt8>>
    /// Who is in the places: the render thread's own note, because what is filled is not its to look at.
    private let identities: UnsafeMutablePointer<ObjectIdentifier?>
    private let areMembersMissing = Atomic<Bool>(false)
    private enum State {
        static var free: UInt8 { 0 }
        static var filled: UInt8 { 1 }
    }

    init() {
        unsafe places = .allocate(capacity: Self.count)
        unsafe bodies = .allocate(capacity: Self.count)
        unsafe bodies.initialize(repeating: 0, count: Self.count)
        unsafe states = .allocate(capacity: Self.count)
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
        unsafe bodies.deallocate()
        unsafe states.deallocate()
        unsafe identities.deallocate()
    }

    /// On the render thread. When all places are taken the module is offered again in the next slice.
    func offer(_ module: some Module, from body: Int) {
        for place in 0..<Self.count {
            if unsafe states[place].load(ordering: .acquiring) == State.filled {
                if unsafe identities[place] == ObjectIdentifier(module) { return }
                continue
            }
            unsafe places[place] = module
            unsafe bodies[place] = body
            unsafe identities[place] = ObjectIdentifier(module)
            unsafe states[place].store(State.filled, ordering: .releasing)
            return
        }
    }

    /// On the render thread: a list has a member that the loop does not know. The list answers for it, and it may have
    /// left again by now; so it is not offered, but the control side is to look at the lists.
    func missMember() { areMembersMissing.store(true, ordering: .relaxed) }

    /// On the control side: whether a member was missing since the last call.
    func takeMissing() -> Bool { areMembersMissing.exchange(false, ordering: .relaxed) }

    /// On the control side, one thread at a time.
    func take() -> [(module: any Module, body: Int)] {
        var taken: [(module: any Module, body: Int)] = []
        for place in 0..<Self.count where unsafe states[place].load(ordering: .acquiring) == State.filled {
            if let module = unsafe places[place] { unsafe taken.append((module, bodies[place])) }
            unsafe places[place] = nil
            unsafe states[place].store(State.free, ordering: .releasing)
        }
        return taken
    }
}
