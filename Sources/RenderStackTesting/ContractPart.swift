internal import CAllocationCounter
internal import RealtimeWatch

/// One promise of a module, which a ``ModuleContract`` judges.
///
/// Threads: control.
public enum ContractPart: String, Sendable, CaseIterable {
    /// The module sounds the same, sample for sample, whatever the lengths of the cycles are.
    case cycleLengths
    /// After a reset the module does what it did when it was new.
    case reset
    /// With its identity setting the module lets the sound through as it is: see ``ModuleContract/transparent(_:)``.
    case transparency
    /// A sample that is not a number makes one fault, and the module sounds again afterwards.
    case notANumber
    /// After its tail the module makes zeros of silence.
    case silence
    /// The module neither allocates nor frees memory on the render thread.
    case allocation
    /// The sound comes out as many frames later as the module declares.
    case latency
    /// Each of `Module.parameters` is heard, and moves without a step.
    case parameters

    /// Indicates whether this program can judge the part: it always can, but for ``allocation``. A `malloc` of the
    /// program's own counts memory, and no sanitizer lets that in; there the watchdog (`rtwatch`) has to run.
    public var isPossible: Bool { self != .allocation || AllocationWatch.best != .none }
}

/// The ways to see an allocation.
package enum AllocationWatch: Sendable {
    /// The program's own `malloc`.
    case counter
    /// `rtwatch`, which the program runs under.
    case watchdog
    /// Nothing.
    case none

    /// The best that there is.
    package static var best: AllocationWatch {
        allocation_counter_works() != 0 ? .counter : RealtimeWatch.isPresent ? .watchdog : .none
    }

    /// Returns the number of calls of the allocator that a closure makes on this thread, frees included; `nil` if nothing counts
    /// them.
    func calls(in body: () -> Void) -> Int? {
        switch self {
        case .counter:
            allocation_counter_begin()
            body()
            return allocation_counter_end()
        case .watchdog:
            // Another program could have ended between the two questions.
            guard let found = try? realtimeViolations(body) else { return nil }
            return Int(clamping: found.blocks)
        case .none:
            body()
            return nil
        }
    }
}
