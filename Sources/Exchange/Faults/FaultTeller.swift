/// Tells faults, but not each: the first of a kind at once, its like from the same module together once a second.
///
/// A fault that a render loop makes, it makes in every cycle.
package struct FaultTeller {
    private struct Kind: Hashable {
        let kind: Fault.Kind
        let operation: Fault.Operation
        let module: String?
        let isInsideModule: Bool
    }
    private struct Told {
        var time: Int64
        var waiting: Fault?
    }
    private var kinds: [Kind: Told] = [:]
    private static let pause: Int64 = 1_000_000_000

    package init() {}

    /// Indicates whether some faults have not been reported yet.
    package var isWaiting: Bool { kinds.values.contains { $0.waiting != nil } }

    /// Takes new faults and returns those that are due to be reported now.
    ///
    /// - Parameter isEnd: `true` if there is no later call for those that wait.
    package mutating func merge(_ faults: [Fault], at now: Int64, isEnd: Bool = false) -> [Fault] {
        var due: [Fault] = []
        for fault in faults {
            let kind = Kind(
                kind: fault.kind, operation: fault.operation, module: fault.module, isInsideModule: fault.isInsideModule
            )
            if var told = kinds[kind] {
                var waiting = told.waiting ?? fault
                if told.waiting != nil { waiting.count += fault.count }
                told.waiting = waiting
                kinds[kind] = told
            } else {
                kinds[kind] = Told(time: now)
                due.append(fault)
            }
        }
        for (kind, told) in kinds where isEnd || now - told.time >= Self.pause {
            if let fault = told.waiting {
                due.append(fault)
                kinds[kind] = Told(time: now)
            } else {
                kinds[kind] = nil
            }
        }
        return due
    }
}
