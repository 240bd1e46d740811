public import Synchronization

/// A parameter's value, glide and settings. On the heap, so that a transaction can hold on to them; what the render thread
/// reads in each slice fills one line of its cache, and a module has nothing but the address.
@safe @usableFromInline struct ParameterCell: ~Copyable, Sendable {
    /// What the render thread sees; behind ``requested`` while a transaction is under way.
    @usableFromInline let published: Atomic<UInt64>

    // What is nearly always so, written by the render thread when a glide is over: what was published then, the renderer's
    // rate (its bits), and the value that the two stand for.
    @usableFromInline let restWord = Atomic<UInt64>(.max)
    @usableFromInline let restRate = Atomic<UInt64>(0)
    @usableFromInline let restValue = Atomic<UInt32>(0)

    // The glide, written by the render thread when a new value is first seen.
    /// The frame at which it began; `.min` at rest, `.max` before the first slice (then a value is taken, not glided to).
    let glideStart = Atomic<Int64>(.max)
    let glideTo: Atomic<UInt32>
    let glideFrom: Atomic<UInt32>
    let glideLength = Atomic<Int32>(0)

    /// The greatest value by the sample rate; infinite where there is no such limit.
    @usableFromInline let rateFactor: Float
    let glideSeconds: Double

    /// What control code has asked for: a version in the upper half, the value's bits in the lower.
    let requested: Atomic<UInt64>
    /// How often a value was no number and was ignored.
    let ignored = Atomic<Int>(0)
    /// The parameter itself, and the transactions that will still write to it.
    let holders = Atomic<Int>(1)

    let settings: Settings

    /// What a parameter is made with.
    struct Settings: Sendable {
        let initialValue: Float
        let range: ClosedRange<Float>
        let unit: Parameter.Unit
        let glide: Parameter.Curve
        let limit: Parameter.RateLimit?
    }

    init(_ settings: Settings) {
        let bits = settings.initialValue.bitPattern
        published = Atomic(UInt64(bits))
        requested = Atomic(UInt64(bits))
        glideFrom = Atomic(bits)
        glideTo = Atomic(bits)
        rateFactor = settings.limit?.factor ?? .infinity
        glideSeconds = settings.glide.duration.seconds
        self.settings = settings
    }

    /// On the heap, at the beginning of a line of the cache.
    static func make(_ settings: Settings) -> UnsafeMutablePointer<ParameterCell> {
        let size = MemoryLayout<ParameterCell>.size
        let cell = unsafe UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
            .bindMemory(to: ParameterCell.self, capacity: 1)
        unsafe cell.initialize(to: ParameterCell(settings))
        return unsafe cell
    }

    /// What was published, as far as the sample rate allows it.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) func value(_ word: UInt64, rate: Double) -> Float {
        let value = Float(bitPattern: UInt32(truncatingIfNeeded: word))
        // Asked first: what follows then need not wait for the product.
        if rateFactor == .infinity { return value }
        let limit = Float(rate) * rateFactor
        return value < limit ? value : limit
    }

    /// Keeps what the value is from now on, until another one is published or the rate changes.
    @_noLocks @_noAllocation
    func rest(at value: Float, _ word: UInt64, rate: Double) {
        restWord.store(word, ordering: .relaxed)
        restRate.store(rate.bitPattern, ordering: .relaxed)
        restValue.store(value.bitPattern, ordering: .relaxed)
        glideStart.store(.min, ordering: .relaxed)
    }

    /// A new value of the next version.
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

    /// Shows a value to the render thread, unless a newer one is shown already. Any thread.
    @_noLocks @_noAllocation
    func publish(_ new: UInt64) {
        var old = published.load(ordering: .relaxed)
        // Versions wrap; the newer of two is the one less than half the range ahead.
        while Int32(truncatingIfNeeded: (new &>> 32) &- (old &>> 32)) > 0 {
            let (exchanged, original) = published.weakCompareExchange(
                expected: old, desired: new, ordering: .acquiringAndReleasing)
            if exchanged { return }
            old = original
        }
    }
}

/// A cell that somebody holds.
@safe struct ParameterReference: @unchecked Sendable {
    // Unchecked because the cell is atomics only.
    let cell: UnsafeMutablePointer<ParameterCell>

    func retain() { unsafe cell.pointee.holders.wrappingAdd(1, ordering: .relaxed) }

    func release() {
        if unsafe cell.pointee.holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            unsafe cell.deinitialize(count: 1)
            unsafe cell.deallocate()
        }
    }
}
