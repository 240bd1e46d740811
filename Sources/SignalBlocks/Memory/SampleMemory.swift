/// Samples that a transform owns: allocated in `init`, zero at first, freed with their owner.
///
/// Concrete where a memory of any element would do, because a debug build refuses generic accessors in annotated code;
/// and in units of four, the width of the vectors that every 64-bit machine has.
@safe struct SampleMemory: ~Copyable, Sendable {
    private let memory: AlignedMemory<Float>
    let count: Int

    init(count: Int) {
        demand(count >= 0, "SampleMemory: \(count) samples; it must be 0 or more")
        memory = AlignedMemory(count: count)
        self.count = count
    }

    var base: UnsafeMutablePointer<Float> { @_noLocks @_noAllocation get { unsafe memory.base } }

    var span: MutableSpan<Float> {
        @_noLocks @_noAllocation @_lifetime(&self) mutating get {
            let span = unsafe MutableSpan(_unsafeStart: base, count: count)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    var samples: Samples {
        @_noLocks @_noAllocation @_lifetime(borrow self) borrowing get {
            let view = unsafe Samples(base, count: count)
            return unsafe _overrideLifetime(view, borrowing: self)
        }
    }

    subscript(_ position: Int) -> Float {
        @_noLocks @_noAllocation @inline(__always) get {
            precondition(UInt(bitPattern: position) < UInt(bitPattern: count))
            return unsafe base[position]
        }
        @_noLocks @_noAllocation @inline(__always) set {
            precondition(UInt(bitPattern: position) < UInt(bitPattern: count))
            unsafe base[position] = newValue
        }
    }

    /// Returns four neighbouring samples from `position` on, at any alignment.
    @_noLocks @_noAllocation
    @inline(__always) func vector4(at position: Int) -> SIMD4<Float> {
        precondition(position >= 0 && position <= count &- 4)
        return unsafe UnsafeRawPointer(base + position).loadUnaligned(as: SIMD4<Float>.self)
    }

    /// Writes four neighbouring samples from `position` on, at any alignment.
    @_noLocks @_noAllocation
    @inline(__always) mutating func store(_ vector: SIMD4<Float>, at position: Int) {
        precondition(position >= 0 && position <= count &- 4)
        unsafe UnsafeMutableRawPointer(base + position).storeBytes(of: vector, as: SIMD4<Float>.self)
    }
}
