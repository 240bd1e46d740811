internal import Synchronization

/// The parts of a parameter besides its cell: its glide, its settings, and the value that control code has asked for.
/// They are on the heap, so that a transaction can hold on to them.
@safe struct ParameterDetails: ~Copyable, @unchecked Sendable {
    // Unchecked because of the address of a count, which is set before another thread has the parameter.
    // The glide, written by the render thread when a new value is first seen.
    /// The frame at which it began; `.min` at rest, `.max` before the first slice (then a value is taken, not glided to).
    let glideStart = Atomic<Int64>(.max)
    let glideTo: Atomic<UInt32>
    let glideFrom: Atomic<UInt32>
    let glideLength = Atomic<Int32>(0)
    // The motion with which a smooth glide began, by frames.
    let glideVelocity = Atomic<UInt32>(0)
    let glideBend = Atomic<UInt32>(0)

    /// The address of the ``DrivenGlide`` that gives the values; 0 while nothing drives the parameter.
    let driven = Atomic<UInt>(0)

    /// The value that control code has asked for: a version in the upper half, the value's bits in the lower.
    let requested: Atomic<UInt64>
    /// The number of times that a value was no number and was ignored.
    let ignored = Atomic<Int>(0)
    /// The count of the parameter's changes, if there is one.
    var changes: UnsafeMutablePointer<ChangeCount.Memory>?
    /// The parameter itself, and the transactions that will still write to it.
    let holders = Atomic<Int>(1)

    let settings: Settings
    let glideSeconds: Double

    /// The settings that a parameter is made with.
    struct Settings: Sendable {
        let initialValue: Float
        let range: ClosedRange<Float>
        let unit: Parameter.Unit
        let glide: Parameter.Curve
        let limit: Parameter.RateLimit?
    }

    init(_ settings: Settings) {
        let bits = settings.initialValue.bitPattern
        requested = Atomic(UInt64(bits))
        glideFrom = Atomic(bits)
        glideTo = Atomic(bits)
        glideSeconds = settings.glide.duration.seconds
        self.settings = settings
    }

    deinit { if let changes = unsafe changes { unsafe ChangeCount.release(changes) } }

    /// Stores a new value with the next version, and returns both.
    @_noLocks @_noAllocation
    func request(_ value: Float) -> UInt64 {
        var old = requested.load(ordering: .relaxed)
        while true {
            let new = ((old &>> 32) &+ 1) &<< 32 | UInt64(value.bitPattern)
            let (exchanged, original) = requested.weakCompareExchange(
                expected: old, desired: new, ordering: .acquiringAndReleasing)
            if exchanged { return new }
            old = original
        }
    }
}

/// A reference that keeps a parameter alive.
@safe struct ParameterHandle: @unchecked Sendable {
    // Unchecked because the cell is atomics, and the details are too but for settings that never change.
    let cell: UnsafeMutablePointer<ParameterCell>
    var details: UnsafeMutablePointer<ParameterDetails> {
        @_noLocks @_noAllocation get { unsafe ParameterCells.details(cell) }
    }

    @_noLocks @_noAllocation
    init(cell: UnsafeMutablePointer<ParameterCell>) { unsafe self.cell = cell }

    /// Creates a new parameter, held once.
    init(_ settings: ParameterDetails.Settings) {
        let details = UnsafeMutablePointer<ParameterDetails>.allocate(capacity: 1)
        unsafe details.initialize(to: ParameterDetails(settings))
        unsafe cell = ParameterCells.make(
            settings.initialValue.bitPattern, rateFactor: settings.limit?.factor ?? .infinity, details)
    }

    /// Shows a value to the render thread, unless a newer one is shown already. Any thread.
    @_noLocks @_noAllocation
    func publish(_ word: UInt64) {
        unsafe cell.pointee.publish(word)
        if let changes = unsafe details.pointee.changes { unsafe ChangeCount.add(to: changes) }
    }

    func count(in count: borrowing ChangeCount) {
        let old = unsafe details.pointee.changes
        unsafe details.pointee.changes = count.reference
        if let old = unsafe old { unsafe ChangeCount.release(old) }
    }

    func retain() { unsafe details.pointee.holders.wrappingAdd(1, ordering: .relaxed) }

    func release() {
        let details = unsafe self.details
        if unsafe details.pointee.holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            unsafe ParameterCells.free(cell)
            unsafe details.deinitialize(count: 1)
            unsafe details.deallocate()
        }
    }
}
