internal import RenderCore

/// The past of some channels, in a ring.
@safe struct DelayRing: ~Copyable {
    let samples: UnsafeMutablePointer<Float>
    let channelCount: Int
    /// Frames of a channel: those that are held back at most, and the longest slice.
    let length: Int
    let limit: Int
    /// The address of another ring that waits to be freed with it.
    var next: UInt = 0

    /// Returns a ring on the heap.
    static func make(_ channels: Int, frames: Int, slice: Int) -> UnsafeMutablePointer<DelayRing> {
        let ring = UnsafeMutablePointer<DelayRing>.allocate(capacity: 1)
        unsafe ring.initialize(to: DelayRing(channels, frames: frames, slice: slice))
        return unsafe ring
    }

    static func free(_ ring: UnsafeMutablePointer<DelayRing>) {
        unsafe ring.deinitialize(count: 1)
        unsafe ring.deallocate()
    }

    @_noLocks @_noAllocation
    static func at(_ address: UInt) -> UnsafeMutablePointer<DelayRing>? {
        unsafe UnsafeMutablePointer(bitPattern: address)
    }

    private init(_ channels: Int, frames: Int, slice: Int) {
        (channelCount, length, limit) = (channels, frames + slice, frames)
        unsafe samples = .allocate(capacity: channels * length)
        unsafe samples.initialize(repeating: 0, count: channels * length)
    }

    deinit { unsafe samples.deallocate() }
}

/// A line of buffers that are held back, on the render thread.
@safe struct DelayedLine: ~Copyable {
    private var ring: UnsafeMutablePointer<DelayRing>?
    /// The position in the ring at which the next frame is written.
    private var position = 0
    /// The number of frames that were written since the reset; frames older than those are silence.
    private var filled = 0
    /// Channels that have been written.
    private var used = 0
    /// Frames that it is held back, and those that it is fading to.
    private var delay = 0
    private var next = 0
    /// Frames of the fade that have passed; -1 if there is none.
    private var faded = -1
    /// Indicates whether nothing has been heard yet: then no fade is needed.
    private var isFresh = true
    /// Frames in a row in which the branch said nothing.
    private var ended = 0

    init() {}

    deinit { if let ring = unsafe ring { unsafe DelayRing.free(ring) } }

    @_noLocks @_noAllocation
    mutating func reset() {
        (filled, used, faded, ended) = (0, 0, -1, 0)
        isFresh = true
    }

    /// Takes another ring, with the frames of the old one. Returns the old one.
    @_noLocks @_noAllocation
    mutating func goOn(in new: UnsafeMutablePointer<DelayRing>) -> UnsafeMutablePointer<DelayRing>? {
        let old = unsafe ring
        unsafe ring = new
        guard let old = unsafe old else {
            (position, filled, used) = (0, 0, 0)
            return nil
        }
        let kept = unsafe min(filled, new.pointee.limit)
        var channel = 0
        while channel < used {
            let source = unsafe old.pointee.samples + channel &* old.pointee.length
            let target = unsafe new.pointee.samples + channel &* new.pointee.length
            let first = unsafe position >= kept ? position &- kept : position &- kept &+ old.pointee.length
            let part = unsafe min(kept, old.pointee.length &- first)
            unsafe target.copySamples(from: source + first, count: part)
            unsafe (target + part).copySamples(from: source, count: kept &- part)
            channel &+= 1
        }
        (position, filled) = (kept, kept)
        return unsafe old
    }

    /// Channels of the sound that is still held back of a branch that has ended.
    var channelsLeft: Int {
        @_noLocks @_noAllocation get { ended < max(delay, next) && ended < filled ? used : 0 }
    }

    /// Holds a buffer back.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, at index: Int, wanted: Int, hasEnded: Bool) {
        let frames = context.frameCount
        ended = hasEnded ? min(ended &+ frames, 1 << 40) : 0
        guard let ring = unsafe ring, unsafe frames <= ring.pointee.length &- ring.pointee.limit else {
            // The sound is not held back so far.
            isFresh = false
            return
        }
        let target = unsafe min(wanted, ring.pointee.limit)
        if isFresh {
            (delay, next, faded) = (target, target, -1)
            isFresh = false
        }
        let entry = unsafe context.realEntry(index)
        if let entry = unsafe entry, unsafe entry.pointee.kind == StackEntry.readOnly,
            delay != 0 || target != 0 || faded >= 0
        {
            unsafe CycleMemory.makeOwn(entry, in: context.core)
        }
        unsafe write(entry, ring, context.offset, frames)
        let fade = max(1, Int(context.sampleRate * 0.005))
        var frame = 0
        while frame < frames {
            let (first, was) = (frame, (delay, next, faded))
            if faded >= 0 {
                frame = max(first, min(frames, first &+ (fade &- faded)))
                faded &+= frame &- first
                if faded >= fade { (delay, faded) = (next, -1) }
            } else if target == delay {
                frame = frames
            } else {
                // It begins when all frames of the new delay have been heard.
                frame = max(first, min(frames, target &- filled))
                if frame < frames { (next, faded) = (target, 0) }
            }
            if let entry = unsafe entry, frame > first {
                unsafe read(entry, ring, context.offset, first, frame &- first, was, fade)
            }
        }
        position &+= frames
        if unsafe position >= ring.pointee.length { unsafe position &-= ring.pointee.length }
        filled = unsafe min(filled &+ frames, ring.pointee.length)
    }

    /// Keeps a slice.
    @_noLocks @_noAllocation
    private mutating func write(
        _ entry: UnsafeMutablePointer<StackEntry>?, _ ring: UnsafeMutablePointer<DelayRing>, _ offset: Int,
        _ frames: Int
    ) {
        let length = unsafe ring.pointee.length
        var count = 0
        if let entry = unsafe entry { count = unsafe min(entry.pointee.channelCount, ring.pointee.channelCount) }
        var channel = 0
        while channel < max(count, used) {
            let target = unsafe ring.pointee.samples + channel &* length
            // A channel that was not there before has a silent past.
            if channel >= used { unsafe target.clearSamples(count: length) }
            let part = min(frames, length &- position)
            if channel < count, let entry = unsafe entry {
                let source = unsafe entry.pointee.channels[channel] + offset
                unsafe (target + position).copySamples(from: source, count: part)
                unsafe target.copySamples(from: source + part, count: frames &- part)
            } else {
                unsafe (target + position).clearSamples(count: part)
                unsafe target.clearSamples(count: frames &- part)
            }
            channel &+= 1
        }
        used = channel
    }

    /// Writes the delayed sound into frames of the buffer.
    @_noLocks @_noAllocation
    private func read(
        _ entry: UnsafeMutablePointer<StackEntry>, _ ring: UnsafeMutablePointer<DelayRing>, _ offset: Int, _ first: Int,
        _ count: Int, _ way: (delay: Int, next: Int, faded: Int), _ fade: Int
    ) {
        if way.faded < 0 && way.delay == 0 { return }
        let length = unsafe ring.pointee.length
        let channels = unsafe min(entry.pointee.channelCount, ring.pointee.channelCount)
        var channel = 0
        while channel < channels {
            let past = unsafe ring.pointee.samples + channel &* length
            let target = unsafe entry.pointee.channels[channel] + (offset &+ first)
            if way.faded < 0 {
                // Frames older than the first one are silence.
                let unknown = max(0, min(count, way.delay &- first &- filled))
                unsafe target.clearSamples(count: unknown)
                let place = wrapped(position &+ first &+ unknown &- way.delay, length)
                let part = min(count &- unknown, length &- place)
                unsafe (target + unknown).copySamples(from: past + place, count: part)
                unsafe (target + (unknown &+ part)).copySamples(from: past, count: count &- unknown &- part)
            } else {
                var index = 0
                while index < count {
                    let frame = first &+ index
                    let old = unsafe past[wrapped(position &+ frame &- way.delay, length)]
                    let new = unsafe past[wrapped(position &+ frame &- way.next, length)]
                    let part =
                        Float(Int32(truncatingIfNeeded: way.faded &+ index)) / Float(Int32(truncatingIfNeeded: fade))
                    unsafe target[index] = old * (1 - part) + new * part
                    index &+= 1
                }
            }
            channel &+= 1
        }
    }

    @_noLocks @_noAllocation
    private func wrapped(_ place: Int, _ length: Int) -> Int {
        place < 0 ? place &+ length : place >= length ? place &- length : place
    }
}
