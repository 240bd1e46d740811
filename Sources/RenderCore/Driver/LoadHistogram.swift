internal import Synchronization

/// A histogram of cycle loads: the render thread writes it, any thread may read it.
package final class LoadHistogram: Sendable {
    // Steps of 1/8 of a power of two from 1/8192 of the cycle to 16 cycles: within 9 % of the true value.
    private let counts = Atomics()
    private let cycles = Atomic<Int>(0)
    private let missed = Atomic<Int>(0)
    private let lastMissed = Atomic<Int64>(.min)
    private let maximum = Atomic<UInt64>(0)

    /// 136 counters on the heap.
    @safe private final class Atomics: @unchecked Sendable {
        // Unchecked because the memory holds atomics only.
        let values: UnsafeMutablePointer<Atomic<Int>>
        let count = 17 * 8
        init() {
            unsafe values = .allocate(capacity: count)
            for index in 0..<count { unsafe (values + index).initialize(to: Atomic(0)) }
        }
        deinit { unsafe values.deallocate() }
        func add(at index: Int) { unsafe values[index].wrappingAdd(1, ordering: .relaxed) }
        func value(at index: Int) -> Int { unsafe values[index].load(ordering: .relaxed) }
        func clear() { for index in 0..<count { unsafe values[index].store(0, ordering: .relaxed) } }
    }

    package init() {}

    /// Notes a cycle. On the render thread.
    package func add(load: Double) {
        cycles.wrappingAdd(1, ordering: .relaxed)
        if load > Double(bitPattern: maximum.load(ordering: .relaxed)) {
            maximum.store(load.bitPattern, ordering: .relaxed)
        }
        // The exponent and three bits behind it: the logarithm in steps of 1/8, as the histogram needs it.
        let scaled = max(load, 0x1p-13).bitPattern &>> 49
        let index = Int(scaled) &- Int((0x1p-13).bitPattern &>> 49)
        counts.add(at: max(0, min(counts.count - 1, index)))
    }

    /// Notes a missed deadline. On the render thread.
    package func addMissed(at time: Int64) {
        missed.wrappingAdd(1, ordering: .relaxed)
        lastMissed.store(time, ordering: .relaxed)
    }

    package func clear() {
        counts.clear()
        cycles.store(0, ordering: .relaxed)
        missed.store(0, ordering: .relaxed)
        lastMissed.store(.min, ordering: .relaxed)
        maximum.store(0, ordering: .relaxed)
    }

    package var statistics: OutputStatistics {
        var result = OutputStatistics()
        result.cycles = cycles.load(ordering: .relaxed)
        result.missedDeadlines = missed.load(ordering: .relaxed)
        let last = lastMissed.load(ordering: .relaxed)
        result.lastMissedDeadline = last == .min ? nil : last
        result.loadMaximum = Double(bitPattern: maximum.load(ordering: .relaxed))
        result.loadMedian = min(quantile(0.5), result.loadMaximum)
        result.loadP99 = min(quantile(0.99), result.loadMaximum)
        return result
    }

    /// Returns the upper edge of the step in which the quantile lies.
    private func quantile(_ part: Double) -> Double {
        let values = (0..<counts.count).map { counts.value(at: $0) }
        let wanted = Double(values.reduce(0, +)) * part
        guard wanted > 0 else { return 0 }
        var sum = 0.0
        for (index, value) in values.enumerated() {
            sum += Double(value)
            if sum >= wanted { return Double(bitPattern: ((0x1p-13).bitPattern &>> 49 + UInt64(index) + 1) &<< 49) }
        }
        return 0
    }
}
