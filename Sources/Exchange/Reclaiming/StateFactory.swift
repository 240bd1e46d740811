internal import SignalBlocks

/// Makes the initial value of a state, and frees it.
@safe @usableFromInline package final class StateFactory: Sendable {
    package let make: @Sendable () -> UnsafeMutableRawPointer
    package let free: @Sendable (UnsafeMutableRawPointer) -> Void

    package init<Value: ~Copyable>(_ make: @escaping @Sendable () -> Value) {
        unsafe self.make = {
            let value = unsafe StateFactory.allocate(Value.self)
            unsafe value.initialize(to: make())
            return UnsafeMutableRawPointer(value)
        }
        unsafe free = {
            unsafe StateFactory.free($0.assumingMemoryBound(to: Value.self))
        }
    }

    /// Returns memory for a value. One that is longer than a few numbers starts on a cache line, so that the render thread
    /// reads no line more than it has to.
    package static func allocate<Value: ~Copyable>(_ type: Value.Type) -> UnsafeMutablePointer<Value> {
        let size = MemoryLayout<Value>.stride
        if isSmall(type) {
            guard let memory = unsafe SmallMemory.take(size) else {
                fatalError("Memory for a state of \(size) bytes: the system has none left")
            }
            return unsafe memory.bindMemory(to: Value.self, capacity: 1)
        }
        let alignment = max(size > 16 ? 64 : 16, MemoryLayout<Value>.alignment)
        return unsafe UnsafeMutableRawPointer.allocate(byteCount: size, alignment: alignment)
            .bindMemory(to: Value.self, capacity: 1)
    }

    /// Ends a value, and frees its memory.
    package static func free<Value: ~Copyable>(_ value: UnsafeMutablePointer<Value>) {
        unsafe value.deinitialize(count: 1)
        if isSmall(Value.self) {
            unsafe SmallMemory.give(value, MemoryLayout<Value>.stride)
        } else {
            unsafe value.deallocate()
        }
    }

    private static func isSmall<Value: ~Copyable>(_ type: Value.Type) -> Bool {
        MemoryLayout<Value>.alignment <= 64 && SmallMemory.has(MemoryLayout<Value>.stride)
    }
}
