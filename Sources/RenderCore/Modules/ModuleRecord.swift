public import Synchronization

/// What a renderer keeps about one module of its loop.
@safe @usableFromInline struct ModuleRecord: ~Copyable {
    /// The module's address while this renderer holds it, else 0: what `run` compares.
    @usableFromInline let key = Atomic<UInt>(0)
    /// The module's token while this renderer holds it, else 0.
    @usableFromInline let token = Atomic<UInt>(0)
    let index: Int32
    /// The number of the module's name in the renderer's list.
    let nameNumber: Int32
    /// The address of the module; `nil` in the record that ends the table.
    let identity: UnsafeRawPointer?
    let slot: Unmanaged<ModuleSlot>?
    /// The longest that it took in a slice, in nanoseconds, of those that were timed.
    let longest = Atomic<Int64>(0)

    init(identity: UnsafeRawPointer?, index: Int32, nameNumber: Int32, slot: Unmanaged<ModuleSlot>?) {
        unsafe self.identity = identity
        self.index = index
        self.nameNumber = nameNumber
        unsafe self.slot = slot
    }
    /// The renderer holds the module from now on.
    func grant(_ token: UInt) {
        self.token.store(token, ordering: .relaxed)
        // Releasing: whoever sees it sees the token, and what the module's holder before has written in it.
        unsafe key.store(UInt(bitPattern: identity), ordering: .releasing)
    }
}
