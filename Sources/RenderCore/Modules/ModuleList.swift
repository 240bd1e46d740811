/// Modules that come and go while they are heard: voices, players, a chain of effects.
///
///     let voices = ModuleList(mixing: 2)                   // a generator: the sum of its members
///     let chain = ModuleList(chaining: [drive, echo])      // an effect: one after the other
///     …
///     context.run(voices)
///     context.run(chain)
///     …
///     voices.append(Voice())                               // from any thread
///
/// A new member is prepared before it is heard, which may be a cycle later; one that is removed is let go of when no
/// render thread can be in it. Members that stay go on as they are. Inside ``Renderer/transaction(whenApplied:_:)`` the change is heard together with the others.
/// Members of a mixing list are generators (those that are not ``Module/isActive(_:)`` are skipped), of a chaining list
/// effects and taps. A module can be in a list once.
public final class ModuleList: CompositeModule {
    /// Pushes one buffer (a mixing list) or edits the top (a chaining one).
    public let stackEffect: StackEffect
    /// What faults and statistics call it.
    public let name: String
    private let channels: Int
    private let slots: ManagedValue<Slots>
    /// In use while the members run: a list in itself is a fault, and not the end of the thread's stack.
    private let isRunning = RenderState<Bool>(false)
    private let control: Lock<Control>
    /// Held from a change to what the render thread sees of it, so that the last change is what is heard.
    private let changing = Lock(0)

    private struct Control {
        var modules: [any Module]
        /// Members of older versions that may still be running.
        var leaving: [Int: [any Module]] = [:]
        var nextLeave = 0
        /// Which change `modules` come from.
        var version = 0
        var attached = AttachedRenderers()
    }

    /// The members as the render thread sees them: one indirect call each, no count.
    @safe private struct Slots: ~Copyable, @unchecked Sendable {
        // Unchecked because the slots are read on render threads only, and their modules are Sendable.
        let slots: UnsafeMutablePointer<Unmanaged<ModuleSlot>>
        let count: Int
        init(_ modules: [any Module]) {
            count = modules.count
            unsafe slots = .allocate(capacity: max(1, modules.count))
            for (index, module) in modules.enumerated() {
                unsafe (slots + index).initialize(to: .passRetained(module.makeSlot()))
            }
        }
        deinit {
            for index in 0..<count { unsafe slots[index].release() }
            unsafe slots.deallocate()
        }
        func run(_ index: Int, _ context: inout RenderContext, ifActive: Bool) -> Bool {
            unsafe slots[index]._withUnsafeGuaranteedRef { slot in
                if !slot.isKnown(&context) || ifActive && !slot.isActive(&context) { return false }
                slot.run(&context)
                return true
            }
        }
    }

    /// A list of generators that pushes their sum.
    ///
    /// - Parameters:
    ///   - channels: channels of the sum; silent where nobody plays.
    ///   - generators: the members at first.
    ///   - name: what faults and statistics call it.
    public init(mixing channels: Int, _ generators: [any Generator] = [], name: String = "ModuleList") {
        stackEffect = .generates
        self.name = name
        self.channels = channels
        slots = ManagedValue(Slots(generators))
        control = Lock(Control(modules: generators))
    }

    /// A list of effects and taps that run one after the other.
    ///
    /// - Parameters:
    ///   - modules: the members at first.
    ///   - name: what faults and statistics call it.
    /// - Precondition: each takes one buffer and leaves one.
    public init(chaining modules: [any Module], name: String = "ModuleList") {
        Self.checkChain(modules)
        stackEffect = .edits
        self.name = name
        channels = 0
        slots = ManagedValue(Slots(modules))
        control = Lock(Control(modules: modules))
    }

    // MARK: Control side

    /// The members, in order. Setting it is one change, from any thread.
    public var modules: [any Module] {
        get { control.withLock { $0.modules } }
        set { update { $0 = newValue } }
    }

    /// How many members there are.
    public var count: Int { modules.count }

    /// A member; `nil` if there are not so many.
    public subscript(_ index: Int) -> (any Module)? {
        let modules = self.modules
        return modules.indices.contains(index) ? modules[index] : nil
    }

    /// The position of a module; `nil` if it is not a member.
    public func index(of module: any Module) -> Int? { modules.firstIndex { $0 === module } }

    /// Whether a module is a member.
    public func contains(_ module: any Module) -> Bool { index(of: module) != nil }

    /// Adds a member at the end, unless it is one.
    public func append(_ module: any Module) {
        update { modules in if !modules.contains(where: { $0 === module }) { modules.append(module) } }
    }

    /// Removes a member.
    public func remove(_ module: any Module) { update { $0.removeAll { $0 === module } } }

    /// Removes all members.
    public func removeAll() { update { $0 = [] } }

    /// Puts a module in the place of another; does nothing if that one is not a member.
    public func replace(_ old: any Module, with new: any Module) {
        update { modules in
            if let index = modules.firstIndex(where: { $0 === old }) { modules[index] = new }
        }
    }

    /// Changes the members in one step.
    ///
    /// - Parameters:
    ///   - change: what is to be changed.
    ///   - released: called on the control side when the old list is no longer in use.
    public func update(
        _ change: (inout [any Module]) -> Void, whenOldIsReleased released: (@Sendable () -> Void)? = nil
    ) {
        let retire = changing.withLock { _ in
            let (modules, old, number, oldVersion, renderers) = control.withLock { control in
                let (old, oldVersion) = (control.modules, control.version)
                change(&control.modules)
                control.nextLeave += 1
                control.version = control.nextLeave
                control.leaving[control.nextLeave] = old
                return (control.modules, old, control.nextLeave, oldVersion, control.attached.renderers)
            }
            if channels == 0 { Self.checkChain(modules) }
            // First the renderers learn of the new members, then they are heard, then the old ones are let go of.
            for renderer in renderers { renderer.refreshModules() }
            return slots.exchange(
                Slots(modules), isInOrder: true,
                whenOldIsFreed: { [weak self] in
                    self?.leave(number)
                    released?()
                },
                undo: { [weak self] in
                    self?.control.withLock { control in
                        // Whoever has changed the list since has built on this.
                        if control.version == number { (control.modules, control.version) = (old, oldVersion) }
                    }
                    self?.leave(number)
                })
        }
        retire()
    }

    private func leave(_ number: Int) {
        let renderers = control.withLock { control in
            control.leaving[number] = nil
            return control.attached.renderers
        }
        // The loop's table is made anew once for all that have left in the meantime.
        for renderer in renderers { renderer.refreshModulesSoon() }
    }

    private static func checkChain(_ modules: [any Module]) {
        for module in modules {
            precondition(
                module.stackEffect.pops == 1 && module.stackEffect.pushes == 1,
                "ModuleList: \(module.name) cannot be in a chain; a chain takes effects and taps")
        }
    }

    // MARK: Render thread

    /// Runs the members.
    public func process(_ context: inout RenderContext) {
        isRunning.with(&context) { _, context in runMembers(&context) }
    }

    private func runMembers(_ context: inout RenderContext) {
        slots.with(&context) { slots, context in
            if channels == 0 {
                for index in 0..<slots.count { _ = slots.run(index, &context, ifActive: false) }
            } else {
                context.push(channels: channels)
                for index in 0..<slots.count where slots.run(index, &context, ifActive: true) {
                    context.addTopToNext()
                }
            }
        }
    }

    // MARK: Composite

    package var members: [any Module] {
        control.withLock { control in control.leaving.values.reduce(control.modules, +) }
    }

    package var arrangement: ModuleArrangement { channels == 0 ? .chain(modules) : .parallel(modules) }

    package func dryRun(_ context: inout RenderContext) { process(&context) }

    package func attach(_ renderer: Renderer) { control.withLock { $0.attached.attach(renderer) } }
}

extension RenderContext {
    /// Adds the top to the buffer below, whose channels count, and pops it.
    @_noLocks @_noAllocation
    package mutating func addTopToNext() {
        guard require(2, for: .mix) else { return }
        if mode.has(.dry) { joinPaths(2) }
        addEntry(0, to: 1, gain: 1)
        depth &-= 1
    }
}
