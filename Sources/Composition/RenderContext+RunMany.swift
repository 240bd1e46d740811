public import RenderCore
public import Synchronization

// Running many modules: the work of a loop over them, without its costs. A `for` loop holds on to each element that it
// looks at and releases it, by atomic instructions that cost as much as a small module; these functions borrow the
// elements. And the state that `run` puts away before a module and back behind it is put away once for a row of them.

extension RenderContext {
    /// Runs modules of one kind, one after the other.
    ///
    ///     context.run(equalizers)          // an array of ParametricEQ: each edits the top
    @inlinable public mutating func run<M: Module>(_ modules: [M]) {
        let modules = modules.span
        var index = 0
        while index < modules.count {
            index = runInTurn(modules, from: index, to: modules.count)
            if index < modules.count {
                unsafe modules.unmanaged(at: index)._withUnsafeGuaranteedRef { run($0) }
                index &+= 1
            }
        }
    }

    /// Runs generators of one kind and adds the buffer of each to the one on top.
    ///
    ///     context.push(channels: 2)
    ///     context.add(voices)              // does `run(voice)` and `mix(2)` for each
    @inlinable public mutating func add<M: Module>(_ generators: [M]) {
        let generators = generators.span
        var index = 0
        while index < generators.count {
            index = addInTurn(generators, from: index)
            if index < generators.count {
                unsafe generators.unmanaged(at: index)._withUnsafeGuaranteedRef { run($0) }
                mix(2)
                index &+= 1
            }
        }
    }

    /// Calls a closure with each element of an array, such as voices that each have their modules.
    ///
    ///     context.forEach(voices) { context, voice in
    ///         context.run(voice.tone)
    ///         context.run(voice.filter)
    ///         context.mix(2)
    ///     }
    @inlinable public mutating func forEach<Element>(
        _ elements: [Element], _ body: (inout RenderContext, Element) -> Void
    ) {
        borrow(elements.span, body)
    }

    /// Calls `body` with each element without copying it: elements are borrowed, because some of them may not be
    /// copied.
    @inlinable @inline(__always)
    mutating func borrow<Element: ~Copyable>(
        _ elements: borrowing Span<Element>, _ body: (inout RenderContext, borrowing Element) -> Void
    ) {
        for index in elements.indices { body(&self, elements[index]) }
    }

    /// Runs effects up to `end` as long as each is the one that is expected, and nothing is out of the ordinary. Returns
    /// the index of the first that was not run, which is `first` if the modules do not edit the top.
    @inlinable @inline(__always)
    mutating func runInTurn<M: Module>(_ modules: borrowing Span<M>, from first: Int, to end: Int) -> Int {
        // These copies let the compiler work out once what follows from them.
        let (core, depth, floor) = unsafe (self.core, self.depth, self.floor)
        guard unsafe core.pointee.attention == 0, depth > floor && depth <= entryCount else { return first }
        let (top, frameEnd) = unsafe (entries + (depth &- 1), offset &+ frameCount)
        let frame = unsafe Frame(floor: floor, outer: core.pointee.current)
        var index = first
        while index < end {
            let module = unsafe modules.unmanaged(at: index)
            let record = unsafe cursor
            let isEffect = unsafe module._withUnsafeGuaranteedRef { $0.stackEffect.isEdit }
            let isExpected = unsafe record.pointee.key.load(ordering: .acquiring) == UInt(bitPattern: module.toOpaque())
            guard _fastPath(isExpected && isEffect) else { break }
            // Sets the depth that the stack had before, so that the compiler knows it in the code that it inlines here.
            self.depth = depth
            unsafe process(module, record, core, at: depth &- 1)
            index &+= 1
            if !Checks.areOn { continue }
            if unsafe _slowPath(core.pointee.attention != 0 || self.depth != depth || !endsFinite(top, frameEnd)) {
                putRight(depth, 1)
            }
        }
        if index > first { leave(frame) }
        return index
    }

    /// Runs generators one after the other, and adds each to the buffer below: three at once, so that the sum is read and
    /// written once for them.
    @inlinable @inline(__always)
    mutating func addInTurn<M: Module>(_ generators: borrowing Span<M>, from first: Int) -> Int {
        guard unsafe core.pointee.attention == 0, let sum = unsafe realEntry(0),
            unsafe sum.pointee.kind == StackEntry.own && sum.pointee.place == place && depth < entryCount
        else { return first }
        // Copies, as for effects.
        let (core, depth, end) = unsafe (self.core, self.depth, offset &+ frameCount &- 1)
        let top = unsafe sum + 1
        // A generator that adds others itself finds no spare buffers.
        let spares = unsafe core.pointee.spares
        unsafe core.pointee.spares = nil
        // Nearly always the sum and all generators have one channel, or all have two. No other buffer has this shape.
        let usual = unsafe spares != nil && sum.pointee.channelCount <= 2 ? sum.pointee.format | place : .max
        let isMono = usual & 1 == 1
        let frame = unsafe Frame(floor: floor, outer: core.pointee.current)
        var kept = 0
        var index = first
        while index < generators.count {
            let module = unsafe generators.unmanaged(at: index)
            let record = unsafe cursor
            let effect = unsafe module._withUnsafeGuaranteedRef { $0.stackEffect }
            let isExpected = unsafe record.pointee.key.load(ordering: .acquiring) == UInt(bitPattern: module.toOpaque())
            guard _fastPath(isExpected && effect.pops == 0 && effect.pushes == 1) else { break }
            // Sets the depth that the stack had before the last generator, so that the compiler knows it in the code
            // that it inlines here.
            self.depth = depth
            unsafe process(module, record, core, at: depth)
            index &+= 1
            guard unsafe _fastPath(top.pointee.shape == usual),
                unsafe !Checks.areOn
                    || _fastPath(core.pointee.attention == 0 && self.depth == depth &+ 1)
                        && _fastPath(_fastPath(isMono) ? RenderContext.isNumber(top.pointee.first[end]) : endsFinite(1))
            else {
                unsafe addKept(spares, kept, to: sum)
                kept = 0
                if unsafe addUnusual(to: sum, effect, depth) { continue }
                unsafe core.pointee.spares = spares
                leave(frame)
                mix(2)
                return index
            }
            let spares = unsafe spares.unsafelyUnwrapped
            unsafe sum.pointee.times = top.pointee.times
            if kept < StackEntry.spareCount {
                unsafe top.pointee.exchangeMemory(with: spares + kept)
                kept &+= 1
            } else {
                kept = 0
                let samples = unsafe (spares[0].first + offset, spares[1].first + offset, top.pointee.first + offset)
                unsafe Kernel.add(samples.0, samples.1, samples.2, to: sum.pointee.first + offset, frameCount)
                if _slowPath(!isMono) { unsafe addSecond(spares, top, to: sum) }
            }
        }
        unsafe addKept(spares, kept, to: sum)
        unsafe core.pointee.spares = spares
        if index > first {
            self.depth = depth
            leave(frame)
        }
        return index
    }

    /// Lets a module that may run do so.
    @inlinable @inline(__always)
    mutating func process<M: Module>(
        _ module: Unmanaged<M>, _ record: UnsafeMutablePointer<ModuleRecord>, _ core: UnsafeMutablePointer<CycleMemory>,
        at floor: Int
    ) {
        unsafe cursor = record + 1
        self.floor = floor
        unsafe core.pointee.current = record
        unsafe module._withUnsafeGuaranteedRef { $0.process(&self) }
    }

    /// Adds the second channels of both spare buffers to that of a sum, and then that of the top.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never) mutating func addSecond(
        _ spares: UnsafeMutablePointer<StackEntry>, _ top: UnsafeMutablePointer<StackEntry>,
        to sum: UnsafeMutablePointer<StackEntry>
    ) {
        unsafe Kernel.add(
            spares[0].channels[1] + offset, spares[1].channels[1] + offset, top.pointee.channels[1] + offset,
            to: sum.pointee.channels[1] + offset, frameCount)
    }

    /// Adds the first spare buffers to a sum, as many as are kept there.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never) mutating func addKept(
        _ spares: UnsafeMutablePointer<StackEntry>?, _ count: Int, to sum: UnsafeMutablePointer<StackEntry>
    ) {
        guard let spares = unsafe spares else { return }
        var spare = 0
        while spare < count {
            let channels = unsafe sum.pointee.channelCount
            unsafe Kernel.addChannels(
                spares[spare].channels, channels, offset, to: sum.pointee.channels, channels, offset, gain: 1,
                frameCount
            )
            spare &+= 1
        }
    }

    /// Adds what a generator has left, which has not the sum's shape, or is not as declared. `false`: ``mix(_:)`` has to do it,
    /// because the generator left other buffers than it declares (which are put right here), a bad sample, more channels than
    /// the sum has, or external memory.
    @usableFromInline @inline(never) mutating func addUnusual(
        to sum: UnsafeMutablePointer<StackEntry>, _ effect: StackEffect, _ depth: Int
    ) -> Bool {
        let isAsDeclared = unsafe !Checks.areOn || (core.pointee.attention == 0 && self.depth == depth &+ 1)
        if unsafe isAsDeclared && addTop(to: sum) { return true }
        if !isAsDeclared || !endsFinite(effect.results) { putRight(depth &+ 1, effect.results) }
        return false
    }

    /// Adds the top to a buffer of the stack's own, right below it; the caller pops it. `false`: it is not that simple,
    /// or ends in a sample that is no number.
    @_noLocks @_noAllocation
    private mutating func addTop(to sum: UnsafeMutablePointer<StackEntry>) -> Bool {
        let top = unsafe sum + 1
        let (channels, sums) = unsafe (top.pointee.channelCount, sum.pointee.channelCount)
        guard unsafe top.pointee.kind == StackEntry.own && top.pointee.place == place && channels <= sums else {
            return false
        }
        if !endsFinite(1) { return false }
        if channels == sums { unsafe sum.pointee.times = top.pointee.times }
        unsafe addWide(top, to: sum, channels, sums)
        return true
    }
}

extension StackEffect {
    /// Indicates whether the module takes one buffer and leaves its own work in the place of it.
    @inlinable @inline(__always) var isEdit: Bool {
        @_noLocks @_noAllocation get { pops == 1 && pushes == 1 && !isReadOnly }
    }
}

extension Span where Element: AnyObject {
    /// Returns an element without retaining it.
    @inlinable @inline(__always) func unmanaged(at index: Int) -> Unmanaged<Element> {
        unsafe withUnsafeBufferPointer { elements in
            unsafe UnsafeRawPointer(elements.baseAddress.unsafelyUnwrapped + index)
                .assumingMemoryBound(to: Unmanaged<Element>.self).pointee
        }
    }
}
