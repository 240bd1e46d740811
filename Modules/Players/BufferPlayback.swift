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

    @_noLocks @_noAllocation
    init() {}

    @_noLocks @_noAllocation
    mutating func start() {
        if isPlaying { return }
        isPlaying = true
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
        current = Place()
    }

    /// Cuts off the current sound: it fades out, if it is to.
    @_noLocks @_noAllocation
    mutating func leave() {
        if current.number == 0 || fade == 0 || fadeIn > 0 { return }
        tail = current
        tailLeft = fade
        tailLength = fade
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

    init(_ number: Int, _ sound: Sound, _ ticket: ScheduledSound) {
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

    /// Creates the entry that stands for a sound in a list that was taken back while it was changed.
    init(gone number: Int) {
        self.number = number
        sound = Sound(AudioBlock(channels: 1, frames: 0), sampleRate: 1)
        frameCount = 0
        time = .immediately
        loops = false
        interruption = .none
        end = SharedWords()
    }

    /// Returns the frame of the slice at which the sound may begin.
    @_noLocks @_noAllocation
    borrowing func start(_ context: borrowing RenderContext, notBefore frame: Int) -> Int {
        let start = context.frames(until: time)
        return start > Int64(frame) ? Int(truncatingIfNeeded: start) : frame
    }

    /// Copies frames into the top.
    @_noLocks @_noAllocation
    borrowing func write(_ first: Int, _ frames: Int, into context: inout RenderContext, at offset: Int) {
        BufferEntry.write(sound.block, first, frames, into: &context, at: offset)
    }

    /// Adds frames to the top, along a straight line to silence.
    @_noLocks @_noAllocation
    borrowing func add(
        _ first: Int, _ frames: Int, into context: inout RenderContext, at offset: Int, left: Int, of length: Int
    ) {
        BufferEntry.add(sound.block, first, frames, into: &context, at: offset, left: left, of: length)
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
        _ block: borrowing AudioBlock, _ first: Int, _ frames: Int, into context: inout RenderContext, at offset: Int
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
                if isFirst {
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

    @_noLocks @_noAllocation
    private static func add(
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
            while source < end {
                let given = block.samples(source, from: first, frames: frames)
                for i in given.indices { samples[offset &+ i] += given[i] * (Float(left &- i) / Float(length)) }
                source &+= 1
            }
            channel &+= 1
        }
    }
}
