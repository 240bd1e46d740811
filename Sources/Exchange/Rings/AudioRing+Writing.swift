internal import Synchronization

extension AudioRing {
    /// Room for one block that a producer is about to write; the block is heard once it is committed.
    ///
    /// A grant that is dropped changes nothing: the next ``AudioRing/reserve(frames:time:)`` starts at the same place.
    ///
    /// Threads: any.
    public struct Grant: ~Copyable, Sendable {
        /// The number of frames that there is room for: all that were asked for, or 0 if they were refused.
        public let frameCount: Int
        let stamp: RingStamp
        var written: UInt64 = 0

        @_noLocks @_noAllocation
        init(frameCount: Int, stamp: RingStamp) {
            self.frameCount = frameCount
            self.stamp = stamp
        }
    }

    /// Producer: asks for room for a block of `frames` frames, the first of which is heard at `time`.
    ///
    /// - Returns: A grant for all of them, or an empty one if the ring is full; the refusal is then counted.
    @_noLocks @_noAllocation
    public func reserve(frames: Int, time: RenderTime) -> Grant {
        guard frames > 0 && enter(producer) else { return Grant(frameCount: 0, stamp: .none) }
        let stamp = nextStamp(time)
        let fits = hasRoom(frames, stamp)
        leave(producer)
        return Grant(frameCount: fits ? frames : 0, stamp: stamp)
    }

    /// Producer: writes one channel of a granted block. Samples beyond the block are left out; missing ones are silent.
    @_noLocks @_noAllocation
    public func write(_ samples: borrowing Samples, channel: Int, to grant: inout Grant) {
        let frames = grant.frameCount
        guard frames > 0 else { return }
        guard channel >= 0 && channel < channelCount else { return countFault() }
        guard enter(producer) else { return }
        if isCurrent(grant.stamp.position, frames: frames) {
            let count = samples.count < frames ? samples.count : frames
            let start = grant.stamp.position % capacity
            let first = count < capacity &- start ? count : capacity &- start
            unsafe (memory.channels[channel] + start).copySamples(from: samples.base, count: first)
            unsafe memory.channels[channel].copySamples(from: samples.base + first, count: count &- first)
            clear(channel: channel, from: grant.stamp.position &+ count, frames: frames &- count)
            grant.written |= 1 &<< UInt64(truncatingIfNeeded: channel)
        } else {
            countFault()
        }
        leave(producer)
    }

    /// Producer: hands a granted block to the consumer. A channel that was not written is silent.
    @_noLocks @_noAllocation
    public func commit(_ grant: consuming Grant) {
        guard grant.frameCount > 0 && enter(producer) else { return }
        if isCurrent(grant.stamp.position, frames: grant.frameCount) {
            var channel = 0
            while channel < channelCount {
                if (grant.written &>> UInt64(truncatingIfNeeded: channel)) & 1 == 0 {
                    clear(channel: channel, from: grant.stamp.position, frames: grant.frameCount)
                }
                channel &+= 1
            }
            publish(grant.frameCount, grant.stamp)
        } else {
            countFault()
        }
        leave(producer)
    }

    /// Producer: writes a block, or a part of it, in one step.
    ///
    /// - Parameters:
    ///   - block: The samples; other widths meet by the rule of ``/SignalBlocks/AudioBlock``.
    ///   - offset: The first frame of the block that is written.
    ///   - frames: The largest number of frames to write; the block's end ends it in any case.
    ///   - time: The time at which the first of them is heard.
    /// - Returns: `true` if the frames were written, `false` if they did not fit; that is then counted.
    @discardableResult
    @_noLocks @_noAllocation
    public func write(
        _ block: borrowing AudioBlock, from offset: Int = 0, frames: Int = .max, time: RenderTime
    ) -> Bool {
        guard offset >= 0 && offset <= block.frameCount && frames >= 0 else {
            countFault()
            return false
        }
        let rest = block.frameCount &- offset
        let count = frames < rest ? frames : rest
        if count == 0 { return true }
        guard enter(producer) else { return false }
        let stamp = nextStamp(time)
        let fits = hasRoom(count, stamp)
        if fits {
            let start = stamp.position % capacity
            let first = count < capacity &- start ? count : capacity &- start
            memory.copy(from: block.memory, at: offset, to: start, frames: first)
            memory.copy(from: block.memory, at: offset &+ first, to: 0, frames: count &- first)
            publish(count, stamp)
        }
        leave(producer)
        return fits
    }

    /// Producer: has samples written where they will be read, which saves a copy of them. A block ends at the end of the ring's
    /// memory; the next one goes on at its beginning.
    ///
    /// - Parameters:
    ///   - frames: The largest number of frames to write, 1 or more.
    ///   - time: The time at which the first of them is heard.
    ///   - body: Writes so many samples of all channels from an index on, the first ones first, and returns how many it has
    ///     written. It may wait.
    /// - Returns: The number of frames that were written; 0 if there is no room.
    package func write<Failure: Error>(
        frames: Int, time: RenderTime,
        inPlace body: (_ channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ first: Int, _ room: Int)
            throws(Failure) -> Int
    ) throws(Failure) -> Int {
        guard frames > 0, enter(producer) else { return 0 }
        defer { leave(producer) }
        let stamp = nextStamp(time)
        let start = stamp.position % capacity
        let room = min(frames, capacity &- start)
        guard hasRoom(room, stamp) else { return 0 }
        let count = min(room, try unsafe body(memory.channels, start, room))
        if count > 0 { publish(count, stamp) }
        return count
    }
}

// MARK: - With the producer's side in hand

extension AudioRing {
    /// Returns a time as this ring keeps it, for the next frame that is written.
    @_noLocks @_noAllocation
    private func nextStamp(_ time: RenderTime) -> RingStamp {
        RingStamp(
            position: producer.position.load(ordering: .relaxed),
            sample: time.sampleKey(sampleRate) ?? RenderTime.unknown,
            host: time.host == RenderTime.unknown ? RenderTime.unknown : time.hostKey)
    }

    /// Returns whether a block fits, samples and stamp; counts it where not.
    @_noLocks @_noAllocation
    private func hasRoom(_ frames: Int, _ stamp: RingStamp) -> Bool {
        let used = stamp.position &- consumer.position.load(ordering: .acquiring)
        if frames <= capacity &- used && (continues(stamp) || hasFreeStamp) { return true }
        countOverflow()
        return false
    }

    /// Returns whether a block is still where the next one goes, and has room there.
    @_noLocks @_noAllocation
    private func isCurrent(_ position: Int, frames: Int) -> Bool {
        position == producer.position.load(ordering: .relaxed)
            && frames <= capacity &- (position &- consumer.position.load(ordering: .acquiring))
    }

    private var hasFreeStamp: Bool {
        @_noLocks @_noAllocation get {
            producer.stamp.load(ordering: .relaxed) &- consumer.stamp.load(ordering: .acquiring) < stamps.count
        }
    }

    /// Returns whether a block's time goes on from the last stamp, so that the block can do without one of its own:
    /// where it knows no sample time, its host time must go on to the nanosecond.
    @_noLocks @_noAllocation
    private func continues(_ stamp: RingStamp) -> Bool {
        if producer.stamp.load(ordering: .relaxed) == 0 { return false }
        let predicted = advance(lastStamp.load(), to: stamp.position)
        return predicted.sample == stamp.sample && (stamp.sample != RenderTime.unknown || predicted.host == stamp.host)
    }

    /// Makes written frames readable, with a stamp where the last one does not give their time already.
    @_noLocks @_noAllocation
    private func publish(_ frames: Int, _ stamp: RingStamp) {
        let number = producer.stamp.load(ordering: .relaxed)
        let predicted = advance(lastStamp.load(), to: stamp.position)
        let isPredicted = number > 0 && predicted.sample == stamp.sample && predicted.host == stamp.host
        // A full table (blocks under 16 frames) costs the block its own host time, which is then counted on at the
        // nominal rate. The sample time is always exact: a block that jumps was refused.
        if !isPredicted && hasFreeStamp {
            stamps.set(number, stamp)
            lastStamp.store(stamp)
            producer.stamp.store(number &+ 1, ordering: .releasing)
        }
        producer.position.store(stamp.position &+ frames, ordering: .releasing)
    }

    @_noLocks @_noAllocation
    private func clear(channel: Int, from position: Int, frames: Int) {
        let start = position % capacity
        let first = frames < capacity &- start ? frames : capacity &- start
        unsafe (memory.channels[channel] + start).clearSamples(count: first)
        unsafe memory.channels[channel].clearSamples(count: frames &- first)
    }
}
