// Mixing. One rule for channels holds everywhere: mono goes to every channel, a mono target gets the sum of all
// channels, and otherwise channel 0 goes to channel 0 and so on; a channel without a counterpart is left out.

extension RenderContext {
    /// Mixes the buffers on top into one. The result has the channels of the widest of them, and its time.
    ///
    /// The sum is made in the widest buffer (of several, the one nearest to the top) and takes the others from the top
    /// down. External buffers are never written.
    ///
    /// - Parameter count: The number of buffers, 1 or more.
    @_noLocks @_noAllocation
    public mutating func mix(_ count: Int = 2) {
        if count == 2 && depth &- floor >= 2 && depth <= entryCount && !mode.has(.dry) {
            // The most frequent mix of all: two of the stack's own buffers, the upper not wider than the lower. A sum
            // of two does not depend on their order, so that it can be made where it is to stay.
            let (top, below) = unsafe (entries + (depth &- 1), entries + (depth &- 2))
            let (shape, shapeOfSum) = unsafe (top.pointee.shape, below.pointee.shape)
            // The short way is not for parts of a slice: there the general way must find which of the two goes on
            // around the part.
            let isStereo = shape == StackEntry.stereoOwn | place
            if shape == shapeOfSum && (isStereo || shape == StackEntry.monoOwn | place) {
                depth &-= 1
                // Of two alike the sum is the upper one's.
                unsafe below.pointee.times = top.pointee.times
                let (channels, sums) = unsafe (top.pointee.channels, below.pointee.channels)
                if isStereo { unsafe Kernel.add(channels[1] + offset, to: sums[1] + offset, frameCount) }
                return unsafe Kernel.add(top.pointee.first + offset, to: below.pointee.first + offset, frameCount)
            }
            if unsafe top.pointee.place == place && below.pointee.place == place {
                let (channels, sums) = unsafe (top.pointee.channelCount, below.pointee.channelCount)
                if unsafe top.pointee.kind | below.pointee.kind == StackEntry.own && channels <= sums {
                    depth &-= 1
                    if channels == sums { unsafe below.pointee.times = top.pointee.times }
                    return unsafe addWide(top, to: below, channels, sums)
                }
            }
        }
        mixAny(count)
    }

    @_noLocks @_noAllocation
    @inline(never) package mutating func addWide(
        _ top: UnsafeMutablePointer<StackEntry>, to below: UnsafeMutablePointer<StackEntry>, _ channels: Int,
        _ sums: Int
    ) {
        unsafe Kernel.addChannels(
            top.pointee.channels, channels, offset, to: below.pointee.channels, sums, offset, gain: 1, frameCount)
    }

    @_noLocks @_noAllocation
    @inline(never) private mutating func mixAny(_ count: Int) {
        guard let target = beginMix(count) else { return }
        var index = 0
        while index < count {
            if index == target {
                index &+= 1
            } else if count &- index >= 3, addThree(index, to: target) {
                index &+= 3
            } else {
                addEntry(index, to: target, gain: 1)
                index &+= 1
            }
        }
        endMix(count, target)
    }

    /// Adds three buffers at once to another, in the order in which they would be added one by one. `false`: they have
    /// not as many channels as the sum, or it is one of them, and nothing was done.
    @_noLocks @_noAllocation
    private mutating func addThree(_ index: Int, to target: Int) -> Bool {
        guard target < index || target >= index &+ 3, let sum = unsafe realEntry(target),
            let a = unsafe realEntry(index), let b = unsafe realEntry(index &+ 1), let c = unsafe realEntry(index &+ 2)
        else { return false }
        let channels = unsafe sum.pointee.channelCount
        guard unsafe a.pointee.channelCount == channels && b.pointee.channelCount == channels,
            unsafe c.pointee.channelCount == channels
        else { return false }
        var channel = 0
        while channel < channels {
            unsafe Kernel.add(
                a.pointee.channels[channel] + offset, b.pointee.channels[channel] + offset,
                c.pointee.channels[channel] + offset, to: sum.pointee.channels[channel] + offset, frameCount)
            channel &+= 1
        }
        return true
    }

    /// Mixes all buffers that the render loop (or the running module) can reach into one; does nothing on an empty
    /// stack.
    @_noLocks @_noAllocation
    public mutating func mixAll() { if bufferCount > 1 { mix(bufferCount) } }

    /// Mixes as many buffers as there are gains.
    ///
    ///     context.mix(gains: [0.5, 1, 0.25])       // the top at half its level, the next as it is, …
    ///
    /// - Parameter gains: Amplitude factors, from the top down.
    @inlinable
    public mutating func mix<let count: Int>(gains: InlineArray<count, Float>) {
        guard let target = beginMix(count) else { return }
        scaleEntry(target, by: gains[target])
        var index = 0
        while index < count {
            if index != target { addEntry(index, to: target, gain: gains[index]) }
            index &+= 1
        }
        endMix(count, target)
    }

    /// Finds the buffer in which the sum is made, as an index from the top, and makes it the stack's own.
    @_noLocks @_noAllocation
    @usableFromInline mutating func beginMix(_ count: Int) -> Int? {
        guard count >= 1 && count <= depth &- floor else {
            fault(count < 1 ? .badArgument : .underflow, .mix, wanted: count, found: depth &- floor)
            if count >= 1 {
                depth = floor
                pushSilence(channels: 1)
            }
            return nil
        }
        if mode.has(.dry) { joinPaths(count) }
        var target = -1
        var widest = 0
        var index = 0
        while index < count {
            if let entry = unsafe realEntry(index), unsafe entry.pointee.channelCount > widest {
                target = index
                widest = unsafe entry.pointee.channelCount
            }
            index &+= 1
        }
        guard target >= 0 else {  // All of them are silence: so is the sum.
            depth &-= count &- 1
            return nil
        }
        if let entry = unsafe realEntry(target), unsafe entry.pointee.kind == StackEntry.readOnly, count > 1 {
            unsafe CycleMemory.makeOwn(entry, in: core)
        }
        return target
    }

    /// Puts the sum where the lowest of the mixed buffers was.
    @_noLocks @_noAllocation
    @usableFromInline mutating func endMix(_ count: Int, _ target: Int) {
        let from = depth &- 1 &- target
        depth &-= count &- 1
        let to = depth &- 1
        guard from != to else { return }
        if unsafe entries[to].place < entries[from].place && entries[to].kind != StackEntry.silent {
            unsafe keepAround(entries + to, sum: entries + from)
            return
        }
        let entry = unsafe entries[from]
        unsafe entries[from] = entries[to]
        unsafe entries[to] = entry
    }

    /// Puts a sum that was made inside of a part of the slice into the buffer around it, which goes on outside.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    mutating func keepAround(_ around: UnsafeMutablePointer<StackEntry>, sum: UnsafeMutablePointer<StackEntry>) {
        let channels = unsafe sum.pointee.channelCount
        if unsafe around.pointee.kind == StackEntry.readOnly || around.pointee.channelCount < channels {
            if unsafe around.pointee.kind != StackEntry.own { unsafe CycleMemory.makeOwn(around, in: core) }
            unsafe CycleMemory.widen(around, to: channels, in: core)
        }
        var channel = 0
        while channel < channels {
            unsafe (around.pointee.channels[channel] + offset).copySamples(
                from: sum.pointee.channels[channel] + offset, count: frameCount)
            channel &+= 1
        }
    }

    @_noLocks @_noAllocation
    @usableFromInline mutating func scaleEntry(_ index: Int, by gain: Float) {
        guard gain != 1, let entry = unsafe realEntry(index) else { return }
        if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
        unsafe scale(entry, by: gain)
    }

    @_noLocks @_noAllocation
    @inline(__always) mutating func scale(_ entry: UnsafeMutablePointer<StackEntry>, by gain: Float) {
        let (channels, count) = unsafe (entry.pointee.channels, entry.pointee.channelCount)
        var channel = 0
        while channel < count {
            unsafe Kernel.scale(channels[channel] + offset, gain, frameCount)
            channel &+= 1
        }
    }

    /// Adds one buffer to another that has at least as many channels.
    @_noLocks @_noAllocation
    @usableFromInline package mutating func addEntry(_ index: Int, to target: Int, gain: Float) {
        guard let source = unsafe realEntry(index), let sum = unsafe realEntry(target) else { return }
        unsafe Kernel.addChannels(
            source.pointee.channels, source.pointee.channelCount, offset,
            to: sum.pointee.channels, sum.pointee.channelCount, offset, gain: gain, frameCount)
    }
}
