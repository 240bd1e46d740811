package import RenderCore
package import Supply

/// The supply of a renderer that is on its way into an inner one with another clock: inputs are resampled, events wait for their
/// frame, and what the inner one sends waits until it is heard.
///
/// An input keeps real time: the inner renderer gets as many frames of it as its clock has for the outer frames that have come in, however fast
/// that clock runs. A slice of the outer renderer begins with ``begin(_:)`` and ends with ``end(_:)``; between them each call of the
/// inner renderer gets what ``carry`` returns.
@safe package struct CarriedSupply: ~Copyable, @unchecked Sendable {
    // Unchecked because it alone leads to its memory; the inputs are Sendable.

    /// An input on its way.
    @safe private struct Line: ~Copyable {
        let identity: UnsafeRawPointer
        let channelCount: Int
        var resampler: Resampler
        /// The frames of one call of the inner renderer.
        let block: AudioBlock
        /// Indicates whether the outer renderer has sound for it.
        var isThere = false
        /// Indicates whether its place has been found since then.
        var isPlaced = false
        /// The time at which the first frame of the slice was captured.
        var captureTime: Int64 = 0
    }

    /// The frames that a call of the inner renderer has at most, if there are inputs.
    private static var longestCall: Int { 1_024 }
    /// The inputs for events that are carried, and the events that wait.
    private static var portLimit: Int { 64 }
    private static var eventLimit: Int { 1_024 }
    /// Frames by which an input may stray from its place where the calls are uneven, and those from which on it is placed anew.
    private static var slack: Int { 96 }
    private static var farthest: Double { 9_600 }
    /// A part of a frame by which a time may be wrong.
    private static var rounding: Double { 0x1p-20 }

    private let inputs: [AudioInput]
    private let lines: UnsafeMutablePointer<Line>
    private let sounds: UnsafeMutablePointer<CycleSupply.Sound>
    private let lists: UnsafeMutablePointer<CycleSupply.Events>
    private let events: UnsafeMutablePointer<MIDIEvent>
    private let inner: UnsafeMutablePointer<CycleSupply>
    private let arriving: UnsafeMutablePointer<Outbox>
    private let leaving: UnsafeMutablePointer<Outbox>
    /// Outer frames by which the inputs are late: the reach of their filters, and a part that makes the whole way a whole number.
    private let lag: Int
    private let part: Double
    /// Frames of the inner renderer for one of the outer, by their sample rates.
    private let rates: Double

    // The slice.
    private var outer: UnsafeMutablePointer<CycleSupply>?
    private var start = 0
    private var frameCount = 0
    private var sampleRate = 48_000.0
    /// The outer frames before it.
    private var clock: Int64 = 0
    private var sentBefore = 0

    /// - Parameters:
    ///   - inputs: The inputs in the inner renderer.
    ///   - steps: Outer frames for an inner one.
    ///   - part: A part of a frame by which the inputs are later.
    ///   - rates: Frames of the inner renderer for one of the outer, by their sample rates.
    ///   - frames: The frames of the longest slice.
    package init(_ inputs: [AudioInput], steps: ClosedRange<Double>, part: Double = 0, rates: Double = 1, frames: Int) {
        self.inputs = inputs
        self.rates = rates
        self.part = inputs.isEmpty ? 0 : part
        lag = inputs.isEmpty ? 0 : Resampler.lookAhead(for: steps)
        unsafe lines = .allocate(capacity: max(1, inputs.count))
        unsafe sounds = .allocate(capacity: max(1, inputs.count))
        for (index, input) in inputs.enumerated() {
            let room = frames + 2 * lag + 2 * Self.slack + Self.longestCall
            unsafe (lines + index).initialize(
                to: Line(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()), channelCount: input.channelCount,
                    resampler: Resampler(channels: input.channelCount, steps: steps, room: room),
                    block: AudioBlock(channels: input.channelCount, frames: Self.longestCall)))
        }
        unsafe lists = .allocate(capacity: Self.portLimit)
        unsafe events = .allocate(capacity: Self.eventLimit)
        unsafe inner = .allocate(capacity: 1)
        unsafe inner.initialize(to: CycleSupply())
        unsafe arriving = .allocate(capacity: 1)
        unsafe arriving.initialize(to: Outbox(capacity: Self.eventLimit))
        unsafe leaving = .allocate(capacity: 1)
        unsafe leaving.initialize(to: Outbox(capacity: Self.eventLimit))
    }

    deinit {
        unsafe lines.deinitialize(count: inputs.count)
        unsafe lines.deallocate()
        unsafe sounds.deallocate()
        unsafe lists.deallocate()
        unsafe events.deallocate()
        unsafe inner.deallocate()
        unsafe arriving.deinitialize(count: 1)
        unsafe arriving.deallocate()
        unsafe leaving.deinitialize(count: 1)
        unsafe leaving.deallocate()
    }

    /// Returns the outer frames by which an input is late inside, where each frame is asked for in its time.
    package static func lag(for steps: ClosedRange<Double>) -> Int { Resampler.lookAhead(for: steps) }

    /// Returns the same where a ``TimeStretch`` asks for the inner frames, by whole blocks.
    package static func lagInBlocks(for steps: ClosedRange<Double>) -> Int {
        lag(for: steps) + slack - TimeStretch.margin
    }

    // MARK: Slices

    /// Begins a slice: takes in its sound and events.
    @_noLocks @_noAllocation
    package mutating func begin(_ context: borrowing RenderContext) {
        let passed = context.supply()
        unsafe outer = passed.supply
        (start, frameCount, sampleRate) = (passed.start, context.frameCount, context.sampleRate)
        unsafe sentBefore = leaving.pointee.count
        guard let outer = unsafe outer else { return forgetSound() }
        var port = 0
        while let list = unsafe outer.pointee.received, unsafe port < outer.pointee.receivedCount {
            var number = 0
            while unsafe number < list[port].count {
                let event = unsafe list[port].events[number]
                let frame = event.frame &- start
                if frame >= 0 && frame < frameCount {
                    let due = clock &+ Int64(frame)
                    if unsafe !arriving.pointee.add(event, to: list[port].identity, due: due) {
                        unsafe list[port].lost &+= 1
                    }
                }
                number &+= 1
            }
            port &+= 1
        }
        var index = 0
        while index < inputs.count {
            let sound = unsafe context.sound(for: lines[index].identity)
            unsafe takeIn(sound, lines + index)
            index &+= 1
        }
    }

    @_noLocks @_noAllocation
    private func forgetSound() {
        var index = 0
        while index < inputs.count {
            unsafe lines[index].isThere = false
            index &+= 1
        }
    }

    @_noLocks @_noAllocation
    private func takeIn(_ sound: UnsafeMutablePointer<CycleSupply.Sound>?, _ line: UnsafeMutablePointer<Line>) {
        guard let sound = unsafe sound else {
            unsafe line.pointee.isThere = false
            return
        }
        if unsafe !line.pointee.isThere {
            unsafe line.pointee.resampler.reset()
            _ = unsafe line.pointee.resampler.pushSilence(2 &* lag &+ 2 &* Self.slack)
            unsafe (line.pointee.isThere, line.pointee.isPlaced) = (true, false)
        }
        let place = unsafe line.pointee.resampler.place(for: frameCount)
        let count = unsafe place.frames < frameCount ? place.frames : frameCount
        var channel = 0
        while unsafe channel < line.pointee.channelCount {
            let target = unsafe place.channels[channel] + place.offset
            if unsafe channel < sound.pointee.channelCount {
                unsafe target.copySamples(from: sound.pointee.channels[channel] + start, count: count)
            } else {
                unsafe target.clearSamples(count: count)
            }
            channel &+= 1
        }
        unsafe line.pointee.resampler.advance(count)
        unsafe line.pointee.captureTime = sound.pointee.captureTime &+ nanoseconds(Double(start))
    }

    @_noLocks @_noAllocation
    private func nanoseconds(_ frames: Double) -> Int64 { RenderTime.nearest(frames * 1e9 / sampleRate) }

    /// Ends a slice: sends what is heard in it.
    @_noLocks @_noAllocation
    package mutating func end() {
        let end = clock &+ Int64(frameCount)
        var index = 0
        while unsafe index < leaving.pointee.count {
            var entry = unsafe leaving.pointee[index]
            if entry.due < end, let outer = unsafe outer {
                entry.event.frame = start &+ Int(entry.due > clock ? entry.due &- clock : 0)
                _ = unsafe outer.pointee.send(entry.event, to: entry.port)
            }
            index &+= 1
        }
        unsafe leaving.pointee.forget(dueBefore: end)
        clock = end
        unsafe outer = nil
    }

    // MARK: Calls of the inner renderer

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
            following = times
            var time = first
            var count = 0
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
        unsafe sentBefore = leaving.pointee.count
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
