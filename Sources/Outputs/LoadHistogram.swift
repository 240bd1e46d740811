internal import RenderCore
internal import Synchronization

/// A histogram of cycle loads: the render thread writes it, any thread may read it.
package final class LoadHistogram: Sendable {
    // Steps of 1/8 of a power of two from 1/8192 of the cycle to 16 cycles: within 9 % of the true value.
    private let counts = Atomics()
    private let cycles = Atomic<Int>(0)
    private let missed = Atomic<Int>(0)
    private let lastMissed = Atomic<Int64>(.min)
    private let maximum = Atomic<UInt64>(0)
    /// The longest of the cycles that took more than their time, since the last question, and its time; in nanoseconds.
    private let overrun = Atomic<Int64>(0)
    private let overrunLimit = Atomic<Int64>(0)

    /// A cycle that took more than its time.
    package struct Overrun: Sendable, Equatable {
        /// The time that it took, in nanoseconds.
        package let nanoseconds: Int64
        /// The time that it had.
        package let limit: Int64

        package init(nanoseconds: Int64, limit: Int64) {
            self.nanoseconds = nanoseconds
            self.limit = limit
        }

        /// A sentence for people.
        ///
        /// - Parameter slowest: The module that has taken longest in a slice so far, and how many nanoseconds: not every slice
        ///   is measured.
        package func sentence(slowest: (name: String, nanoseconds: Int64)?) -> String {
            func milliseconds(_ time: Int64) -> Double { (Double(time) / 10_000).rounded() / 100 }
            let beginning = "Your own cycle took \(milliseconds(nanoseconds)) of \(milliseconds(limit)) ms"
            guard let slowest, slowest.nanoseconds >= nanoseconds / 2 else { return beginning + "." }
            if slowest.nanoseconds <= nanoseconds { return beginning + ", most of it in \(slowest.name)." }
            return beginning + "; the slowest module so far is \(slowest.name), with "
                + "\(milliseconds(slowest.nanoseconds)) ms."
        }
    }

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

    /// Notes a cycle, and returns the share of its time that it took. On the render thread.
    ///
    /// - Parameters:
    ///   - nanoseconds: The time that it took.
    ///   - frames: Its frames.
    ///   - rate: Frames per second.
    package func add(nanoseconds: Int64, frames: Int, rate: Double) -> Double {
        let limit = Double(max(1, frames)) * 1e9 / rate
        let load = Double(nanoseconds) / limit
        add(load: load)
        if load > 1, nanoseconds > overrun.load(ordering: .relaxed) {
            // Debug builds make the type of a generic conversion in the cycle, with a lock.
            overrunLimit.store(limit < 9e18 ? Int64(limit) : .max, ordering: .relaxed)
            overrun.store(nanoseconds, ordering: .releasing)
        }
        return load
    }

    /// Returns the longest cycle since the last question that took more than its time; `nil` if none did.
    package func takeOverrun() -> Overrun? {
        let nanoseconds = overrun.exchange(0, ordering: .acquiring)
        guard nanoseconds > 0 else { return nil }
        return Overrun(nanoseconds: nanoseconds, limit: overrunLimit.load(ordering: .relaxed))
    }

    private func add(load: Double) {
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

    /// The number of missed deadlines.
    var missedCount: Int { missed.load(ordering: .relaxed) }

    package func clear() {
        counts.clear()
        cycles.store(0, ordering: .relaxed)
        missed.store(0, ordering: .relaxed)
        lastMissed.store(.min, ordering: .relaxed)
        maximum.store(0, ordering: .relaxed)
        overrun.store(0, ordering: .relaxed)
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
