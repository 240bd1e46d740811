internal import DiskStreaming
internal import RenderCore

/// The render thread's side of a player: the sound that it plays, the commands, and the answers to them frame by frame.
struct FilePlayback: Sendable {
    /// A stream that is heard, and how.
    struct HeardStream: Sendable {
        var stream: StreamReference?
        /// The stream that was begun, which has the one that goes round its loop.
        var item: StreamReference?
        /// The stream's next frame.
        var frame: Int64 = 0
        /// Passes of the file that ended before this stream began.
        var passesBefore: Int64 = 0
        /// Indicates whether it has begun in the past, and is being brought to where it would be.
        var isLate = false
        /// Frames since it began to be heard, up to the length of the fade.
        var age = 0
        var fadeIn = 0
        /// Frames that are left of its fade-out; -1 if it does not fade out.
        var fadeLeft = -1
        var fadeOut = 0

        /// Creates one that plays nothing.
        @_noLocks @_noAllocation
        init() {}

        /// Lets go of its streams, but for those that another one has too: the loop of a file and its first pass are heard one
        /// after the other, and a start may bring the first pass back while the loop fades out.
        @_noLocks @_noAllocation
        mutating func letGo(keeping one: HeardStream, _ other: HeardStream = HeardStream()) {
            if let stream, !one.has(stream), !other.has(stream) { stream.release() }
            if let item, !one.has(item), !other.has(item) { item.release() }
            stream = nil
            item = nil
            fadeLeft = -1
        }

        @_noLocks @_noAllocation
        func has(_ other: StreamReference) -> Bool { stream?.id == other.id || item?.id == other.id }
    }

    enum Phase: Sendable { case idle, playing, pausing, paused, stopping }

    var phase = Phase.idle
    var heard = HeardStream()
    /// The stream that was heard before, while it fades out.
    var leaving = HeardStream()
    var start = DiskCommand()
    /// A change of the region, the tempo or the pitch is a seek too: to the frame that is heard, in another stream.
    var seek = DiskCommand()
    var stop = DiskCommand()
    var pause = DiskCommand()
    var resume = DiskCommand()
    /// Indicates whether the disk has not brought the frames for such a seek, which is then made in a later slice.
    var isSeekDeferred = false
    /// The greatest number of a start that was seen.
    var lastStart = 0
    /// The player's count of things to look at, when it looked last.
    var commands = 0
    /// The number of times that the region is to be heard.
    var passes: Int64 = 1
    /// Frames of a fade.
    var fade = 0
    // The numbers that are reported when the slice is over.
    var seams = 0
    var missing = 0
    /// The stream whose numbers the playhead has.
    var shownStream = -1
    /// Up to which frame the stream only plays on (and fades out), unless there is another command than this.
    private var steadyEnd: Int64 = 0
    private var steadyCommand = -1
    /// The stream for which control code has seen to it that what goes round its loop is known, offline.
    var followedStream = 0

    init() {}

    /// Indicates whether anything is heard or about to be.
    var isActive: Bool {
        @_noLocks @_noAllocation get {
            start.isWaiting || stop.isWaiting || leaving.stream != nil || phase != .idle
        }
    }

    /// Indicates whether there is more to do than to play on: a command, or the end of the sound before.
    var isBusy: Bool {
        @_noLocks @_noAllocation get {
            start.isWaiting || seek.isWaiting || stop.isWaiting || pause.isWaiting || resume.isWaiting
                || leaving.stream != nil
        }
    }

    /// Frames of the longest fade.
    static var longestFade: Int { @_noLocks @_noAllocation get { 65_536 } }

    /// Returns the number of frames that need nothing but the frames of the present stream that have come. It is 0 near
    /// the end of a stream until it is known what follows, and if there is a command.
    func supply(_ context: borrowing RenderContext, lastCommand number: Int) -> Int {
        if number != commands || isBusy { return 0 }
        // A new stream begins with a tenth of a second: see `makeStream`.
        if Double(context.frameCount) > context.sampleRate / 10 { return 0 }
        let most = context.sampleRate < 8_000 ? context.frameCount : 1 << 20
        guard let stream = heard.stream else { return most }
        let tail = stream.id == followedStream ? 0 : Int64(FilePlayback.longestFade)
        let rest = end(of: heard) &- heard.frame &- tail
        return Int(max(0, min(Int64(most), min(rest, stream.supply(from: heard.frame)))))
    }

    /// Indicates whether something comes out.
    var isSounding: Bool { @_noLocks @_noAllocation get { phase != .idle && phase != .paused } }
}

// MARK: - Frames

extension FilePlayback {
    /// Returns whether the next frames are only to be read: there is no new command, nothing fades, and no end is among
    /// them. At the end of them the sound may fade out.
    @_noLocks @_noAllocation
    func isSteady(frames: Int, lastCommand number: Int) -> Bool {
        guard number == steadyCommand, let stream = heard.stream else { return false }
        let last = heard.frame &+ Int64(frames)
        return last <= steadyEnd && last <= stream.end
    }

    /// Reads the frames of a slice that is steady. Returns how many were not there.
    @_noLocks @_noAllocation
    mutating func playOn(_ context: inout RenderContext) -> Int {
        guard let stream = heard.stream else { return 0 }
        let frames = context.frameCount
        let missing = stream.read(heard.frame, frames, into: &context, at: 0)
        heard.frame &+= Int64(frames)
        return missing
    }

    /// Finds out how far the stream only plays on from here.
    @_noLocks @_noAllocation
    mutating func settle(isStaged: Bool) {
        steadyCommand = -1
        // Commands in a transaction may be shown at any slice.
        if isStaged || phase != .playing { return }
        if isBusy || heard.isLate || heard.fadeLeft >= 0 || heard.age < heard.fadeIn { return }
        guard let geometry = heard.stream?.geometry else { return }
        let pass = geometry.end(ofPass: geometry.passesEnded(at: heard.frame &- 1) &+ 1)
        let end = end(of: heard)
        steadyEnd = pass < end ? pass : end
        steadyCommand = commands
    }

    /// Renders the next frames of the stream that is heard.
    @_noLocks @_noAllocation
    mutating func advance(_ context: inout RenderContext, at offset: Int, frames: Int, to port: borrowing PlayerPort) {
        var done = 0
        while done < frames && isSounding {
            let end = end(of: heard)
            if heard.frame >= end {
                if !follow(&context, past: end, at: offset &+ done, port) { break }
                continue
            }
            var count = frames &- done
            if end &- heard.frame < Int64(count) { count = Int(end &- heard.frame) }
            if heard.fadeLeft >= 0 && heard.fadeLeft < count { count = heard.fadeLeft }
            if count > 0 {
                play(&context, at: offset &+ done, frames: count, end: end)
                done &+= count
            }
            if heard.fadeLeft == 0 { endFade(&context, at: offset &+ done, port) }
        }
    }

    /// Returns the frame at which a stream is left: its end, or the end of the last pass that is wanted.
    @_noLocks @_noAllocation
    func end(of heard: HeardStream) -> Int64 {
        guard let stream = heard.stream else { return 0 }
        let geometry = stream.geometry
        let end = stream.end
        let left = passes == .max ? .max : passes &- heard.passesBefore
        if left >= geometry.passes { return end }
        let ended = geometry.passesEnded(at: heard.frame &- 1)
        let last = geometry.end(ofPass: left > ended || heard.isLate ? left : ended &+ 1)
        return last < end ? last : end
    }

    /// Returns what is heard after a stream has been left: the loop, or nothing. Frames that have
    /// been passed beyond the end already (a start in the past) count.
    @_noLocks @_noAllocation
    func successor(of heard: HeardStream, past end: Int64, _ context: inout RenderContext) -> HeardStream? {
        guard let stream = heard.stream, let item = heard.item else { return nil }
        let geometry = stream.geometry
        let ended = heard.passesBefore &+ geometry.passesEnded(at: end)
        var new = heard
        new.frame = heard.frame &- end
        if end == geometry.end && geometry.length > 0 && ended < passes {
            if let again = item.again(&context), !again.wasBegun {
                new.stream = again
                new.passesBefore = ended
                return new
            }
        }
        return nil
    }

    /// Goes on where a stream has been left. `false`: there is nothing to go on with.
    @_noLocks @_noAllocation
    mutating func follow(
        _ context: inout RenderContext, past end: Int64, at offset: Int, _ port: borrowing PlayerPort
    ) -> Bool {
        guard let stream = heard.stream, let item = heard.item else { return false }
        guard let new = successor(of: heard, past: end, &context), let next = new.stream else {
            let wasStopping = phase == .stopping
            heard.letGo(keeping: leaving)
            phase = .idle
            port.tell(wasStopping ? .stopped : .ended, stream: stream.id, at: offset, context)
            return false
        }
        if stream.id != item.id, !leaving.has(stream) { stream.release() }
        next.hold()
        next.jump(to: new.frame)
        heard = new
        seams &+= 1
        return true
    }

    /// Returns the stream in which a start in the past begins, and the frame of it.
    @_noLocks @_noAllocation
    func beginning(_ stream: StreamReference, late: Int64, _ context: inout RenderContext) -> HeardStream {
        var probe = HeardStream()
        probe.stream = stream
        probe.item = stream
        probe.frame = late
        probe.isLate = true
        while true {
            let end = end(of: probe)
            if probe.frame <= end { return probe }
            guard let next = successor(of: probe, past: end, &context) else { return probe }
            probe = next
        }
    }

    /// Copies frames into the top, and fades them where they are to be faded.
    @_noLocks @_noAllocation
    mutating func play(_ context: inout RenderContext, at offset: Int, frames: Int, end: Int64) {
        guard let stream = heard.stream else { return }
        let geometry = stream.geometry
        missing &+= stream.read(heard.frame, frames, into: &context, at: offset)
        let last = heard.frame &+ Int64(frames) &- 1
        seams &+= Int(geometry.passesEnded(at: last) &- geometry.passesEnded(at: heard.frame &- 1))
        var endFade: Int64 = 0
        if fade > 0 && end != .max && end &- last <= Int64(fade) && isLast(&context, end) { endFade = Int64(fade) }
        if heard.age < heard.fadeIn || heard.fadeLeft >= 0 || endFade > 0 {
            FilePlayback.fade(&context, at: offset, frames: frames, heard, end: end, endFade: endFade)
        }
        heard.frame &+= Int64(frames)
        heard.isLate = false
        heard.age = heard.age &+ frames < heard.fadeIn ? heard.age &+ frames : heard.fadeIn
        if heard.fadeLeft >= 0 { heard.fadeLeft &-= frames }
    }

    /// Returns whether nothing comes after the end of this stream.
    @_noLocks @_noAllocation
    func isLast(_ context: inout RenderContext, _ end: Int64) -> Bool {
        guard let stream = heard.stream, let item = heard.item else { return true }
        let ended = heard.passesBefore &+ stream.geometry.passesEnded(at: end)
        return !(end == stream.geometry.end && ended < passes && item.again(&context) != nil)
    }

    /// Returns the straight lines of the fades, at its present frame.
    @_noLocks @_noAllocation
    static func fade(
        _ context: inout RenderContext, at offset: Int, frames: Int, _ heard: HeardStream, end: Int64, endFade: Int64
    ) {
        weigh(&context, at: offset, frames: frames) { i in
            var gain: Float = 1
            let age = heard.age &+ i
            if age < heard.fadeIn { gain = Float(age) / Float(heard.fadeIn) }
            if heard.fadeLeft >= 0 { gain *= Float(heard.fadeLeft &- i) / Float(heard.fadeOut) }
            let left = end &- heard.frame &- Int64(i)
            if left < endFade { gain *= Float(left) / Float(endFade) }
            return gain
        }
    }

    /// Ends a fade-out: silence from here on.
    @_noLocks @_noAllocation
    mutating func endFade(_ context: inout RenderContext, at offset: Int, _ port: borrowing PlayerPort) {
        heard.fadeLeft = -1
        switch phase {
        case .pausing: rest(&context, at: offset, port)
        case .stopping: silence(&context, at: offset, port)
        case .idle, .playing, .paused: break
        }
    }

    /// Renders the rest of the sound before a jump, on a buffer of its own.
    @_noLocks @_noAllocation
    mutating func advanceLeaving(_ context: inout RenderContext, at offset: Int, frames: Int) {
        guard let stream = leaving.stream else { return }
        let rest = stream.end &- leaving.frame
        var count = frames < leaving.fadeLeft ? frames : leaving.fadeLeft
        if rest < Int64(count) { count = rest > 0 ? Int(rest) : 0 }
        if count > 0 {
            _ = stream.read(leaving.frame, count, into: &context, at: offset)
            FilePlayback.fade(&context, at: offset, frames: count, leaving, end: .max, endFade: 0)
            leaving.frame &+= Int64(count)
            leaving.fadeLeft &-= count
        }
        if leaving.fadeLeft <= 0 || count < frames { leaving.letGo(keeping: heard) }
    }
}

/// Multiplies frames of the top, each by its gain.
@_noLocks @_noAllocation @inline(__always)
func weigh(_ context: inout RenderContext, at first: Int, frames: Int, _ gain: (Int) -> Float) {
    var top = context.top
    for channel in 0..<top.channelCount {
        var samples = top[channel]
        for i in 0..<frames { samples[first &+ i] *= gain(i) }
    }
}
