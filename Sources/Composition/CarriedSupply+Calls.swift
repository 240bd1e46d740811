package import RenderCore

// A call of the inner renderer: the supply that it gets, and the messages that it gives.

extension CarriedSupply {
    /// Returns the frames that a call may have at most, of so many.
    @_noLocks @_noAllocation
    package func limit(_ frames: Int) -> Int {
        inputs.count > 0 && frames > Self.longestCall ? Self.longestCall : frames
    }

    /// Returns the supply of a call that renders a number of frames, each in its time.
    ///
    /// - Parameters:
    ///   - frames: The frames.
    ///   - times: The times of the frames.
    ///   - isSteady: Indicates whether the step is one and the same.
    ///   - ahead: The frame of the slice at which the first of them is heard.
    @_noLocks @_noAllocation
    package mutating func carry(
        _ frames: Int, _ times: Resampler.InputTimes, isSteady: Bool, ahead: Double
    ) -> PassedSupply {
        unsafe sentBefore = leaving.pointee.count
        guard unsafe outer != nil, frames > 0 else { return .none }
        var following = times
        let first = following.next()
        guard first.step > 0 else { return .none }
        let pace = 1 / first.step
        var index = 0
        while index < inputs.count {
            let line = unsafe lines + index
            if unsafe line.pointee.isThere {
                let done = unsafe isSteady ? pull(frames, first, pace, line) : pull(frames, times, line)
                unsafe silence(line, from: done, to: frames)
            }
            index &+= 1
        }
        var last = Double(first.frame) - first.before + Double(frames &- 1) * pace
        if !isSteady {
            var time = first
            var count = 1
            while count < frames {
                time = following.next()
                count &+= 1
            }
            last = Double(time.frame) - time.before
        }
        return supply(
            frames, from: Double(first.frame) - first.before - part, to: last - part, late: Double(lag), ahead: ahead)
    }

    /// Pulls frames at one step. Their place is corrected only where it is wrong, so that it does not depend on the calls.
    @_noLocks @_noAllocation
    private func pull(
        _ frames: Int, _ first: Resampler.InputTimes.Time, _ pace: Double, _ line: UnsafeMutablePointer<Line>
    ) -> Int {
        let whole = frameCount &- first.frame &+ lag
        let before = first.before + part
        let error = unsafe line.pointee.resampler.lead - (Double(whole) + before)
        if unsafe !line.pointee.isPlaced || error > Self.rounding || error < -Self.rounding {
            unsafe line.pointee.resampler.seek(before: whole, before)
        }
        unsafe line.pointee.isPlaced = true
        return unsafe line.pointee.resampler.pull(
            frames, at: Resampler.Step(pace), from: 0, into: line.pointee.block.pointers, line.pointee.channelCount, 0)
    }

    /// Pulls frames at a step that glides, each from its own place.
    @_noLocks @_noAllocation
    private func pull(_ frames: Int, _ times: Resampler.InputTimes, _ line: UnsafeMutablePointer<Line>) -> Int {
        var times = times
        var done = 0
        unsafe line.pointee.isPlaced = true
        var time = times.next()
        while done < frames {
            unsafe line.pointee.resampler.seek(before: frameCount &- time.frame &+ lag, time.before + part)
            let made = unsafe line.pointee.resampler.pull(
                1, at: Resampler.Step(1 / time.step), from: 0, into: line.pointee.block.pointers,
                line.pointee.channelCount, done)
            if made == 0 { break }
            done &+= 1
            if done < frames { time = times.next() }
        }
        // The next frame is sought from here, and may be nearer than a step.
        unsafe line.pointee.resampler.seek(before: frameCount &- time.frame &+ lag, time.before + part)
        return done
    }

    /// Returns the supply of a call where frames are asked for by whole blocks, of about one length.
    ///
    /// - Parameters:
    ///   - frames: The frames.
    ///   - missing: The frames of the block that further calls render.
    ///   - frame: The frame of the slice for which they are asked.
    ///   - pace: Outer frames for one of them.
    ///   - ahead: The frame of the slice at which the first of them is heard.
    @_noLocks @_noAllocation
    package mutating func carry(
        block frames: Int, missing: Int, at frame: Int, pace: Double, ahead: Double
    ) -> PassedSupply {
        unsafe sentBefore = leaving.pointee.count
        guard unsafe outer != nil, frames > 0 else { return .none }
        let late = lag &+ Self.slack
        let last = Double(frame) - Double(missing) * pace
        let first = last - Double(frames &- 1) * pace
        var index = 0
        while index < inputs.count {
            let line = unsafe lines + index
            if unsafe line.pointee.isThere {
                let place = Double(frameCount &+ late) - first
                // It strays by rounding, and where the pace changes inside of a block: so little that it finds back by and by.
                var error = unsafe line.pointee.resampler.lead - place
                let room = Double(Self.slack &>> 1)
                if unsafe !line.pointee.isPlaced || error > Self.farthest || error < -2 * room {
                    let whole = Int(place)
                    unsafe line.pointee.resampler.seek(before: whole, place - Double(whole))
                    unsafe line.pointee.isPlaced = true
                    error = 0
                }
                let step = error > room ? pace * 1.01 : error < -room ? pace * 0.99 : pace
                let done = unsafe line.pointee.resampler.pull(
                    frames, at: Resampler.Step(step), from: 0, into: line.pointee.block.pointers,
                    line.pointee.channelCount, 0)
                unsafe silence(line, from: done, to: frames)
            }
            index &+= 1
        }
        return supply(frames, from: first, to: last, late: Double(late), ahead: ahead)
    }

    @_noLocks @_noAllocation
    private func silence(_ line: UnsafeMutablePointer<Line>, from done: Int, to frames: Int) {
        guard done < frames else { return }
        var channel = 0
        while unsafe channel < line.pointee.channelCount {
            unsafe (line.pointee.block.pointers[channel] + done).clearSamples(count: frames &- done)
            channel &+= 1
        }
        unsafe line.pointee.isPlaced = false
    }

    /// Writes the supply down.
    ///
    /// - Parameters:
    ///   - first: The time of the first frame, in frames of the slice.
    ///   - last: The time of the last one.
    ///   - late: The frames by which inputs are late.
    @_noLocks @_noAllocation
    private mutating func supply(
        _ frames: Int, from first: Double, to last: Double, late: Double, ahead: Double
    ) -> PassedSupply {
        guard let outer = unsafe outer else { return .none }
        let late = inputs.count > 0 ? late : 0
        unsafe inner.pointee = CycleSupply()
        unsafe inner.pointee.frameCount = frames
        unsafe inner.pointee.sounds = sounds
        var (index, count) = (0, 0)
        while index < inputs.count {
            if unsafe lines[index].isThere {
                unsafe sounds[count] = CycleSupply.Sound(
                    identity: lines[index].identity, channels: UnsafePointer(lines[index].block.pointers),
                    channelCount: lines[index].channelCount,
                    captureTime: lines[index].captureTime &+ nanoseconds(first - late))
                count &+= 1
            }
            index &+= 1
        }
        unsafe inner.pointee.soundCount = count
        let transport = unsafe outer.pointee.transport.advanced(by: start &+ Int(ahead), sampleRate: sampleRate)
        unsafe inner.pointee.transport = transport
        if rates != 1 { unsafe inner.pointee.transport.frame = RenderTime.nearest(Double(transport.frame) * rates) }
        unsafe deliver(frames, from: first - late, to: last - late, outer)
        unsafe (inner.pointee.sent, inner.pointee.sentCount) = (outer.pointee.sent, outer.pointee.sentCount)
        unsafe inner.pointee.outbox = leaving
        return unsafe PassedSupply(supply: inner)
    }

    /// Hands over the events that came in up to the last frame, each on the first frame that is not before it.
    @_noLocks @_noAllocation
    private func deliver(
        _ frames: Int, from first: Double, to last: Double, _ outer: UnsafeMutablePointer<CycleSupply>
    ) {
        // A frame that is reached but for rounding is reached: the frames of both clocks may be the same ones.
        let limit = clock &+ RenderTime.nearest(last + Self.rounding - 0.5) &+ 1
        let pace = frames > 1 ? (last - first) / Double(frames &- 1) : 1
        unsafe inner.pointee.received = lists
        let ports = unsafe outer.pointee.receivedCount < Self.portLimit ? outer.pointee.receivedCount : Self.portLimit
        unsafe inner.pointee.receivedCount = ports
        var (port, next) = (0, 0)
        while let received = unsafe outer.pointee.received, port < ports {
            unsafe lists[port] = CycleSupply.Events(
                identity: received[port].identity, events: events + next, capacity: Self.eventLimit &- next)
            var number = 0
            while unsafe number < arriving.pointee.count {
                var entry = unsafe arriving.pointee[number]
                if unsafe entry.port == received[port].identity && entry.due < limit {
                    let frame = (Double(entry.due &- clock) - first) / pace - Self.rounding
                    let whole = frame > 0 ? (frame < Double(frames) ? Int(frame) : frames &- 1) : 0
                    entry.event.frame = Double(whole) < frame && whole &+ 1 < frames ? whole &+ 1 : whole
                    unsafe lists[port].add(entry.event)
                }
                number &+= 1
            }
            unsafe next &+= lists[port].count
            port &+= 1
        }
        unsafe arriving.pointee.forget(dueBefore: limit)
    }

    /// Takes in what the call has sent.
    ///
    /// - Parameters:
    ///   - ahead: The frame of the slice at which its first frame is heard.
    ///   - pace: Outer frames for one of it.
    @_noLocks @_noAllocation
    package mutating func collect(ahead: Double, pace: Double) {
        unsafe leaving.pointee.setDue(from: sentBefore, ahead, pace: pace, after: clock)
    }
}
