/// Stands for a module of another kind than the one that runs it needs, such as an effect that is to be a source of a
/// mixer: leaves silence in its place, and raises a fault in its name.
@safe final class MisfitSlot<M: Module>: ModuleSlot {
    private let module: M
    private let kind: StackEffect
    private let identity: UnsafeRawPointer

    init(_ module: M, _ kind: StackEffect) {
        self.module = module
        self.kind = kind
        unsafe identity = UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
    }

    override func run(_ context: inout RenderContext) { context.refuse(module, as: kind) }
    override func isKnown(_ context: inout RenderContext) -> Bool { context.knows(module) }
    override func isHere(_ context: borrowing RenderContext) -> Bool { unsafe context.holds(identity) }
    override func isActive(_ context: borrowing RenderContext) -> Bool { true }
}

extension Module {
    /// Returns whether the module takes and leaves as many buffers as its place demands.
    func isOf(_ kind: StackEffect) -> Bool { stackEffect.pops == kind.pops && stackEffect.pushes == kind.pushes }
}

extension RenderContext {
    /// Runs a module of another one in a dry run, where it must be of a kind.
    package mutating func show(_ module: some Module, as kind: StackEffect) {
        if module.isOf(kind) { run(module) } else { refuse(module, as: kind) }
    }

    /// Leaves silence in the place of a module that is of another kind than that place demands.
    mutating func refuse(_ module: some Module, as kind: StackEffect) {
        let found = module.stackEffect.pops << 16 | module.stackEffect.pushes
        if let dryRun = unsafe core.pointee.dryRun {
            let outer = unsafe core.pointee.dryModule
            let isPart = place != 0
            unsafe core.pointee.dryModule = dryRun._withUnsafeGuaranteedRef { $0.note(module, isPart: isPart) }
            fault(.wrongKind, .run, wanted: kind.pops, found: found)
            unsafe core.pointee.dryModule = outer
        } else {
            let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
            // Its own silence is enough: the module that runs it has not failed.
            let (failed, outer) = unsafe (core.pointee.failed, core.pointee.current)
            unsafe core.pointee.current = CycleMemory.find(identity, in: core)
            fault(.wrongKind, .run, wanted: kind.pops, found: found)
            unsafe core.pointee.current = outer
            unsafe CycleMemory.setFailed(failed, in: core)
        }
        skip(kind)
    }
}
