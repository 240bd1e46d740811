package import Synchronization

/// Faults on their way from the render thread to the control side: a ring of plain values, and how many there were.
package final class FaultLog: Sendable {
    private let ring = PlainRing(
        capacity: 512,
        filledWith: FaultRecord(
            kind: .overflow, operation: .push, isInside: false, module: -1, wanted: 0, found: 0, sampleTime: 0))
    /// All faults there have been, those that found no place included.
    package let total = Atomic<Int>(0)

    /// Calls of a renderer that was rendering: they come from another thread than everything in the ring.
    private let busy = Atomic<Int>(0)

    package init() {}

    /// Adds a fault. On the render thread.
    package func add(_ record: FaultRecord) {
        total.wrappingAdd(1, ordering: .relaxed)
        ring.add(record)
    }

    /// Adds the fault of a render thread that came while another one was in its cycle.
    package func addBusy() {
        total.wrappingAdd(1, ordering: .relaxed)
        busy.wrappingAdd(1, ordering: .relaxed)
    }

    /// Cycles whose block had no room for their frames, and what the last of them asked for and found. They too may come
    /// from any thread.
    private let short = Atomic<Int>(0)
    private let shortWanted = Atomic<Int>(0)
    private let shortFound = Atomic<Int>(0)

    /// Adds the fault of a caller whose block has no room for the frames that it asks for.
    package func addShort(wanted: Int, found: Int) {
        total.wrappingAdd(1, ordering: .relaxed)
        shortWanted.store(wanted, ordering: .relaxed)
        shortFound.store(found, ordering: .relaxed)
        short.wrappingAdd(1, ordering: .releasing)
    }

    /// Takes the faults that came since the last call, equal ones in one. On the control side, one thread at a time.
    package func take(at sampleTime: Int64, name: (Int32) -> String?) -> [Fault] {
        var faults: [Fault] = []
        func addCycles(_ kind: Fault.Kind, _ count: Int, wanted: Int = 0, found: Int = 0) {
            if count == 0 { return }
            let record = FaultRecord(
                kind: kind, operation: .cycle, isInside: false, module: -1, wanted: wanted, found: found,
                sampleTime: sampleTime)
            faults.append(record.named(nil, count: count))
        }
        addCycles(.busyRenderer, busy.exchange(0, ordering: .relaxed))
        let shortCount = short.exchange(0, ordering: .acquiring)
        addCycles(
            .badCycle, shortCount, wanted: shortWanted.load(ordering: .relaxed),
            found: shortFound.load(ordering: .relaxed))
        for _ in 0..<ring.count {
            guard let record = ring.first else { break }
            ring.drop()
            let module = name(record.module)
            let isInside = record.isInside && module != nil
            if let same = faults.firstIndex(where: {
                $0.kind == record.kind && $0.operation == record.operation && $0.module == module
                    && $0.isInsideModule == isInside
                    && (record.operation != .foreignCode || $0.wanted == record.wanted && $0.found == record.found)
            }) {
                faults[same].count += 1
            } else {
                faults.append(record.named(module))
            }
        }
        return faults
    }
}
