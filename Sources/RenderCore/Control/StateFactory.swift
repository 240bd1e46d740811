/// Makes the initial value of a state, and frees it.
@safe @usableFromInline final class StateFactory: Sendable {
    let make: @Sendable () -> UnsafeMutableRawPointer
    let free: @Sendable (UnsafeMutableRawPointer) -> Void

    init<Value: ~Copyable>(_ make: @escaping @Sendable () -> Value) {
        unsafe self.make = {
            let value = unsafe StateFactory.allocate(Value.self)
            unsafe value.initialize(to: make())
            return UnsafeMutableRawPointer(value)
        }
        unsafe free = {
            let value = unsafe $0.assumingMemoryBound(to: Value.self)
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
        }
    }

    /// Returns memory for a value. One that is longer than a few numbers starts on a cache line, so that the render thread
    /// reads no line more than it has to.
    static func allocate<Value: ~Copyable>(_ type: Value.Type) -> UnsafeMutablePointer<Value> {
        let size = MemoryLayout<Value>.stride
        let alignment = max(size > 16 ? 64 : 16, MemoryLayout<Value>.alignment)
        return unsafe UnsafeMutableRawPointer.allocate(byteCount: size, alignment: alignment)
            .bindMemory(to: Value.self, capacity: 1)
    }
}
