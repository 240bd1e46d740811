// Pushing, popping and moving. These move indices, never samples.

extension RenderContext {
    /// Pushes silent buffers.
    ///
    /// - Parameters:
    ///   - count: The number of buffers.
    ///   - channels: Channels in each, 1 to the layout's.
    @_noLocks @_noAllocation
    @inlinable public mutating func push(_ count: Int = 1, channels: Int = 2) {
        var left = bounded(count)
        while left > 0 {
            if claim(channels: channels, for: .push) { clearTop(channels) }
            left &-= 1
        }
        if count < 1 { fault(.badArgument, .push, wanted: count, found: 1) }
    }

    /// Pushes buffers whose samples are undefined, for a module that writes every sample anyway. A push straight after
    /// a pop takes the same memory with the same contents.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public mutating func pushUninitialized(_ count: Int = 1, channels: Int = 2) {
        if count == 1 {
            _ = claim(channels: channels, for: .push)
        } else {
            pushMany(count, channels)
        }
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never) mutating func pushMany(_ count: Int, _ channels: Int) {
        var left = bounded(count)
        while left > 0 {
            _ = claim(channels: channels, for: .push)
            left &-= 1
        }
        if count < 1 { fault(.badArgument, .push, wanted: count, found: 1) }
    }

    /// Pushes a buffer of one channel whose samples are undefined, and returns the channel to be written: the first
    /// step of many generators.
    ///
    ///     var samples = context.pushMono()
    ///     for i in samples.indices { samples[i] = … }
    ///
    /// It is ``pushUninitialized(_:channels:)`` and ``top`` in one.
    @_noLocks @_noAllocation @_lifetime(&self)
    @inlinable @inline(__always) public mutating func pushMono() -> MutableSpan<Float> {
        let memory = unsafe monoMemory()
        let span = unsafe MutableSpan(_unsafeStart: memory, count: frameCount)
        return unsafe _overrideLifetime(span, mutating: &self)
    }

    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    mutating func monoMemory() -> UnsafeMutablePointer<Float> {
        let position = depth
        if unsafe _fastPath(position < entryCount && entries[position].kind == StackEntry.own) {
            unsafe begin(entries + position, channels: 1)
            return unsafe entries[position].first + offset
        }
        return unsafe monoMemorySlowly()
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    mutating func monoMemorySlowly() -> UnsafeMutablePointer<Float> {
        _ = claim(channels: 1, for: .push)
        return unsafe entry(0, sink: 0).pointee.channels[0] + offset
    }

    /// Pushes a copy of a buffer: samples, channels and time.
    ///
    /// - Parameter index: The index of the buffer from the top, which is 0.
    @_noLocks @_noAllocation
    public mutating func duplicate(at index: Int = 0) {
        let buffers = depth &- floor
        guard index >= 0 && index < buffers else {
            fault(index == 0 ? .underflow : .wrongIndex, .duplicate, wanted: index == 0 ? 1 : index, found: buffers)
            pushSilence(channels: 1)
            return
        }
        let source = depth &- 1 &- index
        let channels = source < entryCount ? unsafe entries[source].channelCount : 1
        guard claim(channels: channels, for: .duplicate), source < entryCount else { return }
        guard unsafe entries[source].kind != StackEntry.silent else {
            clearTop(channels)
            return
        }
        let (from, to) = unsafe (entries + source, entries + (depth &- 1))
        unsafe to.pointee.path = from.pointee.path
        unsafe to.pointee.times = from.pointee.times
        var channel = 0
        while channel < channels {
            unsafe (to.pointee.channels[channel] + offset).copySamples(
                from: from.pointee.channels[channel] + offset, count: frameCount)
            channel &+= 1
        }
    }

    /// Exchanges the two buffers on top.
    @_noLocks @_noAllocation
    @inlinable public mutating func swap() {
        let top = depth &- 1
        if !Checks.areOn || (depth &- floor >= 2 && top < entryCount) {
            let entry = unsafe entries[top]
            unsafe entries[top] = entries[top &- 1]
            unsafe entries[top &- 1] = entry
        } else {
            swapSlowly()
        }
    }

    /// Takes buffers off the stack. Their memory is the next to be pushed.
    @_noLocks @_noAllocation
    @inlinable public mutating func pop(_ count: Int = 1) {
        if !Checks.areOn || (count >= 0 && count <= depth &- floor) {
            depth &-= count
        } else {
            fault(count < 0 ? .badArgument : .underflow, .pop, wanted: count, found: depth &- floor)
            if count > 0 { depth = floor }
        }
    }

    /// Takes every buffer off the stack that the render loop (or the running module) can reach.
    @_noLocks @_noAllocation
    @inlinable public mutating func popAll() { depth = floor }

    /// Takes one buffer out of the stack; those above move down.
    ///
    /// - Parameter index: Counted from the top, which is 0.
    @_noLocks @_noAllocation
    public mutating func remove(at index: Int) {
        guard index >= 0 && index < depth &- floor else {
            fault(.wrongIndex, .remove, wanted: index, found: depth &- floor)
            return
        }
        var position = depth &- 1 &- index
        depth &-= 1
        guard position < entryCount else { return }
        let entry = unsafe entries[position]
        let last = min(depth, entryCount &- 1)
        while position < last {
            unsafe entries[position] = entries[position &+ 1]
            position &+= 1
        }
        // Above the entries that exist there is silence, which moves down one place too.
        unsafe entries[last] = entry
        if depth >= entryCount { dropToSilence(last) }
    }

    /// Writes silence over the top.
    @_noLocks @_noAllocation
    public mutating func silence() {
        guard depth > floor else {
            fault(.underflow, .silence, wanted: 1, found: 0)
            return
        }
        if let entry = unsafe realEntry(0) {
            if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
            clearTop(unsafe entry.pointee.channelCount)
        }
    }
}

extension RenderContext {
    /// Returns the number of buffers that are pushed for a request of `count`: never more than the largest stack
    /// can hold. Each that does not fit is a fault, and takes time.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) mutating func bounded(_ count: Int) -> Int {
        count <= 1_024 ? count : boundedSlowly(count)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never) mutating func boundedSlowly(_ count: Int) -> Int {
        fault(.badArgument, .push, wanted: count, found: 1_024)
        return 1_024
    }

    /// Takes the next free slot for a buffer on top. `false`: the buffer is silent, and the fault is raised.
    @_noLocks @_noAllocation
    @inlinable package mutating func claim(channels: Int, for operation: Fault.Operation) -> Bool {
        let position = depth
        if !Checks.areOn || (position < entryCount && channels > 0 && channels <= channelLimit) {
            if unsafe !Checks.areOn || entries[position].kind == StackEntry.own {
                unsafe begin(entries + position, channels: channels)
                return true
            }
        }
        return claimSlowly(channels, operation)
    }

    /// Makes the next entry, which has memory of its own, a buffer of this slice.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    mutating func begin(_ entry: UnsafeMutablePointer<StackEntry>, channels: Int) {
        unsafe entry.pointee.shape = StackEntry.shape(channels, StackEntry.own, place)
        unsafe entry.pointee.times = times
        depth &+= 1
    }

    /// Claims the next entry when it is not ready: it was external before, it has no slot, or the request is wrong.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    mutating func claimSlowly(_ channels: Int, _ operation: Fault.Operation) -> Bool {
        let position = depth
        let wanted = max(1, min(channels, channelLimit))
        if wanted != channels {
            fault(.wrongChannels, operation, wanted: channels, found: channelLimit)
            pushSilence(channels: wanted)
            return false
        }
        var free = position
        while free < entryCount, unsafe entries[free].home == nil { free &+= 1 }
        if free == entryCount && position < entryCount && takeSlotOfSilence(position) { free = position }
        guard free < entryCount else {
            if position < entryCount { dropToSilence(position) }
            unsafe fault(.overflow, operation, wanted: depth &+ 1, found: core.pointee.slotCount)
            depth = position &+ 1
            return false
        }
        let entry = unsafe entries[free]
        unsafe entries[free] = entries[position]
        unsafe entries[position] = entry
        unsafe CycleMemory.makeOwnUninitialized(entries + position, in: core)
        unsafe begin(entries + position, channels: channels)
        return true
    }

    /// Gives an entry without a slot the one of a buffer below that has become silence. `false`: there is none.
    @_noLocks @_noAllocation
    func takeSlotOfSilence(_ position: Int) -> Bool {
        var below = 0
        while below < position {
            if unsafe entries[below].kind == StackEntry.silent, unsafe entries[below].home != nil {
                let (home, channels) = unsafe (entries[below].home, entries[below].channels)
                unsafe entries[below].home = nil
                unsafe entries[below].channels = entries[position].channels
                unsafe entries[position].home = home
                unsafe entries[position].channels = channels
                return true
            }
            below &+= 1
        }
        return false
    }

    /// Pushes a zeroed buffer, without judging how it came to that.
    @_noLocks @_noAllocation
    @usableFromInline package mutating func pushSilence(channels: Int) {
        if claim(channels: max(1, min(channels, channelLimit)), for: .push) {
            unsafe clearTop(entries[depth &- 1].channelCount)
        }
    }

    @_noLocks @_noAllocation
    @inlinable func clearTop(_ channels: Int) {
        var channel = 0
        while channel < channels {
            unsafe (entries[depth &- 1].channels[channel] + offset).clearSamples(count: frameCount)
            channel &+= 1
        }
    }

    /// Makes the entry one that has no memory. A slot that it has stays with it until it is pushed anew.
    @_noLocks @_noAllocation
    func dropToSilence(_ position: Int) {
        unsafe entries[position].shape = StackEntry.shape(1, StackEntry.silent, entries[position].place)
        unsafe entries[position].times = times
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never) mutating func swapSlowly() {
        let found = depth &- floor
        if found < 2 {
            fault(.underflow, .swap, wanted: 2, found: max(found, 0))
        } else if depth &- 1 == entryCount {
            // The lower of the two has an entry, the upper (silence) has none: the buffer that is swapped up is lost.
            dropToSilence(entryCount &- 1)
        }
    }

    /// Returns the entry at an index from the top, if it exists and has memory.
    @_noLocks @_noAllocation
    @inlinable package func realEntry(_ index: Int) -> UnsafeMutablePointer<StackEntry>? {
        let position = depth &- 1 &- index
        if !Checks.areOn { return unsafe entries + position }
        guard index >= 0 && position >= floor && position < entryCount else { return nil }
        return unsafe entries[position].kind == StackEntry.silent ? nil : entries + position
    }

    /// Returns the entry at an index from the top, or one that stands in for it. (Mutating, as all that may call what
    /// is not inlined: a context that is only borrowed would be copied for it, on the fast path too.)
    @_noLocks @_noAllocation
    @inlinable mutating func entry(_ index: Int, sink: Int) -> UnsafeMutablePointer<StackEntry> {
        if let entry = unsafe realEntry(index) { return unsafe entry }
        return unsafe standIn(index, sink: sink)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    mutating func standIn(_ index: Int, sink: Int) -> UnsafeMutablePointer<StackEntry> {
        if index < 0 || index >= depth &- floor {
            fault(index == 0 ? .underflow : .wrongIndex, .buffer, wanted: index, found: depth &- floor)
        }
        let stand = unsafe core.pointee.sinks + sink
        let position = depth &- 1 &- index
        let known = position >= floor && position < entryCount && index >= 0
        unsafe stand.pointee.channelCount = known ? entries[position].channelCount : 1
        unsafe stand.pointee.times = times
        var channel = 0
        while unsafe channel < stand.pointee.channelCount {
            unsafe (stand.pointee.channels[channel] + offset).clearSamples(count: frameCount)
            channel &+= 1
        }
        return unsafe stand
    }

    /// Counts a fault and reports it.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    package func fault(_ kind: Fault.Kind, _ operation: Fault.Operation, wanted: Int, found: Int) {
        // Numbers are handed over and not the context, which would be copied as a whole, also if there is no fault.
        unsafe RenderContext.fault(core, kind, operation, wanted: wanted, found: found, at: sampleTime)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func fault(
        _ core: UnsafeMutablePointer<CycleMemory>, _ kind: Fault.Kind, _ operation: Fault.Operation, wanted: Int,
        found: Int, at sampleTime: Int64
    ) {
        unsafe core.pointee.report(kind, operation, wanted: wanted, found: found, at: sampleTime)
    }
}
