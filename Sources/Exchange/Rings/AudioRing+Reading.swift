public import Synchronization

extension AudioRing {
    /// Frames at the front of the ring that a consumer has looked at, and their time.
    ///
    /// Threads: any.
    public struct Chunk: Sendable, Hashable {
        /// The number of frames: at most as many as were asked for, 0 if none wait.
        public let frameCount: Int
        /// The time at which the first of them is heard; ``RenderTime/immediately`` if there is none or its time is not
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
    @inlinable package func goOn(from position: Int, by frames: Int) {
        let place = consumer.place.load(ordering: .relaxed) &+ frames
        consumer.place.store(place < capacity ? place : place &- capacity, ordering: .relaxed)
        consumer.position.store(position &+ frames, ordering: .releasing)
    }

    /// Moves on to the last stamp at or before `position`.
    @_noLocks @_noAllocation
    package func passStamps(to position: Int) -> Int {
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
