internal import RenderCore
internal import Sharing
internal import Voices

// Notes that begin and end.

extension Performance {
    /// Begins the note of a track that comes next.
    @_noLocks @_noAllocation
    mutating func begin(_ track: Int, _ context: inout RenderContext, at frame: Int) {
        let beat = next.beat(of: track)
        if places[track].isBlocked {
            counts.late &+= 1
            return next.set(track, .infinity)
        }
        guard let entry = entry(track, &context), let table = places[track].table else {
            return next.set(track, .infinity)
        }
        let index = places[track].index
        var note = TableNote()
        var isThere = false
        table.with(&context) { table, _ in
            isThere = index < table.notes.count
            if isThere { note = table.notes[index] }
        }
        guard isThere else { return next.set(track, .infinity) }
        guard budget > 0 else { return skip(track, &context) }
        budget &-= 1
        advance(track, &context)
        // A program or a controller counts for the notes after it, also for those that are heard again.
        let isState = note.isMessage && ChannelStates.isState(note.message)
        if isState { places[track].hasSaid = true }
        guard isState || isAudible(places[track].settings) else { return }
        if note.isMessage {
            if !entry.target.send(note.message.onChannel(entry.channel), frame, context) {
                counts.lost &+= 1
            }
            return
        }
        guard freeCount > 0 else {
            counts.lost &+= 1
            return
        }
        voice &+= 1
        let played = TargetNote(
            voice: voiceBase &- voice, number: note.number, velocity: note.velocity, channel: entry.channel)
        // The end of the same key comes first, or it would end this note.
        let isFree = !entry.hasKeys || release(played, entry.target, &context, at: frame)
        guard isFree, entry.target.begin(played, frame, context) else {
            counts.lost &+= 1
            return
        }
        freeCount &-= 1
        let item = free[freeCount]
        var new = Sounding()
        (new.note, new.target, new.track) = (played, entry.target, track)
        (new.stay, new.start, new.hasKey) = (entry.stay, note.start, entry.hasKeys)
        sounding[item] = new
        ends.set(item, beat + note.length / places[track].settings.rate)
    }

    /// Has a slice begin with the next event of a track whose target sets a parameter, and where the song goes elsewhere.
    @_noLocks @_noAllocation
    func announce(_ context: inout RenderContext) {
        var (track, beat) = (0, boundary().0)
        while track < trackCount {
            let next = next.beat(of: track)
            if places[track].cutsSlices && next < beat && isAudible(places[track].settings) { beat = next }
            track &+= 1
        }
        let frame = frame(of: beat)
        if frame >= frameCount && frame < Int(Int32.max) { context.cut(before: time &+ Int64(frame)) }
    }

    @_noLocks @_noAllocation
    func isAudible(_ settings: TrackSettings) -> Bool { !settings.isMuted && (soloCount == 0 || settings.isSoloed) }

    /// Leaves out the notes of a track up to the end of the slice.
    @_noLocks @_noAllocation
    private mutating func skip(_ track: Int, _ context: inout RenderContext) {
        let place = places[track]
        let end = clock.position(at: base &+ Int64(frameCount))
        let beat = (end - place.origin) * place.settings.rate - place.round * place.length
        var index = place.index
        place.table?.with(&context) { table, _ in index = table.index(from: beat) }
        index = max(index, place.index &+ 1)
        counts.lost &+= index &- place.index
        places[track].index = index &- 1
        advance(track, &context)
    }

    /// Ends the note that sounds on the key of another one. Returns `false` if its target does not take that now.
    @_noLocks @_noAllocation
    private mutating func release(
        _ note: TargetNote, _ target: TargetPlace, _ context: inout RenderContext, at frame: Int
    ) -> Bool {
        for place in 0..<ends.count {
            let item = ends.item(at: place)
            let other = sounding[item]
            if other.hasKey, other.note.key == note.key, other.note.channel == note.channel,
                let its = other.target, its.isSame(as: target)
            {
                // No other note is on the key: this one would have ended it.
                return end(item, &context, at: frame)
            }
        }
        return true
    }

    /// Ends a note. If its target takes nothing now, it is asked again in the next slice, and the result is `false`.
    @_noLocks @_noAllocation
    @discardableResult
    mutating func end(_ item: Int, _ context: inout RenderContext, at frame: Int) -> Bool {
        if let target = sounding[item].target, !target.end(sounding[item].note, frame, context) {
            ends.set(item, clock.position(at: base &+ Int64(frameCount)))
            return false
        }
        ends.set(item, .infinity)
        sounding[item] = Sounding()
        free[freeCount] = item
        freeCount &+= 1
        return true
    }

    /// Ends the notes of a track, of ``song`` or of ``all``.
    @_noLocks @_noAllocation
    mutating func cut(_ track: Int, _ context: inout RenderContext, at frame: Int) {
        var item = 0
        var left = ends.count
        while left > 0 && item < sounding.count {
            let its = sounding[item].track
            if its >= 0 {
                left &-= 1
                if its == track || track == Self.all || (track == Self.song && !places[its].isFree) {
                    end(item, &context, at: frame)
                }
            }
            item &+= 1
        }
    }
}

extension MIDIMessage {
    /// Returns the message for another channel, if it is for one.
    @_noLocks @_noAllocation
    func onChannel(_ channel: UInt8) -> MIDIMessage {
        switch self {
        case .noteOn(_, let note, let velocity): .noteOn(channel: channel, note: note, velocity: velocity)
        case .noteOff(_, let note, let velocity): .noteOff(channel: channel, note: note, velocity: velocity)
        case .keyPressure(_, let note, let pressure): .keyPressure(channel: channel, note: note, pressure: pressure)
        case .controller(_, let number, let value): .controller(channel: channel, number: number, value: value)
        case .program(_, let number): .program(channel: channel, number: number)
        case .pressure(_, let pressure): .pressure(channel: channel, pressure: pressure)
        case .bend(_, let value): .bend(channel: channel, value: value)
        default: self
        }
    }
}
