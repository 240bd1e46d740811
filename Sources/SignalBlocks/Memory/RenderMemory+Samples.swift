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
