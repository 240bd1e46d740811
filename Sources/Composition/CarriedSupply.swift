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
    @safe struct Line: ~Copyable {
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
    static var longestCall: Int { @_noLocks @_noAllocation get { 1_024 } }
    /// The inputs for events that are carried, and the events that wait.
    static var portLimit: Int { @_noLocks @_noAllocation get { 64 } }
    static var eventLimit: Int { @_noLocks @_noAllocation get { 1_024 } }
    /// Frames by which an input may stray from its place where the calls are uneven, and those from which on it is placed anew.
    static var slack: Int { @_noLocks @_noAllocation get { 96 } }
    static var farthest: Double { @_noLocks @_noAllocation get { 512 } }
    /// A part of a frame by which a time may be wrong.
    static var rounding: Double { @_noLocks @_noAllocation get { 0x1p-20 } }

    // First: the thread sanitizer takes the first member's value for the place of a mutating call, and all empty arrays are one.
    let lines: UnsafeMutablePointer<Line>
    let inputs: [AudioInput]
    let sounds: UnsafeMutablePointer<CycleSupply.Sound>
    let lists: UnsafeMutablePointer<CycleSupply.Events>
    let events: UnsafeMutablePointer<MIDIEvent>
    let inner: UnsafeMutablePointer<CycleSupply>
    let arriving: UnsafeMutablePointer<Outbox>
    let leaving: UnsafeMutablePointer<Outbox>
    /// Outer frames by which the inputs are late: the reach of their filters, and a part that makes the whole way a whole number.
    let lag: Int
    let part: Double
    /// Frames of the inner renderer for one of the outer, by their sample rates.
    let rates: Double

    // The slice.
    var outer: UnsafeMutablePointer<CycleSupply>?
    var start = 0
    var frameCount = 0
    var sampleRate = 48_000.0
    /// The outer frames before it.
    var clock: Int64 = 0
    var sentBefore = 0

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
            // Once: an output may change it meanwhile.
            let channels = input.channelCount
            let room = frames + 2 * lag + 2 * Self.slack + Self.longestCall + Int(Self.farthest)
            unsafe (lines + index).initialize(
                to: Line(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()), channelCount: channels,
                    resampler: Resampler(channels: channels, steps: steps, room: room),
                    block: AudioBlock(channels: channels, frames: Self.longestCall)))
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
                    _ = unsafe arriving.pointee.add(event, to: list[port].identity, due: due)
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
        if count < frameCount { unsafe line.pointee.isPlaced = false }
        unsafe line.pointee.captureTime = sound.pointee.captureTime &+ nanoseconds(Double(start))
    }

    @_noLocks @_noAllocation
    func nanoseconds(_ frames: Double) -> Int64 { RenderTime.nearest(frames * 1e9 / sampleRate) }

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
}
