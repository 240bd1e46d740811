internal import AudioFiles
internal import DiskStreaming
internal import RenderCore
internal import Sharing

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
    /// The gains of both.
    var gain: Float = 1
    var tailGain: Float = 1
    /// Indicates whether the current sound is a file, which is silent without a stream.
    var isFile = false
    /// The frames of the current sound as it is.
    var geometry = StreamGeometry.nothing
    /// Frames that were not read or stretched in time.
    var missing = 0
    /// Indicates whether it rests because it was told to, and not for lack of a start.
    var isPaused = false
    /// The rate of the frames.
    var sampleRate: Double = 0
    /// The sound or stream whose numbers the playhead has.
    var shownStream = 0

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
        isPaused = false
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
        if isPlaying {
            leave()
            isPaused = true
        }
        isPlaying = false
    }

    @_noLocks @_noAllocation
    mutating func stop(upTo number: Int) {
        if isPlaying { leave() }
        isPlaying = false
        isPaused = false
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
        tailGain = gain
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
    mutating func begin(_ entry: borrowing BufferEntry, _ next: StreamReference?) {
        length = entry.frameCount
        loops = entry.loops
        gain = entry.gain
        isFile = entry.isFile
        geometry = entry.geometry
        guard let next, !next.wasBegun, next.sampleRate == sampleRate else { return }
        next.hold()
        stream = next
        findLength()
    }

    /// The frame at which the current sound, or its present round, ends: earlier than it should where a file is damaged.
    var soundEnd: Int {
        @_noLocks @_noAllocation get {
            guard let stream else { return length }
            let end = stream.end
            return end < Int64(length) ? Int(end) : length
        }
    }

    /// Indicates whether the current sound goes on round its loop: not if its file ends early.
    var goesRound: Bool {
        @_noLocks @_noAllocation get {
            if !loops || length == 0 { return false }
            guard let stream else { return true }
            return stream.end >= Int64(length)
        }
    }

    /// Goes on at the beginning of a loop.
    @_noLocks @_noAllocation
    mutating func goRound() {
        if stream == nil { current.frame = 0 } else { findLength() }
    }

    /// Takes the current sound to a sample rate that is so many times the last one, at the same place, without a stream until there is
    /// one of that rate.
    @_noLocks @_noAllocation
    mutating func follow(ratio: Double, _ entry: borrowing BufferEntry) {
        endTail()
        fadeIn = 0
        let old = stream?.geometry ?? geometry
        if isFile {
            current.frame = Int(entry.geometry.frame(like: Int64(current.frame), of: old))
        } else {
            // The sound itself has been converted.
            current.frame = Int(Double(old.position(at: Int64(current.frame))) * ratio)
        }
        if let stream { stream.release() }
        stream = nil
        geometry = entry.geometry
        length = entry.frameCount
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
    mutating func follow(_ entry: borrowing BufferEntry, _ next: StreamReference?, frames: Int, fade: Int) {
        if next?.id == stream?.id || next == nil && isFile { return }
        let old = stream?.geometry ?? entry.geometry, new = next?.geometry ?? entry.geometry
        let frame = new.frame(like: Int64(current.frame), of: old)
        if let next {
            // A stream may have been made for a rate that the renderer is about to get.
            if next.wasBegun || next.sampleRate != sampleRate { return }
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

    /// The place of the player as control code sees it, at the end of a slice.
    @_noLocks @_noAllocation
    func shown() -> Playhead.State {
        var shown = Playhead.State()
        if current.number == 0 { return shown }
        shown.phase = isPlaying ? .playing : .paused
        shown.item = current.number
        shown.stream = stream?.id ?? 0 &- current.number
        shown.geometry = stream?.geometry ?? geometry
        shown.frame = Int64(current.frame)
        return shown
    }
}

/// A sound in the list, as the render thread sees it.
struct BufferEntry: ~Copyable, Sendable {
    enum Interruption: Sendable, BitwiseCopyable { case none, atOnce, atLoop }

    let number: Int
    /// Its notes, and the cue that leads to its stream.
    let ticket: ScheduledSound
    /// The sound at the renderer's rate; an empty one in the place of a file.
    let sound: Sound
    let isFile: Bool
    let gain: Float
    let frameCount: Int
    let time: RenderTime
    let loops: Bool
    let interruption: Interruption
    /// The frames of the sound as it is.
    let geometry: StreamGeometry

    private static let nothing = Sound(AudioBlock(channels: 1, frames: 0), sampleRate: 48_000)

    /// - Parameter rate: The renderer's sample rate, if it is known.
    init(_ ticket: ScheduledSound, at rate: Double?) {
        let sound = ticket.sound.map { sound in rate.map(sound.at) ?? sound }
        let own = sound?.sampleRate ?? ticket.sampleRate
        let frames = sound.map { 0..<Int64($0.frameCount) } ?? ticket.frames
        loops = ticket.options.contains(.loops)
        geometry = StreamGeometry(
            lower: frames.lowerBound, upper: frames.upperBound, start: frames.lowerBound, passes: loops ? .max : 1,
            fileRate: own, outputRate: rate ?? own)
        frameCount = Int(geometry.end(ofPass: 1))
        number = ticket.number
        self.ticket = ticket
        self.sound = sound ?? Self.nothing
        isFile = sound == nil
        gain = ticket.gain
        time = ticket.time
        interruption =
            ticket.options.contains(.interrupts)
            ? .atOnce : ticket.options.contains(.interruptsAtLoop) ? .atLoop : .none
    }

    /// Returns the stream of the sound, if it has one.
    @_noLocks @_noAllocation
    borrowing func stream(_ context: inout RenderContext) -> StreamReference? {
        var found: StreamReference?
        ticket.cue.with(&context) { cue, _ in found = cue.command.stream }
        return found
    }

    /// Notes the time of the first frame.
    @_noLocks @_noAllocation
    borrowing func noteBeginning(at frame: Int, _ context: borrowing RenderContext) {
        let host = context.hostTime &+ Int64(Double(frame) * 1e9 / context.sampleRate)
        ticket.notes[ScheduledSound.Note.beginHost] = UInt64(bitPattern: host)
        ticket.notes[ScheduledSound.Note.begin] = UInt64(
            bitPattern: context.sampleTime &+ Int64(frame) &+ 1)
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
        BufferEntry.write(sound.block, first, frames, into: &context, at: offset, left: left, of: length, gain)
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
        left: Int, of length: Int, _ gain: Float
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
                    for i in given.indices {
                        samples[offset &+ i] += given[i] * (gain * (Float(left &- i) / Float(length)))
                    }
                } else if isFirst {
                    for i in given.indices { samples[offset &+ i] = given[i] * gain }
                } else {
                    for i in given.indices { samples[offset &+ i] += given[i] * gain }
                }
                isFirst = false
                source &+= 1
            }
            channel &+= 1
        }
    }
}
