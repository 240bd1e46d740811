internal import RenderCore
internal import Sharing
internal import Voices

// The place of the song, and the next note of each track.

extension Performance {
    // MARK: Places in tracks

    /// Looks at the tracks whose contents, tables or settings are others than before.
    @_noLocks @_noAllocation
    mutating func refresh(_ context: inout RenderContext) {
        var isSoloStale = false
        trackCount = listCount(&context)
        cutterCount = 0
        var track = 0
        while track < trackCount, let entry = entry(track, &context) {
            if entry.cutsSlices { cutterCount &+= 1 }
            let version = entry.settingsVersion
            if version != places[track].settingsVersion {
                isSoloStale = true
                takeSettings(track, &context, entry, version)
            }
            let table = entry.place(&context)?.table.version ?? 0
            if entry.content.version != places[track].contentVersion || table != places[track].tableVersion {
                takeContent(track, &context, entry)
            }
            track &+= 1
        }
        if isSoloStale { countSolos(&context) }
    }

    @_noLocks @_noAllocation
    private mutating func takeSettings(
        _ track: Int, _ context: inout RenderContext, _ entry: TrackEntry, _ version: UInt64
    ) {
        let old = places[track].settings
        let new = entry.settings(&context)
        places[track].settings = new
        places[track].settingsVersion = version
        let isMoved = old.offset != new.offset || old.rate != new.rate || old.loop != new.loop
        if places[track].contentVersion != 0 && isMoved { seekNow(track, &context, entry) }
    }

    @_noLocks @_noAllocation
    private mutating func countSolos(_ context: inout RenderContext) {
        soloCount = 0
        var track = 0
        while track < trackCount {
            if places[track].settings.isSoloed && !places[track].settings.isMuted { soloCount &+= 1 }
            track &+= 1
        }
        track = 0
        while track < trackCount {
            if !isAudible(places[track].settings) { cut(track, &context, at: 0) }
            track &+= 1
        }
    }

    @_noLocks @_noAllocation
    private mutating func takeContent(_ track: Int, _ context: inout RenderContext, _ entry: TrackEntry) {
        let old = places[track].number
        places[track].contentVersion = entry.content.version
        guard let content = entry.place(&context) else { return }
        // The table may be another one by the end of the slice, and stays until then.
        let table = content.table.snapshot
        places[track].table = table
        places[track].tableVersion = table.version
        places[track].number = content.number
        seekNow(track, &context, entry)
        if content.number != old { keepWhatIsThere(track, &context) }
    }

    /// Of the notes that sound on a track, ends those that its new content does not have.
    @_noLocks @_noAllocation
    private mutating func keepWhatIsThere(_ track: Int, _ context: inout RenderContext) {
        var item = 0
        var left = ends.count
        while left > 0 && item < sounding.count {
            let its = sounding[item]
            if its.track >= 0 { left &-= 1 }
            if its.track == track {
                var isThere = false
                places[track].table?.with(&context) { table, _ in
                    isThere = table.mayHave(its.start, its.note.number)
                }
                if !isThere { end(item, &context, at: 0) }
            }
            item &+= 1
        }
    }

    /// Finds the note of a track that comes next, from the first frame of the slice on.
    @_noLocks @_noAllocation
    private mutating func seekNow(_ track: Int, _ context: inout RenderContext, _ entry: TrackEntry) {
        // A beat that is nearest to the first frame may be half a frame before it.
        let half = 0.5 * clock.beatsPerMinute / clock.framesPerMinute
        seek(track, &context, entry, from: clock.position(at: base) - half)
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
        guard let content = entry.place(&context), let table = places[track].table else { return }
        entry.content.with(&context) { content, _ in
            content.told[0] = start.bitPattern
            content.told[1] = 1
        }
        let length = loop > 0 ? loop : content.length
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

    // MARK: The song

    /// The beat of the song at a beat of the clock.
    @_noLocks @_noAllocation
    func song(at beat: Double) -> Double { isPlaying ? beat - origin : stopped }

    /// Has the song's beat 0 at a beat of the clock.
    @_noLocks @_noAllocation
    mutating func place(origin beat: Double) { (origin, firstOrigin, rounds) = (beat, beat, 0) }

    /// Finds the end of the loop, if it lies ahead of a beat of the clock.
    @_noLocks @_noAllocation
    mutating func findLoop(from beat: Double) {
        let isLoop = settings.loop.end - settings.loop.start >= Self.shortestLoop
        let isAhead = isPlaying && isLoop && beat - origin < settings.loop.end - Self.rounding
        loopBeat = isAhead ? origin + settings.loop.end : .infinity
    }

    /// Seeks on all tracks that go with the song.
    @_noLocks @_noAllocation
    private mutating func seekAll(_ context: inout RenderContext, from beat: Double) {
        var track = 0
        while track < trackCount {
            if !places[track].isFree, let entry = entry(track, &context) { seek(track, &context, entry, from: beat) }
            track &+= 1
        }
    }

    /// The loop ends.
    @_noLocks @_noAllocation
    mutating func wrap(_ context: inout RenderContext, at frame: Int) {
        let beat = loopBeat
        cut(Self.song, &context, at: frame)
        rounds += 1
        origin = firstOrigin + rounds * (settings.loop.end - settings.loop.start)
        loopBeat = origin + settings.loop.end
        seekAll(&context, from: beat)
    }

    /// The clock is somewhere else. The song stays where it is, unless it goes with a transport.
    ///
    /// - Parameter isOther: Indicates that it is another clock than before.
    @_noLocks @_noAllocation
    mutating func leap(_ here: Double, _ context: inout RenderContext, isOther: Bool) {
        let way = here - expected
        // Every track is looked at anew.
        for track in 0..<trackCount { places[track].contentVersion = 0 }
        // A transport's leader, and a clock that runs ahead, correct themselves by less than a tick: that ends no note.
        if way.magnitude < 1.0 / 48 && !isOther { return }
        if wasRolling && settings.followsTransport {
            cut(Self.all, &context, at: 0)
            place(origin: 0)
        } else {
            (origin, firstOrigin) = (origin + way, firstOrigin + way)
            for track in 0..<trackCount { places[track].origin += way }
            ends.move(by: way)
        }
        for index in 0..<pendingCount { pending[index].beat += way }
        setGrid(from: here)
        findLoop(from: here)
    }

    /// Has the commands that wait for a beat or a bar wait for the next one from here on.
    @_noLocks @_noAllocation
    mutating func setGrid(from here: Double) {
        for index in 0..<pendingCount {
            let (grid, bars) = (pending[index].command.grid, pending[index].command.bars)
            if grid != 0 { pending[index].beat = clock.beat(on: grid, from: bars > 0 ? pending[index].beat : here) }
        }
    }

    /// Starts and stops with the transport, if that is wanted.
    @_noLocks @_noAllocation
    mutating func followTransport(_ context: inout RenderContext, _ here: Double) {
        let isRolling = settings.followsTransport && context.transport.isRolling
        if isRolling == wasRolling { return }
        wasRolling = isRolling
        cut(Self.song, &context, at: 0)
        if isRolling {
            isPlaying = true
            place(origin: 0)
        } else {
            stopped = here - origin
            isPlaying = false
        }
        for track in 0..<trackCount { places[track].contentVersion = 0 }
        findLoop(from: here)
    }

    /// Takes new settings.
    @_noLocks @_noAllocation
    mutating func take(_ new: SequencerSettings) {
        let old = settings
        settings = new
        if old.loop.start != new.loop.start || old.loop.end != new.loop.end {
            (firstOrigin, rounds) = (origin, 0)
            findLoop(from: clock.position(at: base))
        }
    }

    // MARK: Commands

    /// Keeps a command until its beat; counts it as lost if there is no room.
    @_noLocks @_noAllocation
    mutating func keep(_ command: SequencerCommand, at frame: Int) {
        // A command for now finds room, however many wait.
        let limit = command.grid == 0 && command.bars == 0 ? pending.count : waitingLimit
        guard pendingCount < limit else {
            counts.lost &+= 1
            return
        }
        let here = clock.position(at: base &+ Int64(frame))
        var new = Pending()
        new.command = command
        new.beat = clock.beat(on: command.grid, bars: command.bars, from: here)
        pending[pendingCount] = new
        pendingCount &+= 1
    }

    @_noLocks @_noAllocation
    mutating func drop(_ index: Int) {
        pendingCount &-= 1
        var place = index
        while place < pendingCount {
            pending[place] = pending[place &+ 1]
            place &+= 1
        }
    }

    @_noLocks @_noAllocation
    mutating func act(_ due: Pending, _ context: inout RenderContext, at frame: Int) {
        let (beat, track) = (due.beat, due.command.track)
        switch due.command.action {
        case .start:
            if isPlaying && due.command.beat.isNaN { return }
            if !due.command.beat.isNaN { stopped = due.command.beat }
            cut(Self.song, &context, at: frame)
            isPlaying = true
            begun = stopped
            move(to: stopped, at: beat, &context)
        case .stop:
            if isPlaying { stopped = beat - origin }
            cut(Self.all, &context, at: frame)
            isPlaying = false
            loopBeat = .infinity
            next.removeAll()
            for track in 0..<trackCount { places[track].isFree = false }
        case .locate:
            cut(Self.song, &context, at: frame)
            if isPlaying { move(to: due.command.beat, at: beat, &context) } else { stopped = due.command.beat }
        case .launch, .halt, .rejoin:
            guard track < trackCount else { return }
            cut(track, &context, at: frame)
            if case .launch = due.command.action {
                places[track].isFree = true
                places[track].origin = beat
            }
            if case .rejoin = due.command.action { places[track].isFree = false }
            if case .halt = due.command.action { places[track].isHalted = true } else { places[track].isHalted = false }
            if let entry = entry(track, &context) { seek(track, &context, entry, from: beat) }
        }
    }

    @_noLocks @_noAllocation
    private mutating func move(to song: Double, at beat: Double, _ context: inout RenderContext) {
        place(origin: beat - song)
        findLoop(from: beat)
        seekAll(&context, from: beat)
    }
}
