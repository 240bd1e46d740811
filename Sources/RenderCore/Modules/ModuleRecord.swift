public import Synchronization

/// The fields of one module of a loop that `run` compares, side by side with those of the modules before and after it.
@safe @usableFromInline package struct ModuleRecord: ~Copyable {
    /// The module's address while this renderer holds it, else 0. `run` compares it. The lowest bit is the mark of
    /// ``CycleMemory/beginTiming(_:)``.
    @usableFromInline package let key = Atomic<UInt>(0)
    /// The module's token while this renderer holds it, else 0.
    @usableFromInline let token = Atomic<UInt>(0)

    init() {}

    /// Notes that the renderer holds the module at an address from now on.
    func grant(_ token: UInt, _ identity: UnsafeRawPointer?) {
        self.token.store(token, ordering: .relaxed)
        // Releasing: a thread that sees it sees the token, and the values that the module's holder before has written
        // in it.
        key.store(UInt(bitPattern: identity), ordering: .releasing)
    }
}

/// The other fields that a renderer keeps about one module of its loop: in a table of its own, in the order of the
/// records.
@safe struct ModuleDetails: ~Copyable {
    /// The number of the module's name in the renderer's list; -1 for a record of no module.
    let nameNumber: Int32
    /// The address of the module; `nil` in the record that ends the table, and in the render loop's.
    let identity: UnsafeRawPointer?
    let slot: Unmanaged<ModuleSlot>?
    /// The numbers of the modules that it is made of.
    var members = unsafe UnsafeMutableBufferPointer<Int32>(start: nil, count: 0)
    /// The round of resetting in which it was reset last.
    var resetRound: UInt64 = 0
    /// The calls of the module that are under way: see ``CycleMemory/Call``.
    var calls: UInt8 = 0
    /// The longest that it took in a slice, in nanoseconds, of those that were timed.
    let longest = Atomic<Int64>(0)

    init(identity: UnsafeRawPointer?, nameNumber: Int32, slot: Unmanaged<ModuleSlot>?) {
        unsafe self.identity = identity
        self.nameNumber = nameNumber
        unsafe self.slot = slot
    }
}
