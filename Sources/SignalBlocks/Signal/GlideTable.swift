internal import Synchronization

/// The values of a parameter over the frames of a slice, one by one, where no formula of a ``Glide`` says them.
///
/// Its memory goes from one table to the next and is never given back, and its values are atomics: a ``Glide`` that somebody
/// keeps beyond its slice, or reads on another thread, finds other values there, and nothing worse.
@safe package struct GlideTable: ~Copyable, Sendable {
    /// The values.
    package let places: Places

    /// The values of a table, which live as long as that.
    @safe package struct Places: @unchecked Sendable {
        // Unchecked because behind the pointer is nothing but atomics.
        fileprivate let values: UnsafeMutablePointer<Atomic<UInt32>>
        /// The number of values that there is room for.
        package let capacity: Int
    }

    /// The memory that no table has.
    private static let free = Lock<[Places]>([])

    /// Creates a table of some values at least.
    package init(count: Int) {
        let wanted = max(64, count)
        let old = GlideTable.free.withLock { free in
            free.firstIndex { $0.capacity >= wanted }.map { free.remove(at: $0) }
        }
        if let old {
            places = old
            return
        }
        let values = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: wanted)
        for i in 0..<wanted { unsafe (values + i).initialize(to: Atomic(0)) }
        places = unsafe Places(values: values, capacity: wanted)
    }

    deinit {
        let places = places
        GlideTable.free.withLock { $0.append(places) }
    }

    @_noLocks @_noAllocation
    static func value(at place: Int, in address: UInt) -> Float {
        guard let values = unsafe UnsafeMutablePointer<Atomic<UInt32>>(bitPattern: address) else { return 0 }
        return unsafe Float(bitPattern: values[place < 0 ? 0 : place].load(ordering: .relaxed))
    }
}

extension GlideTable.Places {
    /// The place of the values, for a ``Glide``.
    package var address: UInt { @_noLocks @_noAllocation get { unsafe UInt(bitPattern: values) } }

    /// The value at a place, or at the nearest one that there is.
    package subscript(_ place: Int) -> Float {
        @_noLocks @_noAllocation get { GlideTable.value(at: place < capacity ? place : capacity &- 1, in: address) }
    }

    /// Sets a value. A place that does not exist gets none.
    @_noLocks @_noAllocation
    package func set(_ place: Int, _ value: Float) {
        if place < 0 || place >= capacity { return }
        unsafe values[place].store(value.bitPattern, ordering: .relaxed)
    }
}

extension GlideMotion {
    /// The address of a table, in the place of a motion.
    @_noLocks @_noAllocation
    init(_ address: UInt) {
        velocity = Float(bitPattern: UInt32(truncatingIfNeeded: address))
        bend = Float(bitPattern: UInt32(truncatingIfNeeded: address &>> 32))
    }

    var address: UInt {
        @_noLocks @_noAllocation get { UInt(velocity.bitPattern) | UInt(bend.bitPattern) &<< 32 }
    }
}
