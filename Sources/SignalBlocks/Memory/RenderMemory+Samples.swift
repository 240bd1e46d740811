extension RenderMemory<Float> {
    /// Returns eight neighbouring numbers from `position` on, at any alignment.
    @_noLocks @_noAllocation
    @inlinable public func vector8(at position: Int) -> SIMD8<Float> {
        precondition(position >= 0 && position <= count &- 8)
        return unsafe UnsafeRawPointer(memory.base + position).loadUnaligned(as: SIMD8<Float>.self)
    }

    /// Returns four neighbouring numbers from `position` on, at any alignment.
    @_noLocks @_noAllocation
    @inlinable package func vector4(at position: Int) -> SIMD4<Float> {
        precondition(position >= 0 && position <= count &- 4)
        return unsafe UnsafeRawPointer(memory.base + position).loadUnaligned(as: SIMD4<Float>.self)
    }

    /// Writes eight neighbouring numbers from `position` on, at any alignment.
    @_noLocks @_noAllocation
    @inlinable package mutating func store(_ vector: SIMD8<Float>, at position: Int) {
        precondition(position >= 0 && position <= count &- 8)
        unsafe UnsafeMutableRawPointer(memory.base + position).storeBytes(of: vector, as: SIMD8<Float>.self)
    }

    /// Writes four neighbouring numbers from `position` on, at any alignment.
    @_noLocks @_noAllocation
    @inlinable package mutating func store(_ vector: SIMD4<Float>, at position: Int) {
        precondition(position >= 0 && position <= count &- 4)
        unsafe UnsafeMutableRawPointer(memory.base + position).storeBytes(of: vector, as: SIMD4<Float>.self)
    }

    /// Returns one number of a table.
    @_noLocks @_noAllocation
    @inlinable public func value(at position: Int) -> Float {
        precondition(position >= 0 && position < count)
        return unsafe memory.base[position]
    }
}

extension RenderMemory<Float> {
    /// Copies numbers to a lower position.
    @_noLocks @_noAllocation
    package mutating func copy(from first: Int, to position: Int, count: Int) {
        precondition(position >= 0 && position <= first && count >= 0 && count <= self.count &- first)
        let base = unsafe memory.base
        for i in 0..<count { unsafe base[position &+ i] = base[first &+ i] }
    }

    /// Copies samples.
    @_noLocks @_noAllocation
    package mutating func copy(_ samples: borrowing Samples, from first: Int, to position: Int, count: Int) {
        precondition(first >= 0 && count >= 0 && count <= samples.count &- first)
        precondition(position >= 0 && count <= self.count &- position)
        let (source, target) = unsafe (samples.base + first, memory.base + position)
        for i in 0..<count { unsafe target[i] = source[i] }
    }

    /// Puts the products of samples and of the first numbers of another memory into the first numbers.
    @_noLocks @_noAllocation
    package mutating func multiply(
        _ samples: borrowing Samples, from first: Int, by factors: borrowing RenderMemory<Float>, count: Int
    ) {
        precondition(first >= 0 && count >= 0 && count <= samples.count &- first)
        precondition(count <= self.count && count <= factors.count)
        let (source, target, weights) = unsafe (samples.base + first, memory.base, factors.memory.base)
        for i in 0..<count { unsafe target[i] = source[i] * weights[i] }
    }
}

// The subscript is generic: in a debug build that compiles file by file, a function of this target that may not allocate cannot
// call it. These can be called.

extension RenderMemory<Float> {
    /// Writes one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func put(_ value: Float, at position: Int) {
        precondition(position >= 0 && position < count)
        unsafe memory.base[position] = value
    }
}

extension RenderMemory<Int32> {
    /// Returns one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func number(at position: Int) -> Int32 {
        precondition(position >= 0 && position < count)
        return unsafe memory.base[position]
    }

    /// Writes one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func put(_ value: Int32, at position: Int) {
        precondition(position >= 0 && position < count)
        unsafe memory.base[position] = value
    }
}

extension RenderMemory<UInt32> {
    /// Returns one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func number(at position: Int) -> UInt32 {
        precondition(position >= 0 && position < count)
        return unsafe memory.base[position]
    }

    /// Writes one number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func put(_ value: UInt32, at position: Int) {
        precondition(position >= 0 && position < count)
        unsafe memory.base[position] = value
    }
}
