/// A module behind one indirect call, without a reference count: an element of lists of different modules.
///
/// An `any Module` is retained and released at each call; a slot held by `Unmanaged` is not.
@usableFromInline package class ModuleSlot {
    package func run(_ context: inout RenderContext) {}
    package func isKnown(_ context: inout RenderContext) -> Bool { false }
    func isHere(_ context: borrowing RenderContext) -> Bool { false }
    func reset(_ context: inout RenderContext) {}
    package func isActive(_ context: borrowing RenderContext) -> Bool { false }
    func refuseNesting(_ context: inout RenderContext) {}
    func resetInItsName(_ context: inout RenderContext) {}
}

@safe final class ModuleSlotOf<M: Module>: ModuleSlot {
    private let module: M
    // Kept, because asking a module of a type that is not known here is a call.
    private let effect: StackEffect
    private let identity: UnsafeRawPointer

    init(_ module: M) {
        self.module = module
        effect = module.stackEffect
        unsafe identity = UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
    }

    override func run(_ context: inout RenderContext) { unsafe context.run(module, effect, identity) }
    override func isKnown(_ context: inout RenderContext) -> Bool { context.knows(module) }
    override func isHere(_ context: borrowing RenderContext) -> Bool { unsafe context.holds(identity) }
    override func reset(_ context: inout RenderContext) { module.reset(&context) }
    override func isActive(_ context: borrowing RenderContext) -> Bool { unsafe context.isActive(module, identity) }
    override func refuseNesting(_ context: inout RenderContext) { context.refuseNesting(effect) }
    override func resetInItsName(_ context: inout RenderContext) { context.reset(module) }
}

extension Module {
    /// Returns the module in a slot of its own type.
    ///
    /// - Parameter kind: The effect that it must have there; by default it may have any.
    package func makeSlot(as kind: StackEffect? = nil) -> ModuleSlot {
        if let kind, !isOf(kind) { return MisfitSlot(self, kind) }
        return ModuleSlotOf(self)
    }
}
