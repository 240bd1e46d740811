internal import RenderCore
internal import Sharing
internal import Voices

// The place of the song, and commands.

extension Performance {
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

    /// Seeks on all tracks that go with the song, which comes to a beat from elsewhere.
    @_noLocks @_noAllocation
    private mutating func seekAll(_ context: inout RenderContext, from beat: Double, at frame: Int) {
        var track = 0
        while track < trackCount {
            if !places[track].isFree, let entry = entry(track, &context) { seek(track, &context, entry, from: beat) }
            track &+= 1
        }
        liftPedals(Self.song, &context, at: frame)
        sendStates(&context, from: beat, at: frame)
    }

    /// The loop ends.
    @_noLocks @_noAllocation
    mutating func wrap(_ context: inout RenderContext, at frame: Int) {
        let beat = loopBeat
        cut(Self.song, &context, at: frame)
        rounds += 1
        origin = firstOrigin + rounds * (settings.loop.end - settings.loop.start)
        loopBeat = origin + settings.loop.end
        // A command for the next bar keeps its time: there may be no bar in the loop.
        followMap(from: beat, movesGrid: false)
        seekAll(&context, from: beat, at: frame)
    }

    /// The clock is somewhere else. The song stays where it is, unless it goes with a transport.
    ///
    /// - Parameter isOther: Indicates that it is another clock than before.
    @_noLocks @_noAllocation
    mutating func leap(_ here: Double, _ context: inout RenderContext, isOther: Bool) {
        let way = here - expected
        lookAnew()
        // A transport's leader, and a clock that runs ahead, correct themselves by less than a tick: that ends no note.
        if way.magnitude < 1.0 / 48 && !isOther { return }
        if wasRolling && settings.followsTransport {
            cut(Self.all, &context, at: 0)
            place(origin: 0)
            hasNewPlace = true
        } else {
            (origin, firstOrigin) = (origin + way, firstOrigin + way)
            for track in 0..<trackCount { places[track].origin += way }
            ends.move(by: way)
            followMap(from: here, movesGrid: false)
        }
        for index in 0..<pendingCount { pending[index].beat += way }
        setGrid(from: here)
        findLoop(from: here)
    }

    /// Has the commands that wait for a beat or a bar wait for the next one from here on, and those for a later frame of the slice for the
    /// beat that it has by now.
    @_noLocks @_noAllocation
    mutating func setGrid(from here: Double, movesGrid: Bool = true) {
        for index in 0..<pendingCount {
            let (grid, bars) = (pending[index].command.grid, pending[index].command.bars)
            // One whose time is here stays.
            if pending[index].beat <= here + Self.rounding { continue }
            let isAhead = pending[index].time > time
            let its = isAhead ? clock.position(at: base &+ (pending[index].time &- time)) : here
            let start = its > here ? its : here
            if grid == 0 && bars == 0 {
                if isAhead { pending[index].beat = start }
            } else if grid != 0 && movesGrid {
                pending[index].beat = clock.beat(on: grid, from: bars > 0 ? pending[index].beat : start)
            }
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
            hasNewPlace = true
            place(origin: 0)
        } else {
            stopped = here - origin
            isPlaying = false
            liftPedals(Self.song, &context, at: 0)
        }
        lookAnew()
        findLoop(from: here)
    }

    /// Has the next look at the tracks be one at every track, as if its content were new.
    @_noLocks @_noAllocation
    private mutating func lookAnew() {
        for track in 0..<trackCount { places[track].contentVersion = 0 }
        isAllStale = true
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
        note(command, at: frame)
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
        new.time = time &+ Int64(frame)
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
            move(to: stopped, at: beat, &context, at: frame)
        case .stop:
            if isPlaying { stopped = beat - origin }
            cut(Self.all, &context, at: frame)
            isPlaying = false
            loopBeat = .infinity
            liftPedals(Self.all, &context, at: frame)
            followMap(from: beat)
            next.removeAll()
            for track in 0..<trackCount { places[track].isFree = false }
        case .locate:
            cut(Self.song, &context, at: frame)
            if isPlaying { return move(to: due.command.beat, at: beat, &context, at: frame) }
            stopped = due.command.beat
            followMap(from: beat)
        case .launch, .halt, .rejoin:
            // The track may have left, and another one be in its place.
            guard track < trackCount, places[track].stay == due.command.stay else { return }
            cut(track, &context, at: frame)
            if case .launch = due.command.action {
                places[track].isFree = true
                places[track].origin = beat
            }
            if case .rejoin = due.command.action { places[track].isFree = false }
            if case .halt = due.command.action { places[track].isHalted = true } else { places[track].isHalted = false }
            if let entry = entry(track, &context) {
                seek(track, &context, entry, from: beat)
                liftPedals(track, &context, at: frame)
                sendState(track, &context, entry, from: beat, at: frame, isFirst: true)
                sendState(track, &context, entry, from: beat, at: frame, isFirst: false)
            }
        }
    }

    @_noLocks @_noAllocation
    private mutating func move(
        to song: Double, at beat: Double, _ context: inout RenderContext, at frame: Int
    ) {
        place(origin: beat - song)
        followMap(from: beat)
        findLoop(from: beat)
        seekAll(&context, from: beat, at: frame)
    }
}
