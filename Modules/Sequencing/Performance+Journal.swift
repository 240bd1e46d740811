internal import RenderCore
internal import Sharing

// The journal gets each thing that happens, with its frame.

/// Something that has taken effect on the render thread.
struct JournalMark: BitwiseCopyable, Sendable {
    enum Kind: BitwiseCopyable, Sendable {
        /// The journal begins: `a` is the sample rate, and `b` not 0 if the song played already.
        case begins
        /// The renderer's tempo, metre or position is another one; `a` says which of the clocks has them.
        case clock
        /// Something leads the clock that the journal does not have, or its frames are others now.
        case foreign
        case ownTempo, ownMap, loop, follows
        case joins, leaves, content, settings
        case command, reset
        /// The frames begin anew.
        case startsOver
    }
    var kind: Kind
    var frame: Int64
    /// The place of a track, the number of its stay and that of its content.
    var track = 0
    var stay = 0
    var number = 0
    var a = 0.0
    var b = 0.0
    var command = SequencerCommand(.stop)
    var settings = TrackSettings()

    @_noLocks @_noAllocation
    init(_ kind: Kind, _ frame: Int64, number: Int = 0, a: Double = 0, b: Double = 0) {
        (self.kind, self.frame, self.number, self.a, self.b) = (kind, frame, number, a, b)
    }
}

extension JournalMark {
    /// The number of the tempo map that it leads to.
    var map: Int? {
        switch kind {
        case .clock: number == 0 ? nil : number
        case .ownMap: number
        default: nil
        }
    }
}

/// The values that were written last, to see which have changed.
struct JournalPage: BitwiseCopyable, Sendable {
    /// The first frame of the slice, and the marks that found no room.
    var time: Int64 = 0
    var lostCount: UInt64 = 0
    /// Indicates that the tracks have not been written down yet.
    var isNew = false
    var isForeign = false
    var clock = BeatClock(sampleRate: 48_000)
    var clockCount = 0
    var settings = SequencerSettings()

    init() {}
}

extension Performance {
    @_noLocks @_noAllocation
    private mutating func write(_ mark: JournalMark) {
        if let ring = pen.ring, !ring.send(mark) { page.lostCount &+= 1 }
    }

    /// Begins a slice: writes down what is set otherwise than before.
    @_noLocks @_noAllocation
    mutating func write(
        with new: JournalPen, _ outer: BeatClock, _ frame: Int64, _ settings: SequencerSettings,
        _ context: inout RenderContext
    ) {
        let isNew = new.number != pen.number
        pen = new
        if pen.ring == nil { return }
        if isNew { beginPage(context) } else { noteTime(context.sampleTime) }
        writeClock(outer, frame, isNew: isNew)
        if isNew { writePlace() }
        let old = page.settings
        page.settings = settings
        if isNew ? settings.tempo.isOwn : settings.tempo.version != old.tempo.version {
            if let map = settings.tempo.map {
                write(JournalMark(.ownMap, page.time, number: map.number))
            } else {
                write(JournalMark(.ownTempo, page.time, a: settings.tempo.beatsPerMinute))
            }
        }
        if isNew ? settings.followsTransport : settings.followsTransport != old.followsTransport {
            write(JournalMark(.follows, page.time, a: settings.followsTransport ? 1 : 0))
        }
        let (loop, last) = (settings.loop, old.loop)
        if isNew ? loop.end > loop.start : loop.start != last.start || loop.end != last.end {
            write(JournalMark(.loop, page.time, a: loop.start, b: loop.end))
        }
    }

    @_noLocks @_noAllocation
    private mutating func beginPage(_ context: borrowing RenderContext) {
        page = JournalPage()
        (page.time, page.isNew, isAllStale) = (context.sampleTime, true, true)
        var isFree = false
        for track in 0..<trackCount where places[track].isFree || places[track].isHalted { isFree = true }
        let plays = isPlaying || ends.count > 0 || pendingCount > 0 || isFree || hasRunOwn
        write(JournalMark(.begins, page.time, a: context.sampleRate, b: plays ? 1 : 0))
    }

    /// Writes down where the song is.
    @_noLocks @_noAllocation
    private mutating func writePlace() {
        var place = SequencerCommand(.locate, beat: stopped)
        if isPlaying { place = SequencerCommand(.start, beat: song(at: expected)) }
        var mark = JournalMark(.command, page.time)
        mark.command = place
        if place.beat != 0 || isPlaying { write(mark) }
    }

    /// Writes down the clock of the renderer, if the program has set anything there.
    @_noLocks @_noAllocation
    private mutating func writeClock(_ outer: BeatClock, _ frame: Int64, isNew: Bool) {
        let (old, time) = (page.clock, page.time)
        page.clock = outer
        let isLed = outer.isLed || frame != time
        let isOther = outer.isSteady && outer.tempo(at: frame) != outer.ownBeatsPerMinute
        // A clock that follows another one is set anew in each cycle.
        let isSame = outer.version == old.version
        let follows = isSame && outer.map == nil && outer.frame != old.frame
        if isLed || isOther || (!isNew && (follows || outer.framesPerMinute != old.framesPerMinute)) {
            if !page.isForeign { write(JournalMark(.foreign, time)) }
            page.isForeign = true
        }
        if !isNew && isSame { return }
        guard let clocks = pen.clocks, clocks.send(outer) else {
            page.lostCount &+= 1
            return
        }
        write(JournalMark(.clock, time, number: outer.map?.number ?? 0, a: Double(page.clockCount)))
        page.clockCount &+= 1
    }

    /// Writes down a command.
    @_noLocks @_noAllocation
    mutating func note(_ command: SequencerCommand, at frame: Int) {
        if pen.ring == nil { return }
        var mark = JournalMark(.command, page.time &+ Int64(frame))
        mark.command = command
        write(mark)
    }

    /// Writes down what has become of a track.
    @_noLocks @_noAllocation
    mutating func noteTrack(_ track: Int, _ kind: JournalMark.Kind) {
        if pen.ring == nil { return }
        var mark = JournalMark(kind, page.time)
        mark.track = track
        mark.stay = places[track].stay
        mark.number = places[track].number
        mark.settings = places[track].settings
        write(mark)
    }

    /// Writes down that everything begins anew. The pen may be another one than in the last slice.
    @_noLocks @_noAllocation
    mutating func noteReset(with new: JournalPen, at time: Int64) {
        if new.number != pen.number { return }
        pen = new
        noteTime(time)
        write(JournalMark(.reset, time))
    }

    /// Goes on to a time, and writes down if it lies behind.
    @_noLocks @_noAllocation
    private mutating func noteTime(_ time: Int64) {
        if time < page.time { write(JournalMark(.startsOver, page.time)) }
        page.time = time
    }
}
