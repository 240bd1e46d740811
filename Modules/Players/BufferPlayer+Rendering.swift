internal import DiskStreaming
internal import RenderCore
internal import Sharing
internal import Synchronization

// The sounds of a slice, on the render thread: one after the other, and each on its frame.

extension BufferPlayer {
    /// Renders some frames of the slice.
    @_noLocks @_noAllocation
    func advance(
        _ playback: inout BufferPlayback, _ context: inout RenderContext, from first: Int, to end: Int
    ) {
        var frame = first
        if !playback.isPlaying {
            addTail(&playback, &context, at: frame, frames: end &- frame)
            return
        }
        var outlook = look(playback, &context, at: frame)
        while frame < end {
            if outlook.cut.isDue(at: frame) {
                playback.leave()
                begin(outlook.cut, &playback, &context, at: frame)
            } else if playback.current.number == 0 && outlook.turn.isDue(at: frame) {
                begin(outlook.turn, &playback, &context, at: frame)
            } else if playback.current.number == 0 && outlook.next.isDue(at: frame) {
                begin(outlook.next, &playback, &context, at: frame)
            } else if playback.current.number != 0 && playback.current.frame >= playback.soundEnd {
                if playback.goesRound && !outlook.turn.isDue(at: frame) {
                    playback.goRound()
                    noteRound(playback, &context)
                    continue
                }
                finish(&playback, &context, at: frame)
            } else {
                var count = end &- frame
                if outlook.cut.frame &- frame < count { count = outlook.cut.frame &- frame }
                if playback.current.number == 0 {
                    if outlook.turn.frame &- frame < count { count = outlook.turn.frame &- frame }
                    if outlook.next.frame &- frame < count { count = outlook.next.frame &- frame }
                } else {
                    let rest = playback.soundEnd &- playback.current.frame
                    // A file that turns out damaged may end here.
                    if rest < count { count = rest > 0 ? rest : 0 }
                    play(&playback, &context, at: frame, frames: count)
                }
                addTail(&playback, &context, at: frame, frames: count)
                frame &+= count
                let hasEnded = playback.current.number != 0 && playback.current.frame >= playback.soundEnd
                if !hasEnded || playback.goesRound { continue }
                finish(&playback, &context, at: frame)
            }
            outlook = look(playback, &context, at: frame)
        }
    }

    /// Returns the scheduled sound that comes next, and its frame.
    @_noLocks @_noAllocation
    private func look(
        _ playback: BufferPlayback, _ context: inout RenderContext, at frame: Int
    ) -> BufferPlayback.Outlook {
        var outlook = BufferPlayback.Outlook()
        let past = playback.current.number != 0 ? playback.current.number : playback.done
        let interruption = newestInterruption.load(ordering: .relaxed)
        if newest.load(ordering: .relaxed) <= past { return outlook }
        entries.search(&context) { entry, context in
            if entry.number <= past { return false }
            let start = entry.start(context, notBefore: frame)
            let found = BufferPlayback.Cue(number: entry.number, frame: start)
            if outlook.next.number == 0 { outlook.next = found }
            switch entry.interruption {
            case .none: break
            case .atOnce: if start <= outlook.cut.frame { outlook.cut = found }
            case .atLoop: if start <= outlook.turn.frame { outlook.turn = found }
            }
            return interruption <= past
        }
        return outlook
    }

    @_noLocks @_noAllocation
    private func begin(
        _ cue: BufferPlayback.Cue, _ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int
    ) {
        playback.done = cue.number &- 1
        playback.end()
        playback.current = BufferPlayback.Place(number: cue.number)
        playback.fadeIn = 0
        playback.length = 0
        playback.loops = false
        // The sounds behind it may need streams: an offline renderer looks again.
        supply.store(0, ordering: .relaxed)
        entries.search(&context) { entry, context in
            if entry.number != cue.number { return false }
            let stream = entry.stream(&context)
            playback.begin(entry, stream)
            entry.noteBeginning(at: frame, context)
            return true
        }
    }

    /// Notes that a loop began again.
    @_noLocks @_noAllocation
    private func noteRound(_ playback: BufferPlayback, _ context: inout RenderContext) {
        let number = playback.current.number
        entries.search(&context) { entry, context in
            if entry.number != number { return false }
            let rounds = entry.ticket.notes[ScheduledSound.Note.rounds]
            entry.ticket.notes[ScheduledSound.Note.rounds] = rounds &+ 1
            return true
        }
    }

    /// Ends a sound whose last frame has been taken.
    @_noLocks @_noAllocation
    private func finish(_ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int) {
        let end = context.isOffline ? 0 : context.hostTime &+ Int64(Double(frame) * 1e9 / context.sampleRate)
        let place = playback.current
        entries.search(&context) { entry, context in
            if entry.number != place.number { return false }
            entry.ticket.notes[ScheduledSound.Note.end] = UInt64(bitPattern: end > 0 ? end : 1)
            return true
        }
        playback.done = place.number
        playback.end()
    }

    @_noLocks @_noAllocation
    private func play(
        _ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int, frames: Int
    ) {
        let place = playback.current
        if let stream = playback.stream {
            playback.missing &+= stream.read(Int64(place.frame), frames, into: &context, at: frame)
            let gain = playback.gain
            if gain != 1 { weigh(&context, at: frame, frames: frames) { _ in gain } }
        } else if playback.isFile {
            playback.missing &+= frames
        } else {
            entries.search(&context) { entry, context in
                if entry.number != place.number { return false }
                entry.write(place.frame, frames, into: &context, at: frame)
                return true
            }
        }
        if playback.fadeIn > 0 {
            let faded = playback.fadeIn < frames ? playback.fadeIn : frames
            let (left, length) = (playback.fadeIn, playback.fadeInLength)
            weigh(&context, at: frame, frames: faded) { 1 - Float(left &- $0) / Float(length) }
            playback.fadeIn &-= faded
        }
        playback.current.frame &+= frames
    }

    /// Adds the sound that has been cut off and fades out.
    @_noLocks @_noAllocation
    private func addTail(
        _ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int, frames: Int
    ) {
        if playback.tailStream != nil { return addTailStream(&playback, &context, at: frame, frames: frames) }
        var done = 0
        while playback.tail.number != 0 && done < frames {
            var count = frames &- done < playback.tailLeft ? frames &- done : playback.tailLeft
            let (place, left, length) = (playback.tail, playback.tailLeft, playback.tailLength)
            var added = 0
            var loops = false
            entries.search(&context) { entry, context in
                if entry.number != place.number { return false }
                if entry.frameCount &- place.frame < count { count = entry.frameCount &- place.frame }
                if count > 0 {
                    entry.write(place.frame, count, into: &context, at: frame &+ done, left: left, of: length)
                    added = count
                }
                loops = entry.loops && entry.frameCount > 0
                return true
            }
            done &+= added
            playback.tail.frame &+= added
            playback.tailLeft &-= added
            if playback.tailLeft <= 0 || added == 0 && (!loops || place.frame == 0) {
                playback.tail = BufferPlayback.Place()
            } else if added == 0 {
                playback.tail.frame = 0
            }
        }
    }

    /// Adds a stretched sound that fades out, by way of a buffer of its own.
    @_noLocks @_noAllocation
    private func addTailStream(
        _ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int, frames: Int
    ) {
        guard let stream = playback.tailStream else { return }
        let rest = stream.end &- Int64(playback.tail.frame)
        var count = frames < playback.tailLeft ? frames : playback.tailLeft
        if rest < Int64(count) { count = rest > 0 ? Int(rest) : 0 }
        if count > 0 {
            context.push(channels: channelCount)
            playback.missing &+= stream.read(Int64(playback.tail.frame), count, into: &context, at: frame)
            let (left, length, gain) = (playback.tailLeft, playback.tailLength, playback.tailGain)
            weigh(&context, at: frame, frames: count) { gain * (Float(left &- $0) / Float(length)) }
            context.mix(2)
        }
        // A sound that rests goes on behind its fade: a stream is read once.
        if playback.isTailShared { playback.current.frame &+= count }
        playback.tail.frame &+= count
        playback.tailLeft &-= count
        if playback.tailLeft <= 0 || count < frames { playback.endTail() }
    }
}
