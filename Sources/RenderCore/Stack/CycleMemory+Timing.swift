internal import Synchronization

// The times of modules: which of them a slice measures, and how long they have taken.

extension CycleMemory {
    /// The number of modules that one slice measures. Two looks at the clock take as long as a small module: a slice that
    /// measured thousands of modules would be late.
    private static var timedAtOnce: Int { @_noLocks @_noAllocation get { 128 } }

    /// The number of slices that measure every module once, as a power of 2.
    var timingParts: Int { Int.bitWidth &- ((recordCount &- 1) / CycleMemory.timedAtOnce).leadingZeroBitCount }

    /// Chooses the modules that this slice measures: those behind the ones that were measured last. Returns whether they
    /// begin with the first of all.
    ///
    /// Else a mark in the key of the first one brings it, and it alone, off the short way of ``RenderContext/run(_:)``. So the
    /// modules before it, which this slice does not measure, take as long as ever.
    @_noLocks @_noAllocation
    static func beginTiming(_ core: UnsafeMutablePointer<CycleMemory>) -> Bool {
        let count = unsafe core.pointee.recordCount
        // The modules begin elsewhere in each round, because nothing is measured if the one with the mark does not run.
        let end = unsafe core.pointee.firstTimed &+ timedAtOnce
        let first = unsafe end < count ? end &- (core.pointee.timingRounds & 63) : 0
        unsafe core.pointee.firstTimed = first
        unsafe core.pointee.toTime = min(timedAtOnce, count &- first)
        if first == 0 {
            unsafe core.pointee.timingRounds &+= 1
            return true
        }
        let record = unsafe core.pointee.records + first
        // A module that the renderer does not hold yet has another key.
        let key = unsafe UInt(bitPattern: core.pointee.details[first].identity)
        if unsafe record.pointee.key.compareExchange(expected: key, desired: key | 1, ordering: .relaxed).exchanged {
            unsafe core.pointee.marked = record
        }
        return false
    }

    /// Takes the mark off a record. Returns whether it had it.
    @_noLocks @_noAllocation
    static func takeMark(
        of record: UnsafeMutablePointer<ModuleRecord>, in core: UnsafeMutablePointer<CycleMemory>
    ) -> Bool {
        guard unsafe record == core.pointee.marked else { return false }
        unsafe core.pointee.marked = nil
        _ = unsafe record.pointee.key.bitwiseAnd(~1, ordering: .relaxed)
        return true
    }

    /// Takes the mark off, in case that no module has done it in this slice.
    @_noLocks @_noAllocation
    static func endTiming(_ core: UnsafeMutablePointer<CycleMemory>) {
        if let record = unsafe core.pointee.marked { _ = unsafe takeMark(of: record, in: core) }
    }

    /// Counts a module if it is one of those that this slice measures. Returns how many are left then; `nil` if it is not.
    @_noLocks @_noAllocation
    static func countTimed(
        _ record: UnsafeMutablePointer<ModuleRecord>, in core: UnsafeMutablePointer<CycleMemory>
    ) -> Int? {
        let place = unsafe record - core.pointee.records - core.pointee.firstTimed
        guard place >= 0 && place < timedAtOnce else { return nil }
        unsafe core.pointee.toTime &-= 1
        return unsafe core.pointee.toTime
    }

    /// Keeps the longest time that the running module has taken.
    @_noLocks @_noAllocation
    func noteTime(_ nanoseconds: Int64) {
        let details = unsafe details(of: current)
        let longest = unsafe details.pointee.longest.load(ordering: .relaxed)
        if nanoseconds > longest { unsafe details.pointee.longest.store(nanoseconds, ordering: .relaxed) }
    }
}
