internal import Glibc
public import RenderCore
internal import Sharing

/// Modules that come and go while they are heard: voices, players, a chain of effects.
///
///     let voices = ModuleList(mixing: 2)                   // a generator: the sum of its members
///     let chain = ModuleList(chaining: [drive, echo])      // an effect: one after the other
///     …
///     context.run(voices)
///     context.run(chain)
///     …
///     voices.append(Voice())                               // in control code
///
/// A new member is prepared before it is heard, which may be a cycle later. A removed member is released when no render
/// thread can be in it. Members that stay go on as they are. Inside ``/RenderCore/Renderer/transaction(whenApplied:_:)`` the change
/// is heard together with the others. Members of a mixing list are generators (those that are not
/// ``/RenderCore/Module/isActive(_:)`` are skipped), of a chaining list effects and taps; another module is a ``/Exchange/Fault``, and
/// silence. A module can be in a list once: of equal ones the first counts.
///
/// Threads: control.
public final class ModuleList: CompositeModule {
    /// Pushes one buffer (a mixing list) or edits the top (a chaining one).
    public let stackEffect: StackEffect
    /// The name of the list in faults and statistics.
    public let name: String
    private let channels: Int
    private let slots: ManagedValue<Slots>
    /// A state that is in use while the members run: a list in itself is a fault, and not the end of the thread's
    /// stack.
    private let isRunning = RenderState<Bool>(false)
    private let control: Lock<Control>

    private struct Control {
        var modules: [any Module]
        /// Members of older versions that may still be running.
        var leaving: [Int: [any Module]] = [:]
        var nextLeave = 0
        /// The number of the change that `modules` come from.
        var version = 0
        var changes = ChangesInARow()
        /// The renderers that have it.
        var attached = WeakList<Renderer>()
    }

    /// The members as the render thread sees them: one indirect call each, no count.
    @safe private struct Slots: ~Copyable, @unchecked Sendable {
        // Unchecked because the slots are read on render threads only, and their modules are Sendable.
        let slots: UnsafeMutablePointer<Unmanaged<ModuleSlot>>
        let count: Int
        init(_ modules: [any Module], as kind: StackEffect) {
            count = modules.count
            unsafe slots = .allocate(capacity: max(1, modules.count))
            for (index, module) in modules.enumerated() {
                unsafe (slots + index).initialize(to: .passRetained(module.makeSlot(as: kind)))
            }
        }
        deinit {
            for index in 0..<count { unsafe slots[index].release() }
            unsafe slots.deallocate()
        }
        func run(_ index: Int, _ context: inout RenderContext, ifActive: Bool) -> Bool {
            unsafe slots[index]._withUnsafeGuaranteedRef { slot in
                if !slot.isKnown(&context) || ifActive && !slot.isActive(context) { return false }
                slot.run(&context)
                return true
            }
        }
    }

    /// Creates a list of generators that pushes their sum.
    ///
    /// - Parameters:
    ///   - channels: The channels of the sum, which is silent while no member plays.
    ///   - generators: The members at first.
    ///   - name: The name in faults and statistics.
    public init(mixing channels: Int, _ generators: [any Generator] = [], name: String = "ModuleList") {
        stackEffect = .generates
        self.name = name
        self.channels = channels
        let modules = Self.distinct(generators)
        slots = ManagedValue(Slots(modules, as: stackEffect))
        control = Lock(Control(modules: modules), .module)
    }

    /// Creates a list of effects and taps that run one after the other.
    ///
    /// - Parameters:
    ///   - modules: The members at first.
    ///   - name: The name in faults and statistics.
    public init(chaining modules: [any Module], name: String = "ModuleList") {
        stackEffect = .edits
        self.name = name
        channels = 0
        let modules = Self.distinct(modules)
        slots = ManagedValue(Slots(modules, as: stackEffect))
        control = Lock(Control(modules: modules), .module)
    }

    // MARK: Control side

    /// Returns the latency of the members: their sum in a chaining list, the most of all in a mixing one.
    public func latency(at sampleRate: Double) -> Int { latencyOfArrangement(at: sampleRate) }

    /// The members, in order. Setting it is one change.
    public var modules: [any Module] {
        get { control.withLock { $0.modules } }
        set { update { $0 = newValue } }
    }

    /// The number of members.
    public var count: Int { modules.count }

    /// The member at an index; `nil` if there are not that many.
    public subscript(_ index: Int) -> (any Module)? {
        let modules = self.modules
        return modules.indices.contains(index) ? modules[index] : nil
    }

    /// Returns the position of a module; `nil` if it is not a member.
    public func index(of module: any Module) -> Int? { modules.firstIndex { $0 === module } }

    /// Returns whether a module is a member.
    public func contains(_ module: any Module) -> Bool { index(of: module) != nil }

    /// Adds a module at the end, unless it is a member already.
    public func append(_ module: any Module) { update { $0.append(module) } }

    /// Removes a member.
    public func remove(_ module: any Module) { update { $0.removeAll { $0 === module } } }

    /// Removes all members.
    public func removeAll() { update { $0 = [] } }

    /// Replaces a module by another; does nothing if it is not a member.
    public func replace(_ old: any Module, with new: any Module) {
        update { modules in
            if let index = modules.firstIndex(where: { $0 === old }) { modules[index] = new }
        }
    }

    /// Changes the members in one step.
    ///
    /// - Parameters:
    ///   - change: The closure that makes the change. It runs again if another thread has changed the list meanwhile.
    ///     If it changes this list by other calls, the argument that it leaves overwrites those changes.
    ///   - released: Called on a thread of RenderStack's own when the old list is no longer in use.
    public func update(
        _ change: (inout [any Module]) -> Void, whenOldIsReleased released: (@Sendable () -> Void)? = nil
    ) {
        let thread = UInt(pthread_self())
        while true {
            let (old, oldVersion) = control.withLock { ($0.modules, $0.version) }
            var modules = old
            change(&modules)
            modules = Self.distinct(modules)
            // The list has its version from here on: of two lists the one that was changed last is heard.
            typealias Place = (
                number: Int, version: UInt64, renderers: [Renderer], before: [any Module], beforeVersion: Int
            )
            let place: Place? = control.withLock { control in
                // The closure may itself have changed the list; another thread may not.
                let isOurs = control.changes.areAll(of: thread, after: oldVersion)
                guard control.version == oldVersion || isOurs else { return nil }
                let (before, beforeVersion) = (control.modules, control.version)
                control.nextLeave += 1
                control.leaving[control.nextLeave] = control.modules
                (control.modules, control.version) = (modules, control.nextLeave)
                control.changes.add(of: thread, on: beforeVersion)
                return (
                    control.nextLeave, slots.makeVersion(), control.attached.living, before, beforeVersion
                )
            }
            guard let place else { continue }
            // First the renderers learn of the new members, then these are heard, then the old ones are released.
            for renderer in place.renderers { renderer.refreshModules() }
            slots.set(Slots(modules, as: stackEffect), version: place.version)
            return OpenTransaction.afterCycles(
                { [weak self] in
                    self?.leave(place.number)
                    released?()
                },
                ifCalledOff: { [weak self] in
                    self?.control.change { control in
                        // A change since has built on this one.
                        guard control.version == place.number else { return }
                        (control.modules, control.version) = (place.before, place.beforeVersion)
                    }
                    self?.leave(place.number)
                })
        }
    }

    private func leave(_ number: Int) {
        let (renderers, left) = control.withLock { control in
            let left = control.leaving.removeValue(forKey: number)
            return (control.attached.living, left)
        }
        // The loop's table is made anew once for all that have left in the meantime.
        for renderer in renderers { renderer.refreshModulesSoon() }
        // Here they may go, with no lock held.
        withExtendedLifetime(left) {}
    }

    private static func distinct(_ modules: [any Module]) -> [any Module] {
        var known: Set<ObjectIdentifier> = []
        return modules.filter { known.insert(ObjectIdentifier($0)).inserted }
    }

    // MARK: Render thread

    /// Runs the members.
    ///
    /// Threads: render.
    public func process(_ context: inout RenderContext) {
        isRunning.with(&context) { _, context in runMembers(&context) }
    }

    private func runMembers(_ context: inout RenderContext) {
        if channels > 0 { context.push(channels: channels) }
        guard context.goInside() else { return }
        slots.with(&context) { slots, context in
            if channels == 0 {
                for index in 0..<slots.count { _ = slots.run(index, &context, ifActive: false) }
            } else {
                for index in 0..<slots.count where slots.run(index, &context, ifActive: true) {
                    context.addTopToNext()
                }
            }
        }
        context.comeOut()
    }

    // MARK: Composite

    /// The modules that it runs, and those that it may still be running although they have left.
    public var members: [any Module] {
        control.withLock { control in control.leaving.values.reduce(control.modules, +) }
    }

    package var arrangement: ModuleArrangement { channels == 0 ? .chain(modules) : .parallel(modules) }

    package func dryRun(_ context: inout RenderContext) { process(&context) }

    package func attach(_ renderer: Renderer) {
        control.withLock { $0.attached.add(ObjectIdentifier(renderer)) { [weak renderer] in renderer } }
    }
}

extension RenderContext {
    /// Adds the top to the buffer below, whose channels count, and pops it.
    @_noLocks @_noAllocation
    package mutating func addTopToNext() {
        if depth &- floor >= 2 && depth <= entryCount && !mode.has(.dry) {
            let (top, sum) = unsafe (entries + (depth &- 1), entries + (depth &- 2))
            // Nearly always both have two channels of the stack's own.
            if unsafe top.pointee.shape == StackEntry.stereoOwn | place && sum.pointee.shape == top.pointee.shape {
                depth &-= 1
                let (channels, sums) = unsafe (top.pointee.channels, sum.pointee.channels)
                unsafe Kernel.add(channels[1] + offset, to: sums[1] + offset, frameCount)
                return unsafe Kernel.add(top.pointee.first + offset, to: sum.pointee.first + offset, frameCount)
            }
        }
        guard require(2, for: .mix) else { return }
        if mode.has(.dry) { joinPaths(2) }
        addEntry(0, to: 1, gain: 1)
        depth &-= 1
    }
}
