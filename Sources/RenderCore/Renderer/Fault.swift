/// A mistake on the render thread that was made harmless: what happened, in which module, how often.
public struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// What kind of mistake.
    public enum Kind: UInt8, Sendable, Hashable, BitwiseCopyable {
        /// More buffers were pushed than the stack has slots.
        case overflow
        /// A buffer was needed that is not there.
        case underflow
        /// No buffer or output has that index.
        case wrongIndex
        /// A number of channels that cannot be had, or a channel that does not exist.
        case wrongChannels
        /// An argument that makes no sense, such as a negative count.
        case badArgument
        /// A module left the stack otherwise than it had declared.
        case unbalanced
        /// A sample was infinite or not a number; the buffer was silenced and the module reset.
        case notFinite
        /// A module that another renderer uses. It stays silent here.
        case foreignModule
        /// A state that another renderer, or another module, uses.
        case foreignState
        /// A state was used inside its own use.
        case nestedState
        /// A module that was not there in the dry run: silent until it has been prepared.
        case unprepared
        /// The renderer was called while it was rendering.
        case busyRenderer
        /// The driver gave less than it promised: too few frames, outputs or channels.
        case badCycle
    }

    /// What was being done.
    public enum Operation: UInt8, Sendable, Hashable, BitwiseCopyable {
        case push, duplicate, swap, pop, remove, mix, output, buffer, channel, withBuffers, silence, gain, pan
        case external, subBlock, run, state, cycle
    }

    /// What kind of mistake.
    public let kind: Kind
    /// What was being done.
    public let operation: Operation
    /// The name of the module, or of the one that ran last before the closure itself made the mistake.
    public let module: String?
    /// Whether it happened in that module, or in the closure after it.
    public let isInsideModule: Bool
    /// The first frame of the slice in which it happened (first).
    public let sampleTime: Int64
    /// How often it happened since it was last told.
    public internal(set) var count: Int
    let wanted: Int
    let found: Int

    /// One sentence, without a full stop.
    public var description: String { count > 1 ? "\(sentence) (\(count) times)" : sentence }

    private var sentence: String {
        let who = module ?? "a module"
        switch kind {
        case .overflow: return "\(operation)() finds all \(found) slots of the stack in use\(place)"
        case .underflow where operation == .run: return "\(who) needs \(buffers(wanted)) and finds \(buffers(found))"
        case .underflow where operation == .buffer: return "the top is asked for and the stack is empty\(place)"
        case .underflow:
            let argument = operation == .swap || operation == .duplicate ? "" : "\(wanted)"
            return "\(operation)(\(argument)) finds \(buffers(found))\(place)"
        case .wrongIndex: return "\(operation)(\(wanted)) asks for what is not there; there are \(found)\(place)"
        case .wrongChannels where operation == .channel:
            return "channel \(wanted) does not exist; the buffer has \(found)\(place)"
        case .wrongChannels:
            return
                "\(operation)() cannot have a channel or a number of channels of \(wanted); the limit is \(found)\(place)"
        case .badArgument: return "\(operation)(\(wanted)) makes no sense\(place)"
        case .unbalanced where operation == .subBlock && found == wanted:
            return "subBlock() leaves a buffer of its own in the place of one around it\(place)"
        case .unbalanced where operation == .subBlock:
            return "subBlock() leaves the stack \(found) deep and found it \(wanted) deep\(place)"
        case .unbalanced: return "\(who) leaves \(buffers(found)) and has declared \(wanted)"
        case .notFinite where isInsideModule: return "\(who) made a sample that is infinite or not a number"
        case .notFinite: return "a sample at the output is infinite or not a number"
        case .foreignModule: return "\(who) belongs to another renderer; it is silent here"
        case .foreignState: return "a state is used that belongs to another renderer or module\(place)"
        case .nestedState: return "a state is used inside its own use\(place)"
        case .unprepared:
            return "a module runs that the dry run did not meet\(place); it is silent until it is prepared"
        case .busyRenderer: return "the renderer is called while it is rendering"
        case .badCycle: return "\(found) frames are given where \(wanted) are needed\(place)"
        }
    }

    private var place: String { module.map { isInsideModule ? " in \($0)" : " after \($0)" } ?? "" }

    private func buffers(_ count: Int) -> String {
        switch count {
        case ...0: "no buffer"
        case 1: "1 buffer"
        default: "\(count) buffers"
        }
    }
}

/// A fault as the render thread writes it down.
struct FaultRecord: Sendable, BitwiseCopyable {
    let kind: Fault.Kind
    let operation: Fault.Operation
    let isInside: Bool
    let module: Int32
    let wanted: Int
    let found: Int
    let sampleTime: Int64

    @_noLocks @_noAllocation
    init(
        kind: Fault.Kind, operation: Fault.Operation, isInside: Bool, module: Int32, wanted: Int, found: Int,
        sampleTime: Int64
    ) {
        self.kind = kind
        self.operation = operation
        self.isInside = isInside
        self.module = module
        self.wanted = wanted
        self.found = found
        self.sampleTime = sampleTime
    }

    func named(_ module: String?, count: Int = 1) -> Fault {
        Fault(
            kind: kind, operation: operation, module: module, isInsideModule: isInside && module != nil,
            sampleTime: sampleTime, count: count, wanted: wanted, found: found)
    }
}
