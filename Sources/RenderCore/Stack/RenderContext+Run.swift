public import Synchronization

// Running modules: which module may run, which buffers it can reach, and the way back if it leaves the stack otherwise
// than declared.

extension RenderContext {
    /// Runs a module.
    ///
    /// The module reaches only the buffers that its ``Module/stackEffect`` declares, and leaves exactly the declared
    /// ones: a missing buffer is replaced by silence, an additional one is dropped, and both are a ``/Exchange/Fault`` with its
    /// name. A module that another renderer uses is silent here, also a fault.
    @inlinable @inline(__always) public mutating func run<M: Module>(_ module: M) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        unsafe run(module, module.stackEffect, identity)
    }

    /// Runs a module like ``run(_:)``, for a caller that already knows the module's stack effect and address.
    @inlinable @inline(__always)
    mutating func run<M: Module>(_ module: M, _ effect: StackEffect, _ identity: UnsafeRawPointer) {
        let record = unsafe cursor
        // Nearly always this is the module that is expected next, and nothing is out of the ordinary. Acquiring:
        // another renderer may have had the module, and this one must see its writes.
        let isExpected = unsafe record.pointee.key.load(ordering: .acquiring) == UInt(bitPattern: identity)
        guard unsafe _fastPath(isExpected && core.pointee.attention == 0),
            !Checks.areOn || _fastPath(effect.pops == 0 || depth &- floor >= effect.pops)
        else { return unsafe runSlowly(module, effect, identity) }
        // The caches do not hold many modules. So the one after the next is on its way while this one computes, and so are the
        // records of those behind it. (Behind the last module the table has two records more.)
        unsafe Kernel.fetch(
            object: record[2].key.load(ordering: .relaxed), line: UInt(bitPattern: record) &+ 128)
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

    /// Runs a module that comes out of turn, may not run, or is to be timed or searched.
    @usableFromInline @inline(never)
    mutating func runSlowly<M: Module>(_ module: M, _ effect: StackEffect, _ identity: UnsafeRawPointer) {
        let record = unsafe isNext(identity) ? cursor : CycleMemory.find(identity, in: core)
        let change = unsafe change
        if let change = unsafe change,
            unsafe change._withUnsafeGuaranteedRef({ unsafe $0.substitute(identity, effect, &self) })
        {
            return
        }
        // A module that runs itself comes out of turn, however many others are in between.
        let isInTurn = unsafe record == cursor
        guard unsafe record.pointee.key.load(ordering: .acquiring) != 0 && depth &- floor >= effect.pops,
            unsafe isInTurn || CycleMemory.begin(.run, record, in: core)
        else {
            unsafe explainRefusal(record, effect.pops)
            introduce(module, effect)
            return skip(effect)
        }
        let failed = unsafe core.pointee.failed
        unsafe CycleMemory.setFailed(false, in: core)
        let expected = depth &- effect.pops &+ effect.pushes
        let results = effect.results
        let frame = unsafe enter(record, pops: effect.pops)
        let isTimed = unsafe isTimed(record)
        let start = isTimed ? HostClock.now : 0
        module.process(&self)
        if isTimed { unsafe core.pointee.noteTime(HostClock.now &- start) }
        if unsafe core.pointee.failed || depth != expected
            || !(mode.has(.inspecting) ? areFinite(results) : endsFinite(results))
        {
            putRight(expected, results)
        }
        leave(frame)
        if let change = unsafe change {
            unsafe change._withUnsafeGuaranteedRef { unsafe $0.keepResults(identity, effect, &self) }
        }
        if !isInTurn { unsafe CycleMemory.end(.run, record, in: core) }
        unsafe CycleMemory.setFailed(failed, in: core)
    }

    /// Returns whether this slice measures the time of a module that is about to run. From the first such module to the last
    /// the context takes the long way.
    @_noLocks @_noAllocation
    private mutating func isTimed(_ record: UnsafeMutablePointer<ModuleRecord>) -> Bool {
        if unsafe CycleMemory.takeMark(of: record, in: core) { mode.add(.timing) }
        guard mode.has(.timing), let left = unsafe CycleMemory.countTimed(record, in: core) else { return false }
        if left == 0 { mode.remove(.timing) }
        unsafe CycleMemory.setSlow(mode.slowsModules, in: core)
        return true
    }

    /// Returns whether a module has to be run; one that may not run counts as active, and ``run(_:)`` says why not.
    func isActive<M: Module>(_ module: M, _ identity: UnsafeRawPointer) -> Bool {
        let record = unsafe isNext(identity) ? cursor : CycleMemory.find(identity, in: core)
        guard unsafe record.pointee.key.load(ordering: .acquiring) != 0,
            unsafe CycleMemory.begin(.question, record, in: core)
        else { return true }
        // The module is asked in its own name, so that it can look at its states.
        let (outer, failed) = unsafe (core.pointee.current, core.pointee.failed)
        unsafe core.pointee.current = record
        let isActive = module.isActive(self)
        unsafe core.pointee.current = outer
        unsafe CycleMemory.setFailed(failed, in: core)
        unsafe CycleMemory.end(.question, record, in: core)
        return isActive
    }

    /// Asks a module something in its own name, so that it can look at its states. `false`: it is not this renderer's.
    mutating func ask(_ identity: UnsafeRawPointer, _ question: (inout RenderContext) -> Void) -> Bool {
        let next = unsafe cursor
        let record = unsafe CycleMemory.find(identity, in: core)
        let isInTurn = unsafe record == next
        guard unsafe record.pointee.key.load(ordering: .acquiring) != 0,
            unsafe isInTurn || CycleMemory.begin(.question, record, in: core)
        else { return false }
        let failed = unsafe core.pointee.failed
        unsafe CycleMemory.setFailed(false, in: core)
        let frame = unsafe enter(record, pops: 0)
        question(&self)
        leave(frame)
        if !isInTurn { unsafe CycleMemory.end(.question, record, in: core) }
        unsafe CycleMemory.setFailed(failed, in: core)
        unsafe cursor = next
        return true
    }

    /// The values that ``leave(_:)`` puts back when a module ends.
    @safe @usableFromInline package struct Frame {
        @usableFromInline let floor: Int
        /// The record that was at work before.
        @usableFromInline let outer: UnsafeMutablePointer<ModuleRecord>

        @_noLocks @_noAllocation
        @inlinable @inline(__always) package init(floor: Int, outer: UnsafeMutablePointer<ModuleRecord>) {
            self.floor = floor
            unsafe self.outer = outer
        }
    }

    /// Hands the context over to a module that may run.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    package mutating func enter(_ record: UnsafeMutablePointer<ModuleRecord>, pops: Int) -> Frame {
        let frame = unsafe Frame(floor: floor, outer: core.pointee.current)
        unsafe cursor = record + 1
        floor = depth &- pops
        unsafe core.pointee.current = record
        return frame
    }

    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func leave(_ frame: Frame) {
        floor = frame.floor
        unsafe core.pointee.last = core.pointee.current
        unsafe core.pointee.current = frame.outer
    }

    /// Returns whether the last frame of the buffers on top is a number. A module that remembers a bad sample shows it
    /// there too; one that shows it elsewhere only is found at the output.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func endsFinite(_ buffers: Int) -> Bool {
        // Nearly all modules leave one buffer of one or two channels of the stack's own. (Mutating: else the whole
        // context is copied.)
        let position = depth &- 1
        if _slowPath(buffers != 1 || position >= entryCount) { return endFinite(buffers) }
        return unsafe endsFinite(entries + position, offset &+ frameCount)
    }

    /// Returns whether the last frame of one buffer is a number, for a caller that has it at hand.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    package mutating func endsFinite(_ entry: UnsafeMutablePointer<StackEntry>, _ end: Int) -> Bool {
        let format = unsafe entry.pointee.format
        if _fastPath(format == StackEntry.monoOwn) {
            return unsafe RenderContext.isNumber((entry.pointee.first + end)[-1])
        }
        if format != StackEntry.stereoOwn { return endFinite(1) }
        let channels = unsafe entry.pointee.channels
        return unsafe RenderContext.isNumber((channels[0] + end)[-1]) && RenderContext.isNumber((channels[1] + end)[-1])
    }

    /// Returns whether a sample is neither infinite nor no number.
    ///
    /// The difference, which is then 0, brings the sample into a vector register. Intel's processors let a load of its bits into
    /// another register wait until the cache has them, if a vector of 64 bytes was just written there.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package static func isNumber(_ sample: Float) -> Bool { sample - sample >= 0 }

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
        // Its own silence is enough: a mixer goes on with its other members, and the module at work has not failed.
        let failed = unsafe core.pointee.failed
        let outer = unsafe core.pointee.current
        unsafe core.pointee.current = record
        if unsafe record.pointee.key.load(ordering: .relaxed) == 0 {
            fault(.foreignModule, .run, wanted: 0, found: 0)
        } else if depth &- floor >= pops {
            fault(.nestedModule, .run, wanted: 0, found: 0)
        } else {
            fault(.underflow, .run, wanted: pops, found: depth &- floor)
        }
        unsafe core.pointee.current = outer
        unsafe core.pointee.last = record
        unsafe CycleMemory.setFailed(failed, in: core)
    }

    /// Corrects the stack that a module has left, and reports a fault.
    @usableFromInline @inline(never)
    package mutating func putRight(_ expected: Int, _ results: Int) {
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
            let mustReset = unsafe core.pointee.mustReset
            unsafe core.pointee.mustReset = false
            if !isFinite || mustReset { resetAtWork() }
        }
        // The failure of the module at work only: the one around it goes on.
        unsafe CycleMemory.setFailed(false, in: core)
    }

    /// Leaves silence in the place of the buffers of a module that does not run.
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
                    if unsafe !Kernel.isFinite(samples, frameCount) { return false }
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
            let isPart = place != 0
            let number = unsafe dryRun._withUnsafeGuaranteedRef { $0.note(module, isPart: isPart) }
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
            let loopID = unsafe core.pointee.loopID
            unsafe core.pointee.newcomers._withUnsafeGuaranteedRef { $0.offer(module, from: loopID) }
        }
    }

    /// Returns whether a member is in the table. If not it is on its way there: it was added in the middle of a cycle.
    /// It is not offered as a newcomer: those belong to the render loop for good, and members come and go.
    mutating func knows<M: Module>(_ module: M) -> Bool {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        if unsafe isNext(identity) || isDryRun { return true }
        if unsafe core.pointee.isModule(CycleMemory.find(identity, in: core)) { return true }
        unsafe core.pointee.newcomers._withUnsafeGuaranteedRef { $0.missMember() }
        return false
    }

    /// Returns whether a module in the table is this renderer's at this moment.
    func holds(_ identity: UnsafeRawPointer) -> Bool {
        unsafe isNext(identity) || isDryRun
            || CycleMemory.find(identity, in: core).pointee.key.load(ordering: .acquiring) != 0
    }

    /// Returns whether a module is the one that is expected next, and this renderer's: as it nearly always is.
    @inline(__always) private func isNext(_ identity: UnsafeRawPointer) -> Bool {
        unsafe cursor.pointee.key.load(ordering: .acquiring) == UInt(bitPattern: identity)
    }

    /// Shows a dry run the modules inside of a module, and finds out whether it has the effect that it declares.
    /// Returns the paths of its results, if they are known from now on.
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

extension StackEffect {
    /// The number of buffers on top that are the module's own work.
    @inlinable @inline(__always) package var results: Int {
        @_noLocks @_noAllocation get { isReadOnly ? 0 : pushes }
    }
}
