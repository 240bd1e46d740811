internal import CRender
internal import Synchronization

extension AudioRing {
    /// Frames at the front of the ring that a consumer has looked at, and their time.
    ///
    /// Threads: any.
    public struct Chunk: Sendable, Hashable {
        /// The number of frames: at most as many as were asked for, 0 if none wait.
        public let frameCount: Int
        /// The time at which the first of them is heard; ``/Exchange/RenderTime/immediately`` if there is none or its time is not
        /// known.
        public let time: RenderTime
        let position: Int

        @_noLocks @_noAllocation
        init(frameCount: Int, stamp: RingStamp) {
            self.frameCount = frameCount
            time = RenderTime(sampleTime: stamp.sample, hostTime: stamp.host)
            position = stamp.position
        }
    }

    /// Consumer: returns how many frames wait, at most `frames`, and when the first is heard. They stay in the ring.
    @_noLocks @_noAllocation
    public func peek(frames: Int = .max) -> Chunk {
        guard enter(consumer) else { return refusedChunk }
        let chunk = front(frames)
        leave(consumer)
        return chunk
    }

    /// Consumer: like ``peek(frames:)``, but ends where the time jumps, so that one time holds for the whole chunk.
    ///
    /// Sample times decide where blocks know them; elsewhere host times do.
    ///
    /// - Parameters:
    ///   - frames: The largest number of frames to return.
    ///   - tolerance: The number of frames that a block may be early or late and still go on from the one before.
    ///   - wrap: The frame at which sample times start again at 0, as those of a loop do; 0 if they never do.
    @_noLocks @_noAllocation
    public func peekContiguous(frames: Int = .max, tolerance: Int = 0, wrappingAt wrap: Int64 = 0) -> Chunk {
        guard enter(consumer) else { return refusedChunk }
        var chunk = front(frames)
        if chunk.frameCount > 0 {
            let end = producer.stamp.load(ordering: .acquiring)
            var number = consumer.stamp.load(ordering: .relaxed)
            var stamp = stamps[number]
            number &+= 1
            while number < end && stamps[number].position < chunk.position &+ chunk.frameCount {
                let next = stamps[number]
                if jumps(from: advance(stamp, to: next.position), to: next, tolerance, wrap) {
                    chunk = front(next.position &- chunk.position)
                    break
                }
                stamp = next
                number &+= 1
            }
        }
        leave(consumer)
        return chunk
    }

    /// Consumer: copies one channel of a chunk, which stays in the ring.
    ///
    /// - Parameters:
    ///   - chunk: A chunk that a peek returned; nothing may have been read since.
    ///   - channel: The ring's channel. One that does not exist is a fault, and nothing is copied.
    ///   - samples: The samples to fill.
    ///   - offset: The first sample that is overwritten.
    /// - Returns: The number of samples that were copied; fewer than the chunk has where `samples` ends before.
    @discardableResult
    @_noLocks @_noAllocation
    public func copy(
        _ chunk: Chunk, channel: Int, into samples: inout MutableSpan<Float>, at offset: Int = 0
    ) -> Int {
        if chunk.frameCount == 0 { return 0 }
        guard channel >= 0 && channel < channelCount && offset >= 0 && offset <= samples.count else {
            countFault()
            return 0
        }
        guard enter(consumer) else { return 0 }
        let room = samples.count &- offset
        let count = isReadable(chunk) ? (chunk.frameCount < room ? chunk.frameCount : room) : 0
        let start = chunk.position % capacity
        let first = count < capacity &- start ? count : capacity &- start
        let source = unsafe memory.channels[channel]
        if count > 0 {
            unsafe samples.withUnsafeMutableBufferPointer {
                let target = unsafe $0.baseAddress.unsafelyUnwrapped + offset
                unsafe target.copySamples(from: source + start, count: first)
                unsafe (target + first).copySamples(from: source, count: count &- first)
            }
        }
        leave(consumer)
        return count
    }

    /// Consumer: copies a chunk, which stays in the ring.
    ///
    /// - Parameters:
    ///   - chunk: A chunk that a peek returned; nothing may have been read since.
    ///   - block: The block to fill; other widths meet by the rule of ``/SignalBlocks/AudioBlock``.
    ///   - offset: The first frame that is overwritten.
    /// - Returns: The number of frames that were copied; fewer than the chunk has where the block ends before.
    @discardableResult
    @_noLocks @_noAllocation
    public func copy(_ chunk: Chunk, into block: inout AudioBlock, at offset: Int = 0) -> Int {
        if chunk.frameCount == 0 { return 0 }
        guard offset >= 0 && offset <= block.frameCount else {
            countFault()
            return 0
        }
        guard enter(consumer) else { return 0 }
        let room = block.frameCount &- offset
        let count = isReadable(chunk) ? (chunk.frameCount < room ? chunk.frameCount : room) : 0
        copyFrames(at: chunk.position, count, into: &block, at: offset)
        leave(consumer)
        return count
    }

    /// Consumer: takes a chunk out of the ring. A chunk that is not at the front any more is a fault, and nothing
    /// happens.
    @_noLocks @_noAllocation
    public func consume(_ chunk: Chunk) {
        guard chunk.frameCount > 0 && enter(consumer) else { return }
        if chunk.position == consumer.position.load(ordering: .relaxed) {
            take(waiting(chunk.frameCount))
        } else {
            countFault()
        }
        leave(consumer)
    }

    /// Consumer: drops at most `frames` frames unread; the rest of their block keeps its place in time.
    ///
    /// - Returns: The number of frames that were dropped.
    @discardableResult
    @_noLocks @_noAllocation
    public func skip(frames: Int) -> Int {
        guard enter(consumer) else { return 0 }
        let count = waiting(frames)
        take(count)
        leave(consumer)
        return count
    }

    /// Consumer: reads frames into a block and takes them out of the ring.
    ///
    /// - Parameters:
    ///   - block: The block to fill; other widths meet by the rule of ``/SignalBlocks/AudioBlock``. The rest of it is not touched.
    ///   - frames: The largest number of frames to read; the block's end ends it in any case.
    ///   - offset: The first frame that is overwritten.
    /// - Returns: The number of frames that were read, and the time of the first.
    @discardableResult
    @_noLocks @_noAllocation
    public func read(into block: inout AudioBlock, frames: Int = .max, at offset: Int = 0) -> Chunk {
        guard offset >= 0 && offset <= block.frameCount else {
            countFault()
            return refusedChunk
        }
        guard enter(consumer) else { return refusedChunk }
        let room = block.frameCount &- offset
        let chunk = front(frames < room ? frames : room)
        copyFrames(at: chunk.position, chunk.frameCount, into: &block, at: offset)
        take(chunk.frameCount)
        leave(consumer)
        return chunk
    }

    /// Consumer: reads the frames of a sample time into a buffer, channel by channel, and takes them out of the ring. A
    /// player needs no other call in most slices. The caller sees to it that no other thread is on this side: this call
    /// does not look, which would take the processor as long as a third of the rest.
    ///
    /// - Parameters:
    ///   - time: The sample time of the first frame.
    ///   - frames: The largest number of frames to read.
    ///   - buffer: The buffer to fill; channels that it lacks are left out.
    ///   - offset: The first frame that is overwritten.
    ///   - isPairs: `true` if each sample of the ring's one channel is a pair of 16-bit integers, for two channels.
    /// - Returns: The number of frames that were read: 0 if the next frame is of another time, and fewer where the time
    ///   may jump.
    @_noLocks @_noAllocation
    package func read(
        at time: Int64, frames: Int, into buffer: inout AudioBuffer, at offset: Int, isPairs: Bool = false
    ) -> Int {
        guard frames > 0 && offset >= 0 && offset <= buffer.frameCount else { return 0 }
        let position = consumer.position.load(ordering: .relaxed)
        var count = buffer.frameCount &- offset
        if frames < count { count = frames }
        let waiting = producer.position.load(ordering: .acquiring) &- position
        if waiting < count { count = waiting }
        let number = passStamps(to: position)
        let stamp = stamps[number]
        guard
            count > 0 && stamp.sample != RenderTime.unknown
                && stamp.sample &+ Int64(position &- stamp.position) == time
        else { return 0 }
        // Blocks that go on in time share a stamp: the next one begins where the time jumps, or might.
        let hasNext = number &+ 1 < producer.stamp.load(ordering: .acquiring)
        if hasNext {
            let left = stamps[number &+ 1].position &- position
            if left < count { count = left }
        }
        if unsafe buffer.entry.pointee.kind == StackEntry.readOnly {
            unsafe CycleMemory.makeOwn(buffer.entry, in: buffer.core)
        }
        let start = consumer.place.load(ordering: .relaxed)
        let first = count < capacity &- start ? count : capacity &- start
        copyOut(start, first, to: &buffer, at: offset, isPairs)
        if first < count { copyOut(0, count &- first, to: &buffer, at: offset &+ first, isPairs) }
        goOn(from: position, by: count)
        if hasNext { _ = passStamps(to: position &+ count) }
        return count
    }

    /// Copies frames that do not go round the end of the memory.
    @_noLocks @_noAllocation @inline(__always)
    private func copyOut(_ start: Int, _ count: Int, to buffer: inout AudioBuffer, at offset: Int, _ isPairs: Bool) {
        if isPairs {
            let source = unsafe memory.channels[0] + start
            let pairs = unsafe UnsafeRawPointer(source).assumingMemoryBound(to: Int16.self)
            let left = unsafe buffer.memory(0) + offset
            if buffer.channelCount > 1 {
                unsafe Kernel.convert(pairs: pairs, to: left, buffer.memory(1) + offset, count)
            } else {
                unsafe AudioRing.convertLeft(pairs, to: left, count)
            }
            unsafe prefetch(source, start, count)
        } else {
            copyChannels(start, count, to: &buffer, at: offset)
        }
    }

    /// A function of its own, so that pairs need not save its registers.
    @_noLocks @_noAllocation @inline(never)
    private func copyChannels(_ start: Int, _ count: Int, to buffer: inout AudioBuffer, at offset: Int) {
        var channel = 0
        while channel < channelCount && channel < buffer.channelCount {
            let source = unsafe memory.channels[channel] + start
            unsafe StackKernel.copy(source, to: buffer.memory(channel) + offset, count)
            unsafe prefetch(source, start, count)
            channel &+= 1
        }
    }

    /// Has the processor fetch the next frames, which another thread has written and which are read in a moment.
    @_noLocks @_noAllocation @inline(__always)
    private func prefetch(_ source: UnsafeMutablePointer<Float>, _ start: Int, _ count: Int) {
        var ahead = count
        let end = min(count &+ (count < 256 ? count : 256), capacity &- start)
        while ahead < end {
            unsafe crender_prefetch(source + ahead)
            ahead &+= 16
        }
    }

    /// Converts the first of each pair, for a buffer of one channel. A function of its own: inlined, it would slow down
    /// buffers of two.
    @_noLocks @_noAllocation @inline(never)
    private static func convertLeft(
        _ pairs: UnsafePointer<Int16>, to target: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        var i = 0
        while i < count {
            unsafe target[i] = Float(pairs[2 &* i]) * 0x1p-15
            i &+= 1
        }
    }

    /// Consumer: drops all frames that wait.
    @_noLocks @_noAllocation
    public func clear() {
        skip(frames: .max)
    }
}

// MARK: - With the consumer's side in hand

extension AudioRing {
    private var refusedChunk: Chunk {
        @_noLocks @_noAllocation get {
            Chunk(frameCount: 0, stamp: .none)
        }
    }

    @_noLocks @_noAllocation
    private func waiting(_ limit: Int) -> Int {
        let frames = availableFrames
        return limit < 0 ? 0 : limit < frames ? limit : frames
    }

    /// Returns the chunk at the front. Passes over stamps that do not hold any more, and gives them back to the
    /// producer.
    @_noLocks @_noAllocation
    private func front(_ limit: Int) -> Chunk {
        let frames = waiting(limit)
        let position = consumer.position.load(ordering: .relaxed)
        let number = passStamps(to: position)
        if frames == 0 { return refusedChunk }
        return Chunk(frameCount: frames, stamp: advance(stamps[number], to: position))
    }

    @_noLocks @_noAllocation
    private func take(_ frames: Int) {
        if frames == 0 { return }
        let position = consumer.position.load(ordering: .relaxed)
        goOn(from: position, by: frames)
        _ = passStamps(to: position &+ frames)
    }

    /// Gives frames that were read back to the producer.
    @_noLocks @_noAllocation @inline(__always)
    private func goOn(from position: Int, by frames: Int) {
        let place = consumer.place.load(ordering: .relaxed) &+ frames
        consumer.place.store(place < capacity ? place : place &- capacity, ordering: .relaxed)
        consumer.position.store(position &+ frames, ordering: .releasing)
    }

    /// Moves on to the last stamp at or before `position`.
    @_noLocks @_noAllocation
    private func passStamps(to position: Int) -> Int {
        let end = producer.stamp.load(ordering: .acquiring)
        let before = consumer.stamp.load(ordering: .relaxed)
        var number = before
        while number &+ 1 < end && stamps[number &+ 1].position <= position { number &+= 1 }
        if number != before { consumer.stamp.store(number, ordering: .releasing) }
        return number
    }

    /// Returns whether a chunk is still in the ring; counts the fault where not.
    @_noLocks @_noAllocation
    private func isReadable(_ chunk: Chunk) -> Bool {
        let offset = chunk.position &- consumer.position.load(ordering: .relaxed)
        if offset >= 0 && chunk.frameCount <= availableFrames &- offset { return true }
        countFault()
        return false
    }

    @_noLocks @_noAllocation
    private func copyFrames(at position: Int, _ count: Int, into block: inout AudioBlock, at offset: Int) {
        if count == 0 { return }
        let start = position % capacity
        let first = count < capacity &- start ? count : capacity &- start
        block.memory.copy(from: memory, at: start, to: offset, frames: first)
        block.memory.copy(from: memory, at: 0, to: offset &+ first, frames: count &- first)
    }

    /// Returns whether `next` is further from `expected` than the tolerance. A block that stops (or begins) to know its
    /// time jumps; two that never knew do not.
    @_noLocks @_noAllocation
    private func jumps(from expected: RingStamp, to next: RingStamp, _ tolerance: Int, _ wrap: Int64) -> Bool {
        let unknown = RenderTime.unknown
        if (expected.sample == unknown) != (next.sample == unknown) { return true }
        if next.sample != unknown {
            let due = wrap > 0 ? expected.sample % wrap : expected.sample
            var distance = (next.sample &- due).magnitude
            if wrap > 0 && wrap.magnitude &- distance < distance { distance = wrap.magnitude &- distance }
            return distance > UInt64(truncatingIfNeeded: tolerance)
        }
        if (expected.host == unknown) != (next.host == unknown) { return true }
        if next.host == unknown { return false }
        // Half a nanosecond more: host times are rounded.
        let distance = Double((next.host &- expected.host).magnitude)
        return distance > (Double(tolerance) * nanosecondsPerFrame + 0.5)
    }
}
