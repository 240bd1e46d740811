extension RenderMemory<Float> {
    /// Returns eight neighbouring numbers from `position` on, at any alignment: for tables, which are read and never
    /// written.
    @_noLocks @_noAllocation
    @inlinable public func vector8(at position: Int) -> SIMD8<Float> {
        precondition(position >= 0 && position <= count &- 8)
        return unsafe UnsafeRawPointer(memory.base + position).loadUnaligned(as: SIMD8<Float>.self)
    }

    /// Returns one number of a table.
    @_noLocks @_noAllocation
    @inlinable public func value(at position: Int) -> Float {
        precondition(position >= 0 && position < count)
        return unsafe memory.base[position]
    }
}
