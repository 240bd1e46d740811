internal import Synchronization

/// Faults on their way from the render thread to the control side: a ring of plain values, and how many there were.
@safe final class FaultLog: @unchecked Sendable {
    // Unchecked because a place belongs to the render thread until `written` passes it, then to the control side until
    // `read` does.
    private static var places: Int { 512 }
    private let ring: UnsafeMutablePointer<FaultRecord>
    private let written = Atomic<Int>(0)
    private let read = Atomic<Int>(0)
    /// All faults there have been, those that found no place included.
    let total = Atomic<Int>(0)

    /// Calls of a renderer that was rendering: they come from another thread than everything in the ring.
    private let busy = Atomic<Int>(0)

    init() {
        unsafe ring = .allocate(capacity: Self.places)
        unsafe ring.initialize(
            repeating: FaultRecord(
                kind: .overflow, operation: .push, isInside: false, module: -1, wanted: 0, found: 0, sampleTime: 0),
            count: Self.places)
    }

    deinit { unsafe ring.deallocate() }

    /// On the render thread.
    func add(_ record: FaultRecord) {
        total.wrappingAdd(1, ordering: .relaxed)
        let place = written.load(ordering: .relaxed)
        guard place - read.load(ordering: .acquiring) < Self.places else { return }
        unsafe ring[place % Self.places] = record
        written.store(place + 1, ordering: .releasing)
    }

    /// On a render thread that came while another one was in its cycle.
    func addBusy() {
        total.wrappingAdd(1, ordering: .relaxed)
        busy.wrappingAdd(1, ordering: .relaxed)
    }

    /// On the control side, one thread at a time: those that came since the last call, equal ones in one.
    func take(at sampleTime: Int64, name: (Int32) -> String?) -> [Fault] {
        var faults: [Fault] = []
        let busyCount = busy.exchange(0, ordering: .relaxed)
        if busyCount > 0 {
            let record = FaultRecord(
                kind: .busyRenderer, operation: .cycle, isInside: false, module: -1, wanted: 0, found: 0,
                sampleTime: sampleTime)
            faults.append(record.named(nil, count: busyCount))
        }
        var place = read.load(ordering: .relaxed)
        let end = written.load(ordering: .acquiring)
        while place < end {
            let record = unsafe ring[place % Self.places]
            place += 1
            read.store(place, ordering: .releasing)
            let module = name(record.module)
            let isInside = record.isInside && module != nil
            if let same = faults.firstIndex(where: {
                $0.kind == record.kind && $0.operation == record.operation && $0.module == module
                    && $0.isInsideModule == isInside
            }) {
                faults[same].count += 1
            } else {
                faults.append(record.named(module))
            }
        }
        return faults
    }
}
