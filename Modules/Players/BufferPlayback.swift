internal import DiskStreaming
internal import RenderCore

/// The render thread's side of a ``BufferPlayer``: the playing sound, and its position.
struct BufferPlayback: BitwiseCopyable, Sendable {
    /// A sound and its next frame; the number 0 stands for none.
    struct Place: BitwiseCopyable, Sendable {
        var number: Int
        var frame: Int

        @_noLocks @_noAllocation
        init(number: Int = 0, frame: Int = 0) {
            self.number = number
            self.frame = frame
        }
    }

    /// A sound that is to begin.
    struct Cue: BitwiseCopyable, Sendable {
        let number: Int
        let frame: Int

        @_noLocks @_noAllocation
        init(number: Int = 0, frame: Int = .max) {
            self.number = number
            self.frame = frame
        }

        @_noLocks @_noAllocation
        func isDue(at frame: Int) -> Bool { number != 0 && self.frame <= frame }
    }

    /// The first in order, the next one that interrupts, and the next one that does so at the end of a loop. Of several
    /// for one frame the last.
    struct Outlook: BitwiseCopyable, Sendable {
        var next = Cue()
        var cut = Cue()
        var turn = Cue()

        @_noLocks @_noAllocation
        init() {}
    }

    var isPlaying = false
    var current = Place()
    /// The length of the current sound, in frames.
    var length = 0
    var loops = false
    /// Every sound up to this number has been played, or dropped.
    var done = 0
    /// Frames of a fade, as last set.
    var fade = 0
    /// The frames that are left of the fade-in of a sound that comes back.
    var fadeIn = 0
    var fadeInLength = 0
    /// The place in the sound that was cut off and is fading out.
    var tail = Place()
    var tailLeft = 0
    var tailLength = 0
    /// The streams of both, where they are stretched: frames count in them.
    var stream: StreamReference?
    var tailStream: StreamReference?
    /// Frames that were not stretched in time.
    var missing = 0

    @_noLocks @_noAllocation
    init() {}

    /// Indicates whether the sound that fades out is the one that rests, so that they have one stream together.
    var isTailShared: Bool {
        @_noLocks @_noAllocation get { tailStream != nil && tailStream?.id == stream?.id }
    }

    @_noLocks @_noAllocation
    mutating func start() {
        if isPlaying { return }
        isPlaying = true
        if isTailShared {
            // It comes back while it fades out.
            fadeIn = fade &- fade &* tailLeft / tailLength
            fadeInLength = fade
            endTail()
            return
        }
        // A loop that rests at its end begins again: there is nothing to fade in.
        if current.number != 0 && current.frame > 0 {
            fadeIn = fade
            fadeInLength = fade
        }
    }

    @_noLocks @_noAllocation
    mutating func rest() {
        if isPlaying { leave() }
        isPlaying = false
    }

    @_noLocks @_noAllocation
    mutating func stop(upTo number: Int) {
        if isPlaying { leave() }
        isPlaying = false
        if current.number > done { done = current.number }
        if number > done { done = number }
        end()
    }

    /// Cuts off the current sound: it fades out, if it is to.
    @_noLocks @_noAllocation
    mutating func leave() {
        if current.number == 0 || fade == 0 || fadeIn > 0 { return }
        beginTail(fade)
    }

    /// Has the current sound fade out, beside what is current then.
    @_noLocks @_noAllocation
    private mutating func beginTail(_ frames: Int) {
        endTail()
        tail = current
        tailStream = stream
        tailLeft = frames
        tailLength = frames
    }

    /// Ends the sound that fades out.
    @_noLocks @_noAllocation
    mutating func endTail() {
        if let tailStream, !isTailShared { tailStream.release() }
        tail = Place()
        tailStream = nil
    }

    /// Ends the current sound; what fades out of it goes on.
    @_noLocks @_noAllocation
    mutating func end() {
        if let stream, !isTailShared { stream.release() }
        stream = nil
        current = Place()
    }

    /// Begins the sound of an entry.
    @_noLocks @_noAllocation
    mutating func begin(_ entry: borrowing BufferEntry) {
        length = entry.frameCount
        loops = entry.loops
        guard let next = entry.cue.command.stream, !next.wasBegun else { return }
        next.hold()
        stream = next
        findLength()
    }

    /// Goes on at the beginning of a loop.
    @_noLocks @_noAllocation
    mutating func goRound() {
        if stream == nil { current.frame = 0 } else { findLength() }
    }

    /// Finds the end of the pass in which the current frame of the stream is.
    @_noLocks @_noAllocation
    private mutating func findLength() {
        guard let geometry = stream?.geometry else { return }
        length = Int(geometry.end(ofPass: geometry.passesEnded(at: Int64(current.frame)) &+ 1))
    }

    /// Indicates whether the stream of the current sound can be exchanged: nothing fades.
    var isSettled: Bool { @_noLocks @_noAllocation get { current.number != 0 && tail.number == 0 && fadeIn == 0 } }

    /// Goes on with the current sound at another tempo or pitch, if the frames for it have come.
    ///
    /// - Parameters:
    ///   - entry: The entry of the current sound.
    ///   - frames: The frames that are to be there.
    ///   - fade: The frames in which one fades over to the other.
    @_noLocks @_noAllocation
    mutating func follow(_ entry: borrowing BufferEntry, frames: Int, fade: Int) {
        let next = entry.cue.command.stream
        if next?.id == stream?.id { return }
        let old = stream?.geometry ?? entry.geometry, new = next?.geometry ?? entry.geometry
        let frame = new.frame(like: Int64(current.frame), of: old)
        if let next {
            if next.wasBegun { return }
            next.jump(to: frame)
            if !next.has(frame, frames &+ 1_024) { return }
        }
        if isPlaying {
            beginTail(fade)
            fadeIn = fade
            fadeInLength = fade
        } else if let stream {
            stream.release()
        }
        if let next { next.hold() }
        stream = next
        current.frame = Int(frame)
        length = entry.frameCount
        findLength()
    }

    /// A sound and its frame as control code sees them, in one word.
    struct ShownPlace {
        let number: Int64
        let frame: Int64

        init(_ word: Int64) {
            number = word >> 43
            frame = word & (1 << 43 - 1)
        }

        /// Returns whether it is in the sound with a number.
        func isIn(_ number: Int) -> Bool { number != 0 && Int64(number & 0xFFFFF) == self.number }
    }

    /// The word of the present place.
    @_noLocks @_noAllocation
    func shownPlace(_ geometry: StreamGeometry?) -> Int64 {
        let frame = geometry?.position(at: Int64(current.frame)) ?? Int64(current.frame)
        return Int64(current.number & 0xFFFFF) &<< 43 | frame & (1 &<< 43 &- 1)
    }
}

/// A sound in the list, as the render thread sees it.
struct BufferEntry: ~Copyable, Sendable {
    enum Interruption: Sendable, BitwiseCopyable { case none, atOnce, atLoop }

    let number: Int
    let sound: Sound
    let frameCount: Int
    let time: RenderTime
    let loops: Bool
    let interruption: Interruption
    /// The host time at which the last frame is over; 0 if it has not been taken.
    let end: SharedWords
    /// The cue that leads to the stream of the sound, if it is stretched.
    let cue: DiskCue
    /// The frames of the sound as it is.
    let geometry: StreamGeometry

    init(_ number: Int, _ sound: Sound, _ ticket: ScheduledSound, _ stream: DiskStream? = nil) {
        cue = DiskCue(stream)
        geometry = StreamGeometry(
            lower: 0, upper: Int64(sound.frameCount), start: 0, passes: ticket.options.contains(.loops) ? .max : 1,
            fileRate: sound.sampleRate, outputRate: sound.sampleRate)
        self.number = number
        self.sound = sound
        frameCount = sound.frameCount
        time = ticket.time
        loops = ticket.options.contains(.loops)
        interruption =
            ticket.options.contains(.interrupts)
            ? .atOnce : ticket.options.contains(.interruptsAtLoop) ? .atLoop : .none
        end = SharedWords(sharing: ticket.end)
    }

    /// Returns the frame of the slice at which the sound may begin.
    @_noLocks @_noAllocation
    borrowing func start(_ context: borrowing RenderContext, notBefore frame: Int) -> Int {
        let start = context.frames(until: time)
        return start > Int64(frame) ? Int(truncatingIfNeeded: start) : frame
    }

    /// Copies frames into the top; or adds them to it, along a straight line to silence, where `left` frames of a fade's
    /// `length` are left.
    @_noLocks @_noAllocation
    borrowing func write(
        _ first: Int, _ frames: Int, into context: inout RenderContext, at offset: Int, left: Int = 0,
        of length: Int = 0
    ) {
        BufferEntry.write(sound.block, first, frames, into: &context, at: offset, left: left, of: length)
    }

    /// Returns the channels of a sound that go to a channel of the buffer.
    @_noLocks @_noAllocation
    private static func sources(of channel: Int, _ given: Int, in wanted: Int) -> (first: Int, end: Int) {
        if given == 1 { return (0, 1) }
        if wanted == 1 { return (0, given) }
        return channel < given ? (channel, channel &+ 1) : (0, 0)
    }

    @_noLocks @_noAllocation
    private static func write(
        _ block: borrowing AudioBlock, _ first: Int, _ frames: Int, into context: inout RenderContext, at offset: Int,
        left: Int, of length: Int
    ) {
        if first > block.frameCount { return }
        var top = context.top
        let channels = top.channelCount
        var channel = 0
        while channel < channels {
            var (source, end) = sources(of: channel, block.channelCount, in: channels)
            var samples = top[channel]
            var isFirst = true
            while source < end {
                let given = block.samples(source, from: first, frames: frames)
                if length > 0 {
                    for i in given.indices { samples[offset &+ i] += given[i] * (Float(left &- i) / Float(length)) }
                } else if isFirst {
                    for i in given.indices { samples[offset &+ i] = given[i] }
                } else {
                    for i in given.indices { samples[offset &+ i] += given[i] }
                }
                isFirst = false
                source &+= 1
            }
            channel &+= 1
        }
    }
}
