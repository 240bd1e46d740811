// Buffers in memory that is not the stack's, and parts of a slice.

extension RenderContext {
    /// Pushes a block's samples without copying them, runs `body`, and takes them off the stack again.
    ///
    /// The block is never written: an edit takes a copy first. A buffer of it that is left on the stack is copied too.
    ///
    ///     loop.with(&context) { loop, context in
    ///         context.withExternal(loop, from: position) { context in context.mix(2) }
    ///     }
    ///
    /// - Parameters:
    ///   - block: A block with at most as many channels as a buffer can have.
    ///   - first: The first frame to show. The block must go on for at least a slice from there; else the buffer is
    ///     silent, and that is a fault.
    ///   - body: The closure, which finds the block on top.
    @inlinable @_transparent
    public mutating func withExternal(
        _ block: borrowing AudioBlock, from first: Int = 0, _ body: (inout RenderContext) -> Void
    ) {
        unsafe pushExternal(
            UnsafePointer(block.pointers), channels: block.channelCount, from: first, of: block.frameCount,
            isReadOnly: true)
        body(&self)
        unsafe detach(UnsafePointer(block.pointers), from: first)
    }

    /// Does the same as ``withExternal(_:from:_:)`` with a block that may be written: edits go straight into it.
    @inlinable @_transparent
    public mutating func withExternal(
        editing block: inout AudioBlock, from first: Int = 0, _ body: (inout RenderContext) -> Void
    ) {
        unsafe pushExternal(
            UnsafePointer(block.pointers), channels: block.channelCount, from: first, of: block.frameCount,
            isReadOnly: false)
        body(&self)
        unsafe detach(UnsafePointer(block.pointers), from: first)
    }

    /// Adds the top to memory of one's own; the stack stays as it is. Mono goes to every channel of the block, as in a mix.
    ///
    ///     loop.with(&context) { loop, context in context.addTop(to: &loop, from: position) }         // an overdub
    ///
    /// - Parameters:
    ///   - block: The block. One that ends within the slice stays as it is, which is a fault.
    ///   - first: The first frame of the block that is added to.
    ///   - gain: The factor for the top.
    @_noLocks @_noAllocation
    public mutating func addTop(to block: inout AudioBlock, from first: Int = 0, gain: Float = 1) {
        guard require(1, for: .external) else { return }
        guard first >= 0, first <= block.frameCount, block.frameCount &- first >= frameCount else {
            return fault(.badCycle, .external, wanted: frameCount, found: block.frameCount &- first)
        }
        guard let top = unsafe realEntry(0) else { return }
        unsafe Kernel.addChannels(
            top.pointee.channels, top.pointee.channelCount, offset, to: UnsafePointer(block.pointers),
            block.channelCount, first, gain: gain, frameCount)
    }

    /// Pushes channels that lie anywhere in memory. They must stay there until the slice has ended.
    @_noLocks @_noAllocation
    @unsafe @usableFromInline
    package mutating func pushExternal(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, channels count: Int, from first: Int, of frames: Int,
        isReadOnly: Bool
    ) {
        guard first >= 0, first <= frames, frames &- first >= frameCount else {
            fault(.badCycle, .external, wanted: frameCount, found: frames &- first)
            pushSilence(channels: count)
            return
        }
        guard claim(channels: count, for: .external) else { return }
        let entry = unsafe entries + (depth &- 1)
        unsafe entry.pointee.kind = isReadOnly ? StackEntry.readOnly : StackEntry.external
        unsafe entry.pointee.validFrom = Int32(truncatingIfNeeded: offset)
        unsafe entry.pointee.validTo = Int32(truncatingIfNeeded: offset &+ frameCount)
        var channel = 0
        while channel < count {
            // Everything on the stack begins `offset` frames into its memory: see `subBlock`.
            unsafe entry.pointee.channels[channel] = channels[channel] + (first &- offset)
            channel &+= 1
        }
    }

    /// Copies buffers of a block that goes away and are still on the stack.
    @_noLocks @_noAllocation
    @unsafe @usableFromInline
    mutating func detach(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, from first: Int
    ) {
        var position = 0
        let end = depth < entryCount ? depth : entryCount
        while position < end {
            let entry = unsafe entries + position
            if unsafe entry.pointee.kind == StackEntry.readOnly || entry.pointee.kind == StackEntry.external,
                unsafe entry.pointee.channels[0] == channels[0] + (first &- offset)
            {
                unsafe CycleMemory.makeOwn(entry, in: core)
            }
            position &+= 1
        }
    }

    /// Renders a part of the slice as if it were one: time, length and outputs are those of the part.
    ///
    ///     context.subBlock(offset: 0, length: cut) { context in context.run(synth); context.output(); context.pop() }
    ///     context.subBlock(offset: cut, length: context.frameCount - cut) { … }
    ///
    /// Buffers that are on the stack show the same part. `body` must pop each buffer that it pushes: if the stack is
    /// not as deep afterwards as before, that is a fault. A part of no frames runs nothing; one that does not lie
    /// inside of the slice is a fault and runs nothing.
    ///
    /// - Parameters:
    ///   - first: The first frame of the part, counted from the start of this slice.
    ///   - length: The number of frames in the part.
    ///   - body: The closure that renders the part.
    @inlinable @_transparent
    public mutating func subBlock(offset first: Int, length: Int, _ body: (inout RenderContext) -> Void) {
        if let saved = enterSubBlock(first, length) {
            body(&self)
            leaveSubBlock(saved)
        }
    }

    @usableFromInline struct Part: BitwiseCopyable {
        let offset: Int
        let frameCount: Int
        let sampleTime: Int64
        let hostTime: Int64
        let depth: Int
        let place: UInt64
    }

    @_noLocks @_noAllocation
    @usableFromInline mutating func enterSubBlock(_ first: Int, _ length: Int) -> Part? {
        guard first >= 0, length >= 0, first <= frameCount, length <= frameCount &- first else {
            fault(.badArgument, .subBlock, wanted: first, found: frameCount)
            return nil
        }
        if length == 0 { return nil }
        let saved = Part(
            offset: offset, frameCount: frameCount, sampleTime: sampleTime, hostTime: hostTime, depth: depth,
            place: place)
        place = (place &+ 1 << 18) & 0xFFFC_0000
        offset &+= first
        frameCount = length
        sampleTime &+= Int64(first)
        hostTime &+= RenderTime.nearest(Double(first) * 1e9 / sampleRate)
        return saved
    }

    @_noLocks @_noAllocation
    @usableFromInline mutating func leaveSubBlock(_ saved: Part) {
        if depth != saved.depth {
            fault(.unbalanced, .subBlock, wanted: saved.depth, found: depth)
            if depth > saved.depth { depth = saved.depth }
        }
        let (start, count) = (offset &- saved.offset, frameCount)
        place = saved.place
        offset = saved.offset
        frameCount = saved.frameCount
        sampleTime = saved.sampleTime
        hostTime = saved.hostTime
        silenceStrangers(start, count)
        while depth < saved.depth { pushSilence(channels: 1) }
    }

    /// Silences frames outside of the part in buffers that were pushed inside of it and left on the stack: those frames
    /// have never been written.
    @_noLocks @_noAllocation
    mutating func silenceStrangers(_ start: Int, _ count: Int) {
        var position = 0
        let end = depth < entryCount ? depth : entryCount
        while position < end {
            let entry = unsafe entries + position
            if unsafe entry.pointee.place > place, unsafe entry.pointee.kind != StackEntry.silent {
                fault(.unbalanced, .subBlock, wanted: depth, found: depth)
                unsafe entry.pointee.place = place
                // Memory from outside is neither written here nor as long as the slice: a copy takes its place.
                if unsafe entry.pointee.kind != StackEntry.own { unsafe CycleMemory.makeOwn(entry, in: core) }
                guard unsafe entry.pointee.kind == StackEntry.own else {
                    dropToSilence(position)
                    position &+= 1
                    continue
                }
                var channel = 0
                while unsafe channel < entry.pointee.channelCount {
                    let samples = unsafe entry.pointee.channels[channel] + offset
                    unsafe samples.clearSamples(count: start)
                    unsafe (samples + (start &+ count)).clearSamples(count: frameCount &- start &- count)
                    channel &+= 1
                }
            }
            position &+= 1
        }
    }
}
