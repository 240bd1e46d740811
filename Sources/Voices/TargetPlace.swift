package import RenderCore

/// Something that a target is to do.
enum TargetAction: BitwiseCopyable {
    case begin(TargetNote)
    case end(TargetNote)
    case send(MIDIMessage)
}

/// A target behind one indirect call, without a count.
@safe package class TargetSlot: @unchecked Sendable {
    // Unchecked because its one subclass holds nothing but its target, which is Sendable.

    /// The target itself, by which it is told from others.
    var identity: UInt { 0 }

    /// The place by which a render thread reaches it, for as long as the slot lives.
    package var place: TargetPlace { TargetPlace(self) }

    func act(_ action: TargetAction, _ frame: Int, _ context: borrowing RenderContext) -> Bool { true }
}

extension NoteTarget {
    /// Makes a slot for this target.
    package func makeSlot() -> TargetSlot { TargetSlotOf(self) }
}

private final class TargetSlotOf<Target: NoteTarget>: TargetSlot, @unchecked Sendable {
    // Unchecked because the target is Sendable, and never another one.
    private let target: Target
    init(_ target: Target) { self.target = target }

    override var identity: UInt { UInt(bitPattern: ObjectIdentifier(target)) }

    override func act(_ action: TargetAction, _ frame: Int, _ context: borrowing RenderContext) -> Bool {
        switch action {
        case .begin(let note): target.begin(note, inFrame: frame, context)
        case .end(let note): target.end(note, inFrame: frame, context)
        case .send(let message): target.send(message, inFrame: frame, context)
        }
    }
}

/// The place of a ``TargetSlot``. Who keeps a place keeps the slot alive for as long as a render thread may use it.
@safe package struct TargetPlace: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because the slot is Sendable, and the reference is never changed.
    private let slot: Unmanaged<TargetSlot>
    private let identity: UInt

    init(_ slot: TargetSlot) {
        unsafe self.slot = .passUnretained(slot)
        identity = slot.identity
    }

    /// Returns whether both lead to the same target, for two tracks perhaps.
    @_noLocks @_noAllocation
    package func isSame(as other: TargetPlace) -> Bool { identity == other.identity }

    @_noLocks @_noAllocation
    package func begin(_ note: TargetNote, _ frame: Int, _ context: borrowing RenderContext) -> Bool {
        unsafe call(slot, .begin(note), frame, context)
    }

    @_noLocks @_noAllocation
    package func end(_ note: TargetNote, _ frame: Int, _ context: borrowing RenderContext) -> Bool {
        unsafe call(slot, .end(note), frame, context)
    }

    @_noLocks @_noAllocation
    package func send(_ message: MIDIMessage, _ frame: Int, _ context: borrowing RenderContext) -> Bool {
        unsafe call(slot, .send(message), frame, context)
    }
}

// The compiler cannot follow this call: what a target does is the watchdog's to judge.

@_semantics("no_performance_analysis") @inline(never)
private func call(
    _ slot: Unmanaged<TargetSlot>, _ action: TargetAction, _ frame: Int, _ context: borrowing RenderContext
) -> Bool {
    unsafe slot._withUnsafeGuaranteedRef { $0.act(action, frame, context) }
}
