internal import RenderCore
internal import Sharing
internal import Voices

// The place in each track: its next note, and what holds there.

extension Performance {
    /// Finds the note of a track that comes next, from the first frame of the slice on.
    @_noLocks @_noAllocation
    mutating func seekNow(_ track: Int, _ context: inout RenderContext, _ entry: TrackEntry) {
        // A beat that is nearest to the first frame may be half a frame before it, of the tempo that was before this slice perhaps.
        let margin = 0.5 * Self.fastest / clock.framesPerMinute
        seek(track, &context, entry, from: clock.position(at: base) - margin)
        while next.beat(of: track) < .infinity && !places[track].isBlocked && frame(of: next.beat(of: track)) < 0 {
            advance(track, &context)
        }
    }

    /// Finds the first note of a track at a beat of the clock, or after it.
    @_noLocks @_noAllocation
    mutating func seek(_ track: Int, _ context: inout RenderContext, _ entry: TrackEntry, from beat: Double) {
        guard !places[track].isHalted, isPlaying || places[track].isFree else { return next.set(track, .infinity) }
        let settings = places[track].settings
        if !places[track].isFree { places[track].origin = origin + settings.offset }
        let (start, rate, loop) = (places[track].origin, settings.rate, settings.loop)
        // Before its beginning a track has nothing.
        let time = max((beat - start) * rate, 0)
        guard let table = places[track].table else { return }
        entry.content.with(&context) { content, _ in
            content.told[0] = start.bitPattern
            content.told[2] = rate.bitPattern
            content.told[3] = loop.bitPattern
            content.told[1] = 1
        }
        let length = loop > 0 ? loop : places[track].clipLength
        let round = length > 0 ? BeatClock.floor(time / length + Performance.rounding) : 0
        var index = 0
        table.with(&context) { table, _ in
            index = table.index(from: time - round * length - Performance.rounding)
        }
        places[track].length = length
        places[track].round = round
        places[track].index = index
        schedule(track, &context, from: time - round * length)
    }

    /// Goes on to the next note of a track.
    @_noLocks @_noAllocation
    mutating func advance(_ track: Int, _ context: inout RenderContext) {
        let index = places[track].index
        var here = 0.0
        places[track].table?.with(&context) { table, _ in
            if index < table.notes.count { here = table.notes[index].start }
        }
        places[track].index = index &+ 1
        schedule(track, &context, from: here)
    }

    /// Works out the beat of the note that comes next.
    ///
    /// - Parameter time: The beat of the track up to which everything has been, in its present round.
    @_noLocks @_noAllocation
    private mutating func schedule(_ track: Int, _ context: inout RenderContext, from time: Double) {
        let (index, length) = (places[track].index, places[track].length)
        var (start, end, first, firstEnd, isEmpty) = (Double.infinity, 0.0, 0.0, 0.0, true)
        guard let table = places[track].table else { return next.set(track, .infinity) }
        table.with(&context) { table, _ in
            if index < table.notes.count { start = table.notes[index].start }
            end = table.end(from: time)
            isEmpty = table.notes.count == 0
            if !isEmpty { first = table.notes[0].start }
            firstEnd = table.end(from: 0)
        }
        places[track].isBlocked = false
        if length > 0 && start >= length - Self.rounding {
            // It begins again, if it is known up to there.
            if end < length - Self.rounding {
                places[track].isBlocked = true
                start = end
            } else if isEmpty && firstEnd >= length - Self.rounding {
                return next.set(track, .infinity)
            } else {
                places[track].round += 1
                places[track].index = 0
                start = first
                if firstEnd <= first || first >= length - Self.rounding {
                    // A loop in which there is nothing, or nothing is known.
                    if firstEnd >= length - Self.rounding { return next.set(track, .infinity) }
                    places[track].isBlocked = true
                    start = firstEnd
                }
            }
        } else if start >= end {
            places[track].isBlocked = true
            start = end
        }
        let place = places[track]
        next.set(track, place.origin + (start + place.round * length) / place.settings.rate)
    }

    /// Tells the targets of all tracks that go with the song which programs and controllers hold where they are.
    ///
    /// - Parameter beat: That place, as a beat of the clock.
    @_noLocks @_noAllocation
    mutating func sendStates(_ context: inout RenderContext, from beat: Double, at frame: Int) {
        // Tracks may share a channel: what one says counts more than what a channel begins with.
        for isFirst in 0..<2 {
            var track = 0
            while track < trackCount {
                if !places[track].isFree, let entry = entry(track, &context) {
                    sendState(track, &context, entry, from: beat, at: frame, isFirst: isFirst == 0)
                }
                track &+= 1
            }
        }
    }

    /// Sends the programs and controllers that hold at the place of a track: those of a channel at its beginning, or all others.
    @_noLocks @_noAllocation
    mutating func sendState(
        _ track: Int, _ context: inout RenderContext, _ entry: TrackEntry, from beat: Double, at frame: Int,
        isFirst: Bool
    ) {
        let place = places[track]
        guard !place.isHalted, isPlaying || place.isFree, let table = place.table else { return }
        // A target that has got no program or controller has the values with which a channel begins.
        if isFirst && !place.hasSaid { return }
        let here = (beat - place.origin) * place.settings.rate - place.round * place.length
        var lost = 0
        table.with(&context) { table, context in
            if table.states.isEmpty { return }
            let held = table.states.held(before: place.index, in: table.notes, at: here)
            var item = 0
            while item < ChannelStates.messageCount {
                if let message = ChannelStates.message(item, of: held, isFirst: isFirst),
                    !entry.target.send(message.onChannel(entry.channel), frame, context)
                {
                    lost &+= 1
                }
                item &+= 1
            }
        }
        counts.lost &+= lost
        if !isFirst { places[track].hasSaid = true }
    }

    @_noLocks @_noAllocation
    private mutating func lift(_ pedal: UInt8, _ entry: TrackEntry, _ context: inout RenderContext, at frame: Int) {
        let message = MIDIMessage.controller(channel: entry.channel, number: pedal, value: 0)
        if !entry.target.send(message, frame, context) { counts.lost &+= 1 }
    }

    /// Lets the pedals of tracks up, where their notes are cut: of one track, of ``song`` or of ``all``.
    @_noLocks @_noAllocation
    mutating func liftPedals(_ wanted: Int, _ context: inout RenderContext, at frame: Int) {
        var track = 0
        while track < trackCount {
            let place = places[track]
            let isWanted = track == wanted || wanted == Self.all || wanted == Self.song && !place.isFree
            if isWanted && place.hasSaid, let entry = entry(track, &context) {
                var hasPedals = false
                // Not the table of the last slice, which may be gone before the track has been looked at.
                entry.place(&context)?.table.snapshot.with(&context) { table, _ in
                    hasPedals = table.states.hasPedals
                }
                if hasPedals {
                    lift(64, entry, &context, at: frame)
                    lift(66, entry, &context, at: frame)
                    lift(69, entry, &context, at: frame)
                }
            }
            track &+= 1
        }
    }
}
