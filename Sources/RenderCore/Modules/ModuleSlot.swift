/// A module behind one indirect call, without a reference count: what lists of different modules are made of.
///
/// An `any Module` is retained and released at each call; a slot held by `Unmanaged` is not.
@usableFromInline class ModuleSlot {
    func run(_ context: inout RenderContext) {}
    func isKnown(_ context: inout RenderContext) -> Bool { false }
    func reset(_ context: inout RenderContext) {}
    func isActive(_ context: inout RenderContext) -> Bool { false }
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
    override func reset(_ context: inout RenderContext) { module.reset(&context) }
    override func isActive(_ context: inout RenderContext) -> Bool { context.isActive(module) }
    override func resetInItsName(_ context: inout RenderContext) { context.reset(module) }
}

extension Module {
    /// The module in a slot of its own type.
    func makeSlot() -> ModuleSlot { ModuleSlotOf(self) }
}
