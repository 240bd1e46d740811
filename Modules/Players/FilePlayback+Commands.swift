internal import DiskStreaming
internal import RenderCore

// The commands of a player on the render thread.

/// The commands of control code. Each kind has its place, where a newer command overrules an older one.
enum FileCommand: BitwiseCopyable, Sendable { case start, seek, stop, pause, resume }

extension FilePlayback {
    /// A command that is due in this slice, if there is one, and its frame; of several the earliest, and of those the one that
    /// was given first.
    struct Due {
        var frame: Int
        var command: FileCommand?
        private var number = Int.max

        @_noLocks @_noAllocation
        init(frame: Int) { self.frame = frame }

        /// Takes a command that is due earlier, at a frame from `first` on.
        @_noLocks @_noAllocation
        fileprivate mutating func look(
            at command: inout DiskCommand, _ kind: FileCommand, _ context: borrowing RenderContext, from first: Int
        ) {
            if !command.isWaiting { return }
            let distance = context.frames(until: command.time)
            let due = distance > Int64(first) ? distance : Int64(first)
            if due >= Int64(context.frameCount) {
                command.wasAhead = true
            } else if due < Int64(frame) || due == Int64(frame) && command.number < number {
                frame = Int(due)
                self.command = kind
                number = command.number
            }
        }
    }

    /// Returns the first frame in `first..<frames` at which something is to be done; `frames` if nothing is.
    @_noLocks @_noAllocation
    mutating func nextDue(_ context: borrowing RenderContext, from first: Int) -> Due {
        var due = Due(frame: context.frameCount)
        due.look(at: &start, .start, context, from: first)
        if !isSeekDeferred { due.look(at: &seek, .seek, context, from: first) }
        due.look(at: &stop, .stop, context, from: first)
        due.look(at: &pause, .pause, context, from: first)
        due.look(at: &resume, .resume, context, from: first)
        return due
    }

    /// Does a command that is due at a frame.
    @_noLocks @_noAllocation
    mutating func perform(
        _ command: FileCommand, _ context: inout RenderContext, at frame: Int, _ port: borrowing PlayerPort
    ) {
        switch command {
        case .start: performStart(&context, at: frame, port)
        case .seek: performSeek(&context, at: frame, port)
        case .stop:
            stop.isWaiting = false
            if start.isWaiting && start.number < stop.number {
                start.isWaiting = false
                if start.stream != nil, case .idle = phase { port.tell(.stopped, stream: 0, at: frame, context) }
            }
            fadeOut(to: .stopping)
            if heard.fadeLeft < 0 && heard.stream != nil { silence(&context, at: frame, port) }
        case .pause:
            pause.isWaiting = false
            guard case .playing = phase else { return }
            fadeOut(to: .pausing)
            if heard.fadeLeft < 0 { rest(&context, at: frame, port) }
        case .resume:
            resume.isWaiting = false
            switch phase {
            case .pausing, .paused: break
            case .idle, .playing, .stopping: return
            }
            phase = .playing
            heard.fadeIn = fade
            heard.age = heard.fadeLeft > 0 ? fade &* heard.fadeLeft / heard.fadeOut : 0
            heard.fadeLeft = -1
            port.tell(.resumed, stream: heard.stream?.id ?? 0, at: frame, context)
        }
    }

    /// Returns the stream of a start that is due, and the number of frames that the start lies back.
    @_noLocks @_noAllocation
    func pendingStart(_ context: borrowing RenderContext, at frame: Int) -> (stream: StreamReference?, late: Int64) {
        var stream = start.stream
        var place: Int64 = 0
        if seek.number > start.number, let next = seek.stream, !next.wasBegun {
            if !seek.keepsPlace {
                // A seek that came after it says where.
                stream = next
            } else if let first = start.stream, next.geometry.includes(first.geometry.start) {
                // Another region, set after the start: it begins at the frame where it would have begun, or at the
                // nearest one inside. What was heard before does not matter.
                stream = next
                place = next.geometry.frame(like: 0, of: first.geometry)
            }
        }
        var late = Int64(frame).subtractingSaturated(context.frames(until: start.time))
        // If the player waited for the start, and missed it because clocks are not steady, the file still begins at its beginning.
        if start.time.isImmediate || start.wasAhead && late < Int64(context.frameCount) { late = 0 }
        // After months only loops are heard, and they may begin anywhere.
        late = max(0, min(late, 1 &<< 42))
        return (stream, late &+ place)
    }

    @_noLocks @_noAllocation
    mutating func performStart(_ context: inout RenderContext, at frame: Int, _ port: borrowing PlayerPort) {
        let (found, late) = pendingStart(context, at: frame)
        start.isWaiting = false
        // Without a stream of its own the start was called off.
        guard start.stream != nil, let stream = found else { return }
        // A change of the region that the start does not take was for the sound before, which is over.
        if seek.keepsPlace && seek.number > start.number && stream.id != seek.stream?.id { seek.isWaiting = false }
        begin(stream, at: late, fade: fade)
        phase = .playing
        port.tell(.began, stream: stream.id, at: frame, context)
        while heard.stream != nil {
            let end = end(of: heard)
            if heard.frame <= end { break }
            _ = follow(&context, past: end, at: frame, port)
        }
        // It is where it would be. If it rests before its first frame, a change of the loops counts from there.
        heard.isLate = false
    }

    @_noLocks @_noAllocation
    private mutating func performSeek(
        _ context: inout RenderContext, at frame: Int, _ port: borrowing PlayerPort
    ) {
        // Without a sound the stream stays as it is, with all its frames: a start that waits may take it.
        guard let stream = seek.stream, !stream.wasBegun, canSeek else {
            seek.isWaiting = false
            return
        }
        let place = seek.keepsPlace ? nextFrame(in: stream) : 0
        // Another change would cut off the fade of the change before.
        let isFading = seek.fade > 0 && leaving.stream != nil
        if isFading || place > 0 && !stream.has(place, context.frameCount &+ 1_024) {
            // The old region is heard until the disk has brought the frames.
            if place > 0 { stream.jump(to: place) }
            isSeekDeferred = true
            return
        }
        seek.isWaiting = false
        if place < 0 { return }
        var passes: Int64?
        if seek.fade > 0, let old = heard.stream?.geometry, old.lower == stream.geometry.lower,
            old.upper == stream.geometry.upper
        {
            passes = heard.passesBefore &+ old.passesEnded(at: heard.frame &- 1)
        }
        let fade = seek.fade > 0 ? seek.fade : self.fade
        begin(stream, at: place, fade: fade)
        if case .pausing = phase { rest(&context, at: frame, port) }
        if seek.keepsPlace { heard.isLate = false }
        if let passes {
            // Another tempo goes on in the same pass.
            heard.passesBefore = passes &- stream.geometry.passesEnded(at: place &- 1)
        }
    }

    /// Returns the frame of another region's stream that goes on with the present sound; -1 if there is none.
    @_noLocks @_noAllocation
    private func nextFrame(in stream: StreamReference) -> Int64 {
        guard let current = heard.stream else { return -1 }
        return stream.geometry.frame(like: heard.frame, of: current.geometry)
    }

    /// Indicates whether there is a sound that a seek can move.
    private var canSeek: Bool {
        @_noLocks @_noAllocation get {
            switch phase {
            case .idle, .stopping: false
            case .playing, .pausing, .paused: true
            }
        }
    }

    /// Returns whether the change of the region that waits will find the present sound: a start or a stop that was asked
    /// for before, and is due, ends that.
    @_noLocks @_noAllocation
    private func willGoOn(_ context: borrowing RenderContext) -> Bool {
        guard seek.isWaiting && seek.keepsPlace && canSeek, let stream = seek.stream, !stream.wasBegun else {
            return false
        }
        if start.isWaiting && start.number < seek.number && context.frames(until: start.time) <= 0 { return false }
        return !(stop.isWaiting && stop.number < seek.number && context.frames(until: stop.time) <= 0)
    }

    /// Offline, has the disk bring the frames that a start in the past and a change of the region will need. A stream
    /// loses the frames before, so that this goes only to where the command itself will go.
    @_noLocks @_noAllocation
    mutating func jumpAhead(_ context: inout RenderContext) {
        let changed = willGoOn(context) ? seek.stream : nil
        // A start in the past begins further on.
        if start.isWaiting && context.frames(until: start.time) < Int64(context.frameCount) {
            let (stream, late) = pendingStart(context, at: 0)
            if let stream, late > 0, stream.id != changed?.id {
                let heard = beginning(stream, late: late, &context)
                heard.stream?.jump(to: heard.frame)
            }
        }
        if let changed { changed.jump(to: nextFrame(in: changed)) }
    }

    /// Puts a stream in the place of the one that is heard, which fades out where it is to.
    @_noLocks @_noAllocation
    mutating func begin(_ stream: StreamReference, at frame: Int64, fade: Int) {
        let wasSounding = isSounding
        var old = heard
        // First, so that none is free for a moment that goes on.
        stream.hold()
        heard = HeardStream()
        heard.stream = stream
        heard.item = stream
        leaving.letGo(keeping: heard, old)
        if wasSounding && fade > 0 && stream.id != old.stream?.id {
            if old.fadeLeft < 0 {
                old.fadeLeft = fade
                old.fadeOut = fade
            }
            leaving = old
        } else {
            old.letGo(keeping: heard)
        }
        stream.jump(to: frame)
        heard.frame = frame
        heard.isLate = frame > 0
        heard.fadeIn = fade
    }

    @_noLocks @_noAllocation
    mutating func fadeOut(to goal: Phase) {
        if !isSounding { return }
        if heard.fadeLeft < 0 && fade > 0 {
            heard.fadeLeft = fade
            heard.fadeOut = fade
        }
        phase = goal
    }

    @_noLocks @_noAllocation
    mutating func silence(_ context: inout RenderContext, at frame: Int, _ port: borrowing PlayerPort) {
        let id = heard.stream?.id ?? 0
        heard.letGo(keeping: leaving)
        phase = .idle
        port.tell(.stopped, stream: id, at: frame, context)
    }

    @_noLocks @_noAllocation
    mutating func rest(_ context: inout RenderContext, at frame: Int, _ port: borrowing PlayerPort) {
        phase = .paused
        port.tell(.paused, stream: heard.stream?.id ?? 0, at: frame, context)
    }
}
