public import Synchronization

// Running modules: who may run, what it can reach, and what is done when it leaves the stack otherwise than declared.

extension RenderContext {
    /// Runs a module.
    ///
    /// The module reaches only the buffers that its ``Module/stackEffect`` declares, and leaves exactly what it declares:
    /// what is missing is replaced by silence, what is too much is dropped, and both are a ``Fault`` with its name. A
    /// module that another renderer uses is silent here, also a fault.
    @inlinable @inline(__always) public mutating func run<M: Module>(_ module: M) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        unsafe run(module, module.stackEffect, identity)
    }

    /// The same for who knows already what the module declares, and its address.
    @inlinable @inline(__always)
    mutating func run<M: Module>(_ module: M, _ effect: StackEffect, _ identity: UnsafeRawPointer) {
        let record = unsafe cursor
        // The module that is expected next, and nothing out of the ordinary: all but always. Acquiring: another renderer
        // may have had the module, and what it wrote in it is to be seen.
        let isExpected = unsafe record.pointee.key.load(ordering: .acquiring) == UInt(bitPattern: identity)
        guard unsafe _fastPath(isExpected && core.pointee.attention == 0),
            !Checks.areOn || _fastPath(effect.pops == 0 || depth &- floor >= effect.pops)
        else { return unsafe runSlowly(module, effect, identity) }
        let expected = depth &- effect.pops &+ effect.pushes
        let results = effect.results
        let frame = unsafe enter(record, pops: effect.pops)
        module.process(&self)
        let isAsDeclared = unsafe !Checks.areOn || (core.pointee.attention == 0 && depth == expected)
        if _slowPath(!isAsDeclared) || (Checks.areOn && _slowPath(!endsFinite(results))) {
            putRight(expected, results)
        }
        leave(frame)
    }

    /// The same for a module that comes out of turn, may not run, or is to be timed or searched.
    @usableFromInline @inline(never)
    mutating func runSlowly<M: Module>(_ module: M, _ effect: StackEffect, _ identity: UnsafeRawPointer) {
        let record = unsafe CycleMemory.find(identity, in: core)
        guard unsafe record.pointee.key.load(ordering: .acquiring) != 0 && depth &- floor >= effect.pops else {
            unsafe explainRefusal(record, effect.pops)
            introduce(module, effect)
            return skip(effect)
        }
        let failed = unsafe core.pointee.failed
        unsafe CycleMemory.setFailed(false, in: core)
        let expected = depth &- effect.pops &+ effect.pushes
        let results = effect.results
        let frame = unsafe enter(record, pops: effect.pops)
        let start = mode.has(.timing) ? HostClock.now : 0
        module.process(&self)
        if start != 0 { unsafe core.pointee.noteTime(HostClock.now &- start) }
        if unsafe core.pointee.failed || depth != expected
            || !(mode.has(.inspecting) ? areFinite(results) : endsFinite(results))
        {
            putRight(expected, results)
        }
        leave(frame)
        unsafe CycleMemory.setFailed(failed, in: core)
    }

    /// Resets a module: empties delay lines and filters.
    public mutating func reset<M: Module>(_ module: M) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        if unsafe !ask(identity, { context in module.reset(&context) }) {
            unsafe explainRefusal(CycleMemory.find(identity, in: core), 0)
        }
    }

    /// Whether a module has to be run (MD-02); one that may not run counts as active, and ``run(_:)`` says why not.
    mutating func isActive<M: Module>(_ module: M) -> Bool {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        var isActive = true
        _ = unsafe ask(identity) { context in isActive = module.isActive(context) }
        return isActive
    }

    /// Asks a module something in its own name, so that it can look at its states. `false`: it is not this renderer's.
    mutating func ask(_ identity: UnsafeRawPointer, _ question: (inout RenderContext) -> Void) -> Bool {
        let next = unsafe cursor
        let record = unsafe CycleMemory.find(identity, in: core)
        if unsafe record.pointee.key.load(ordering: .acquiring) == 0 { return false }
        let failed = unsafe core.pointee.failed
        unsafe CycleMemory.setFailed(false, in: core)
        let frame = unsafe enter(record, pops: 0)
        question(&self)
        leave(frame)
        unsafe CycleMemory.setFailed(failed, in: core)
        unsafe cursor = next
        return true
    }

    /// What has to be put back when a module ends.
    @safe @usableFromInline struct Frame {
        @usableFromInline let floor: Int
        /// Who was at work.
        @usableFromInline let outer: UnsafeMutablePointer<ModuleRecord>

        @_noLocks @_noAllocation
        @inlinable @inline(__always) init(floor: Int, outer: UnsafeMutablePointer<ModuleRecord>) {
            self.floor = floor
            unsafe self.outer = outer
        }
    }

    /// Hands the context over to a module that may run.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    mutating func enter(_ record: UnsafeMutablePointer<ModuleRecord>, pops: Int) -> Frame {
        let frame = unsafe Frame(floor: floor, outer: core.pointee.current)
        unsafe cursor = record + 1
        floor = depth &- pops
        unsafe core.pointee.current = record
        return frame
    }

    @_noLocks @_noAllocation
    @inlinable @inline(__always) mutating func leave(_ frame: Frame) {
        floor = frame.floor
        unsafe core.pointee.last = core.pointee.current
        unsafe core.pointee.current = frame.outer
    }

    /// Whether the last frame of the buffers on top is a number. What has a memory of a bad sample shows it there too;
    /// what shows it elsewhere only is found at the output.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) mutating func endsFinite(_ buffers: Int) -> Bool {
        // Nearly all modules leave one buffer of one or two channels of the stack's own. (Mutating: else the whole context
        // is copied.)
        let position = depth &- 1
        if _slowPath(buffers != 1 || position >= entryCount) { return endFinite(buffers) }
        return unsafe endsFinite(entries + position, offset &+ frameCount)
    }

    /// The same of one buffer whose last frame is at hand.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) mutating func endsFinite(_ entry: UnsafeMutablePointer<StackEntry>, _ end: Int) -> Bool
    {
        let format = unsafe entry.pointee.format
        if _fastPath(format == StackEntry.monoOwn) {
            return unsafe RenderContext.isNumber((entry.pointee.first + end)[-1])
        }
        if format != StackEntry.stereoOwn { return endFinite(1) }
        let channels = unsafe entry.pointee.channels
        return unsafe RenderContext.isNumber((channels[0] + end)[-1]) && RenderContext.isNumber((channels[1] + end)[-1])
    }

    /// Whether a sample is neither infinite nor no number: then not all bits of its exponent are set.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) static func isNumber(_ sample: Float) -> Bool {
        sample.bitPattern & 0x7F80_0000 != 0x7F80_0000
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never) mutating func endFinite(_ buffers: Int) -> Bool {
        var index = 0
        while index < buffers {
            // Silence has no memory of its own to look at.
            if let entry = unsafe realEntry(index) {
                var channel = 0
                while unsafe channel < entry.pointee.channelCount {
                    let last = unsafe entry.pointee.channels[channel][offset &+ frameCount &- 1]
                    if !RenderContext.isNumber(last) { return false }
                    channel &+= 1
                }
            }
            index &+= 1
        }
        return true
    }

    /// Raises the fault of a known module that may not run, in its name.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    mutating func explainRefusal(_ record: UnsafeMutablePointer<ModuleRecord>, _ pops: Int) {
        guard unsafe core.pointee.isModule(record) else { return }
        // Its own silence is enough: a mixer goes on with its other members, and whoever is at work has not failed.
        let failed = unsafe core.pointee.failed
        let outer = unsafe core.pointee.current
        unsafe core.pointee.current = record
        if unsafe record.pointee.key.load(ordering: .relaxed) == 0 {
            fault(.foreignModule, .run, wanted: 0, found: 0)
        } else {
            fault(.underflow, .run, wanted: pops, found: depth &- floor)
        }
        unsafe core.pointee.current = outer
        unsafe core.pointee.last = record
        unsafe CycleMemory.setFailed(failed, in: core)
    }

    /// Puts right what a module has left, and says so.
    @usableFromInline @inline(never)
    mutating func putRight(_ expected: Int, _ results: Int) {
        if depth != expected {
            fault(.unbalanced, .run, wanted: expected &- floor, found: depth &- floor)
            if depth > expected { depth = expected }
            while depth < expected { pushSilence(channels: 1) }
        }
        let isFinite = mode.has(.inspecting) ? areFinite(results) : endsFinite(results)
        if !isFinite {
            fault(.notFinite, .run, wanted: 0, found: 0)
            unsafe core.pointee.foundNotFinite = true
        }
        if unsafe core.pointee.failed {
            silenceTop(results)
            if !isFinite, let slot = unsafe core.pointee.details(of: core.pointee.current).pointee.slot {
                unsafe slot._withUnsafeGuaranteedRef { $0.reset(&self) }
            }
        }
        // That of the module at work: whoever it is inside of goes on.
        unsafe CycleMemory.setFailed(false, in: core)
    }

    /// What a module that does not run leaves in its place.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    mutating func skip(_ effect: StackEffect) {
        let found = min(effect.pops, depth &- floor)
        if effect.isReadOnly && found == effect.pops { return }
        if found == effect.pops && effect.pops == effect.pushes {
            // In the same buffers, which inside of a sub-block may be those around it.
            silenceTop(found)
            if mode.has(.dry) { markResults(effect.pushes) }
            return
        }
        var channels = 1
        if found > 0, let top = unsafe realEntry(0) { channels = unsafe top.pointee.channelCount }
        depth &-= found
        var left = effect.pushes
        while left > 0 {
            pushSilence(channels: channels)
            left &-= 1
        }
        if mode.has(.dry) { markResults(effect.pushes) }
    }

    @_noLocks @_noAllocation
    func areFinite(_ buffers: Int) -> Bool {
        var index = 0
        while index < buffers {
            if let entry = unsafe realEntry(index) {
                var channel = 0
                while unsafe channel < entry.pointee.channelCount {
                    let samples = unsafe entry.pointee.channels[channel] + offset
                    if unsafe !StackKernel.isFinite(samples, frameCount) { return false }
                    channel &+= 1
                }
            }
            index &+= 1
        }
        return true
    }

    @_noLocks @_noAllocation
    mutating func silenceTop(_ buffers: Int) {
        var index = 0
        while index < buffers {
            if let entry = unsafe realEntry(index) {
                if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
                var channel = 0
                while unsafe channel < entry.pointee.channelCount {
                    unsafe (entry.pointee.channels[channel] + offset).clearSamples(count: frameCount)
                    channel &+= 1
                }
            }
            index &+= 1
        }
    }

    /// Tells the control side of a module that is not in the table. In a dry run that is every module.
    @usableFromInline @inline(never)
    mutating func introduce<M: Module>(_ module: M, _ effect: StackEffect) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        if let dryRun = unsafe core.pointee.dryRun {
            let outer = unsafe core.pointee.dryModule
            let number = unsafe dryRun._withUnsafeGuaranteedRef { $0.note(module) }
            unsafe core.pointee.dryModule = number
            if depth &- floor < effect.pops { fault(.underflow, .run, wanted: effect.pops, found: depth &- floor) }
            let inputs = paths(effect.pops)
            var results: [Int32]?
            if let composite = module as? any CompositeModule {
                results = unsafe dryRun._withUnsafeGuaranteedRef { show(composite, effect, in: $0) }
            }
            unsafe core.pointee.resultPath = dryRun._withUnsafeGuaranteedRef {
                $0.paths.add(module, inputs: inputs, shown: results)
            }
            unsafe core.pointee.dryModule = outer
            unsafe core.pointee.dryLast = number
        } else if unsafe !core.pointee.isModule(CycleMemory.find(identity, in: core)) {
            let failed = unsafe core.pointee.failed
            fault(.unprepared, .run, wanted: 0, found: 0)
            unsafe CycleMemory.setFailed(failed, in: core)
            let body = unsafe core.pointee.body
            unsafe core.pointee.newcomers._withUnsafeGuaranteedRef { $0.offer(module, from: body) }
        }
    }

    /// Whether a member is in the table. If not it is on its way there: it was added in the middle of a cycle. It is not
    /// offered as a newcomer: those belong to the closure for good, and members come and go.
    mutating func knows<M: Module>(_ module: M) -> Bool {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        if unsafe core.pointee.details(of: cursor).pointee.identity == identity || isDryRun { return true }
        if unsafe core.pointee.isModule(CycleMemory.find(identity, in: core)) { return true }
        unsafe core.pointee.newcomers._withUnsafeGuaranteedRef { $0.missMember() }
        return false
    }

    /// Shows a dry run the modules inside of a module, and whether it does what it declares.
    /// Returns the paths of what it leaves, if that is known from now on.
    private mutating func show(
        _ composite: any CompositeModule, _ effect: StackEffect, in dryRun: DryRun
    ) -> [Int32]? {
        let (floor, depth) = (self.floor, self.depth)
        guard depth &- floor >= effect.pops else { return nil }
        self.floor = depth &- effect.pops
        let isShown = dryRun.show(composite, &self)
        let left = self.depth &- self.floor
        if isShown && left != effect.pushes { fault(.unbalanced, .run, wanted: effect.pushes, found: left) }
        let results = isShown && composite.arrangement.isAsShown ? paths(min(left, effect.pushes)) : nil
        self.floor = floor
        self.depth = depth
        return results
    }
}
