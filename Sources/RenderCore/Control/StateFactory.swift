/// Makes the initial value of a state, and frees it.
@safe @usableFromInline final class StateFactory: Sendable {
    let make: @Sendable () -> UnsafeMutableRawPointer
    let free: @Sendable (UnsafeMutableRawPointer) -> Void

    init<Value: ~Copyable>(_ make: @escaping @Sendable () -> Value) {
        unsafe self.make = {
            let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)
            unsafe value.initialize(to: make())
            return UnsafeMutableRawPointer(value)
        }
        unsafe free = {
            let value = unsafe $0.assumingMemoryBound(to: Value.self)
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
        }
    }
}
