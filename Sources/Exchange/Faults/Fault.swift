/// A mistake on the render thread that was made harmless: its kind, the module, and the number of times.
///
/// Threads: control.
public struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of mistakes.
    ///
    /// Threads: any.
    public enum Kind: UInt8, Sendable, Hashable, BitwiseCopyable {
        /// More buffers were pushed than the stack has slots.
        case overflow
        /// A buffer was needed that does not exist.
        case underflow
        /// No buffer or output has that index.
        case wrongIndex
        /// The number of channels is impossible, or a channel does not exist.
        case wrongChannels
        /// An argument that makes no sense, such as a negative count.
        case badArgument
        /// A module left the stack otherwise than it had declared.
        case unbalanced
        /// A sample was infinite or not a number; the buffer was silenced and the module reset.
        case notFinite
        /// Another renderer uses the module. It stays silent here.
        case foreignModule
        /// Another renderer, or another module, uses the state.
        case foreignState
        /// A state was used inside its own use.
        case nestedState
        /// A module runs, or resets, itself, or is more than 64 modules deep: it is silent there.
        case nestedModule
        /// A module is of another kind than the one that runs it needs: a mixer runs modules that push one buffer, a chain
        /// those that take one and leave one. It is silent there.
        case wrongKind
        /// A module was made inside of the render loop, which makes another one each time it runs.
        case madeInLoop
        /// The module was not met in the dry run, or is not among the members of the module that runs it: it is silent
        /// until it has been prepared.
        case unprepared
        /// The renderer was called while it was rendering, or besides the output that drives it.
        case busyRenderer
        /// The driver gave less than it promised: too few frames, outputs or channels.
        case badCycle
        /// Foreign code, such as a plug-in, wrote beyond the memory that it was given.
        case wroteBeyond
    }

    /// The operations that can raise a fault.
    ///
    /// Threads: any.
    public enum Operation: UInt8, Sendable, Hashable, BitwiseCopyable {
        case push, duplicate, swap, pop, remove, mix, output, buffer, channel, withBuffers, silence, gain, pan
        case external, subBlock, run, state, cycle, foreignCode
    }

    /// The kind of mistake.
    public let kind: Kind
    /// The operation that raised the fault.
    public let operation: Operation
    /// The name of the module, or of the one that ran last before the render loop itself made the mistake.
    public let module: String?
    /// Indicates whether the mistake happened in that module, or in the render loop after it.
    public let isInsideModule: Bool
    /// The name of the ``/RenderCore/ForeignCode`` that got or made a sample that is not finite, or wrote beyond its memory; `nil`
    /// for mistakes of other code.
    public var foreignCode: String? { operation == .foreignCode ? ForeignNames.name(wanted) : nil }
    /// The first frame of the slice in which it happened for the first time.
    public let sampleTime: Int64
    /// The number of times that it happened since the last report.
    public internal(set) var count: Int
    let wanted: Int
    let found: Int

    /// The fault in one sentence, without a full stop.
    public var description: String { count > 1 ? "\(sentence) (\(count) times)" : sentence }

    private var sentence: String {
        let who = module?.shown ?? "a module"
        switch kind {
        case .overflow: return "\(operation)() finds all \(found) slots of the stack in use\(place)"
        case .underflow where operation == .run: return "\(who) needs \(buffers(wanted)) and finds \(buffers(found))"
        case .underflow where operation == .buffer:
            return "the code asks for the top of the stack, and the stack is empty\(place)"
        case .underflow where operation == .withBuffers && isInsideModule:
            return
                "\(who) asks for \(wanted) buffers and can reach \(buffers(found)): a module reaches those that the "
                + "`pops` of its stackEffect declares"
        case .underflow:
            let argument = operation == .swap || operation == .duplicate ? "" : "\(wanted)"
            return "\(operation)(\(argument)) finds \(buffers(found))\(place)"
        case .wrongIndex:
            return "\(operation)(\(wanted)) asks for an index that does not exist; there are \(found)\(place)"
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
        case .notFinite where operation == .foreignCode:
            let code = "the foreign code \"\(ForeignNames.name(wanted).shown)\"\(place)"
            return found == 0
                ? "\(code) made a sample that is infinite or not a number; its buffers are silenced"
                : "\(code) would get a sample that is infinite or not a number; it gets silence instead"
        case .notFinite where isInsideModule: return "\(who) made a sample that is infinite or not a number"
        case .notFinite: return "a sample at the output is infinite or not a number"
        case .foreignModule: return "\(who) belongs to another renderer; it is silent here"
        case .foreignState:
            return
                "the code uses a state that belongs to another renderer or module\(place); use a SharedState for a value "
                + "that several modules share, a Parameter or a ManagedValue for a value that control code sets, and a "
                + "CommandQueue for an event that it sends"
        case .nestedState: return "the code uses a state inside of that state's own `with`\(place)"
        case .nestedModule where wanted > 0:
            return "\(who) runs a module that is more than \(wanted) modules deep; that one is silent"
        case .nestedModule: return "\(who) runs or resets itself; inside of itself it is silent"
        case .wrongKind:
            return
                "\(who) takes \(buffers(found >> 16)) and leaves \(buffers(found & 0xFFFF)); where it is, a module must take "
                + "\(buffers(wanted)) and leave 1, so it is silent there"
        case .madeInLoop:
            return
                "the render loop makes \(who) inside of itself, a new one each time it runs; make the module once, "
                + "outside, and let the render loop capture it"
        case .unprepared where isInsideModule:
            return
                "\(who) runs a module that is not among its members; it is silent until it is prepared. List it in `members`"
        case .unprepared:
            return "a module runs that the dry run did not meet\(place); it is silent until it is prepared"
        case .busyRenderer:
            return
                "something calls the renderer while it is rendering, or while an output drives it; that call gives "
                + "silence"
        case .wroteBeyond:
            return
                "the foreign code \"\(ForeignNames.name(wanted).shown)\"\(place) wrote beyond the memory of its buffers: it may have "
                + "damaged the program's own"
        case .badCycle where operation == .cycle:
            return "the caller asks for \(wanted) frames, and its block has room for \(found); the others are left out"
        case .badCycle: return "the caller gives \(found) frames where the renderer needs \(wanted)\(place)"
        }
    }

    private var place: String { module.map { isInsideModule ? " in \($0.shown)" : " after \($0.shown)" } ?? "" }

    private func buffers(_ count: Int) -> String {
        switch count {
        case ...0: "no buffer"
        case 1: "1 buffer"
        default: "\(count) buffers"
        }
    }
}

extension Fault {
    /// Returns the fault for a module that the render loop itself has made.
    package static func madeInLoop(_ name: String, at sampleTime: Int64 = 0) -> Fault {
        FaultRecord(
            kind: .madeInLoop, operation: .run, isInside: true, module: 0, wanted: 0, found: 0,
            sampleTime: sampleTime
        ).named(name)
    }
}

/// A fault as the render thread writes it down.
package struct FaultRecord: Sendable, BitwiseCopyable {
    let kind: Fault.Kind
    let operation: Fault.Operation
    let isInside: Bool
    package let module: Int32
    let wanted: Int
    let found: Int
    let sampleTime: Int64

    @_noLocks @_noAllocation
    package init(
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

    package func named(_ module: String?, count: Int = 1) -> Fault {
        Fault(
            kind: kind, operation: operation, module: module, isInsideModule: isInside && module != nil,
            sampleTime: sampleTime, count: count, wanted: wanted, found: found)
    }
}
