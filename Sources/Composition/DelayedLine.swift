internal import RenderCore

/// A ring on its way to the render thread and back.
@safe struct SentRing: ~Copyable {
    var ring: DelayRing
    /// The frames of the longest slice; the rest of the ring is the longest delay.
    let slice: Int
    /// The address of another ring that waits to be freed with it.
    var next: UInt = 0

    var limit: Int { @_noLocks @_noAllocation get { ring.length &- slice } }

    /// Returns a ring on the heap.
    static func make(_ channels: Int, frames: Int, slice: Int) -> UnsafeMutablePointer<SentRing> {
        let sent = UnsafeMutablePointer<SentRing>.allocate(capacity: 1)
        unsafe sent.initialize(
            to: SentRing(ring: DelayRing(channels: channels, length: frames + slice), slice: slice))
        return unsafe sent
    }

    /// Frees a list of rings.
    static func freeAll(from address: UInt) {
        var address = address
        while let sent = unsafe at(address) {
            address = unsafe sent.pointee.next
            unsafe sent.deinitialize(count: 1)
            unsafe sent.deallocate()
        }
    }

    @_noLocks @_noAllocation
    static func at(_ address: UInt) -> UnsafeMutablePointer<SentRing>? {
        unsafe UnsafeMutablePointer(bitPattern: address)
    }
}

/// A line of buffers that are held back, on the render thread.
@safe struct DelayedLine: ~Copyable {
    private var sent: UnsafeMutablePointer<SentRing>?
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

    deinit { SentRing.freeAll(from: UInt(bitPattern: unsafe sent)) }

    @_noLocks @_noAllocation
    mutating func reset() {
        unsafe sent?.pointee.ring.reset()
        (faded, ended) = (-1, 0)
        isFresh = true
    }

    /// Takes another ring, with the frames of the old one. Returns the old one.
    @_noLocks @_noAllocation
    mutating func goOn(in new: UnsafeMutablePointer<SentRing>) -> UnsafeMutablePointer<SentRing>? {
        let old = unsafe sent
        unsafe sent = new
        if let old = unsafe old { unsafe new.pointee.ring.goOn(from: old.pointee.ring) }
        return unsafe old
    }

    /// Channels of the sound that is still held back of a branch that has ended.
    var channelsLeft: Int {
        @_noLocks @_noAllocation get {
            guard let sent = unsafe sent else { return 0 }
            return unsafe ended < max(delay, next) && ended < sent.pointee.ring.filled ? sent.pointee.ring.used : 0
        }
    }

    /// Holds a buffer back.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, at index: Int, wanted: Int, hasEnded: Bool) {
        let frames = context.frameCount
        ended = hasEnded ? min(ended &+ frames, 1 << 40) : 0
        guard let sent = unsafe sent, unsafe frames <= sent.pointee.slice else {
            // The sound is not held back so far.
            isFresh = false
            return
        }
        let target = unsafe min(wanted, sent.pointee.limit)
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
        unsafe DelayedLine.write(entry, &sent.pointee.ring, context.offset, frames)
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
                frame = unsafe max(first, min(frames, target &- sent.pointee.ring.filled))
                if frame < frames { (next, faded) = (target, 0) }
            }
            if let entry = unsafe entry, frame > first {
                unsafe DelayedLine.read(entry, sent.pointee.ring, context.offset, first, frame &- first, was, fade)
            }
        }
        unsafe sent.pointee.ring.advance(by: frames)
    }

    /// Keeps a slice.
    @_noLocks @_noAllocation
    private static func write(
        _ entry: UnsafeMutablePointer<StackEntry>?, _ ring: inout DelayRing, _ offset: Int, _ frames: Int
    ) {
        var count = 0
        if let entry = unsafe entry { count = unsafe min(entry.pointee.channelCount, ring.channelCount) }
        ring.use(count)
        for channel in 0..<ring.used {
            if channel < count, let entry = unsafe entry {
                unsafe ring.write(entry.pointee.channels[channel] + offset, count: frames, in: channel, frame: 0)
            } else {
                ring.writeSilence(count: frames, in: channel)
            }
        }
    }

    /// Writes the delayed sound into frames of the buffer.
    @_noLocks @_noAllocation
    private static func read(
        _ entry: UnsafeMutablePointer<StackEntry>, _ ring: borrowing DelayRing, _ offset: Int, _ first: Int,
        _ count: Int, _ way: (delay: Int, next: Int, faded: Int), _ fade: Int
    ) {
        if way.faded < 0 && way.delay == 0 { return }
        for channel in 0..<(unsafe min(entry.pointee.channelCount, ring.channelCount)) {
            let target = unsafe entry.pointee.channels[channel] + (offset &+ first)
            if way.faded < 0 {
                unsafe ring.copy(channel, delay: way.delay &- first, to: target, count: count)
                continue
            }
            for index in 0..<count {
                let old = ring.value(channel, delay: way.delay, frame: first &+ index)
                let new = ring.value(channel, delay: way.next, frame: first &+ index)
                let part =
                    Float(Int32(truncatingIfNeeded: way.faded &+ index)) / Float(Int32(truncatingIfNeeded: fade))
                unsafe target[index] = old * (1 - part) + new * part
            }
        }
    }
}
